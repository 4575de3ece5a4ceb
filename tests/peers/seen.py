"""Expected observations of our client with servers of others, by name."""

from __future__ import annotations

from typing import Any

__all__ = ["EVERYTHING", "TOOLS"]

DOCUMENTS = [
    "architecture.md",
    "extension.md",
    "features.md",
    "how-it-works.md",
    "instructions.md",
    "startup.md",
    "structure.md",
]

TOOLS: dict[str, Any] = {
    "echo": "Echo: hello",
    "get-annotated-message": ["text", "image"],
    "get-env": True,
    "get-resource-links": ["text", "resource_link", "resource_link"],
    "get-resource-reference": ["text", "resource", "text"],
    "get-roots-list": ["URI: file:///home/ada"],
    "get-structured-content": {
        "temperature": 36,
        "conditions": "Light rain / drizzle",
        "humidity": 82,
    },
    "get-sum": "The sum of 1 and 2.5 is 3.5.",
    "get-tiny-image": "PNG",
    "gzip-file-as-resource": ["resources", "hello"],
    "simulate-research-query": ["working", "working", "cancelled"],
    "toggle-simulated-logging": True,
    "toggle-subscriber-updates": ["resource", "demo://resource/dynamic/text/1"],
    "trigger-elicitation-request": ["accept", "Ada", True, 42],
    "trigger-long-running-operation": [[1, 2, None], [2, 2, None]],
    "trigger-sampling-request": "A summary.",
    "trigger-url-elicitation": ["https://example.org/page"],
}
"""Tools of the everything-server for a client with all capabilities, with their results."""

EVERYTHING: dict[str, Any] = {
    "server": ["mcp-servers/everything", "2.0.0", "2025-11-25"],
    "instructions": "# Everything Server \N{EN DASH} Server Instructions",
    "tools": sorted(TOOLS),
    **TOOLS,
    "a page first": ["https://modelcontextprotocol.io", "https://example.org/page"],
    "bad arguments": [True, "MCP error -32602"],
    "other roots": ["URI: file:///home/ada", "URI: file:///home/bob"],
    "resources": sorted([*DOCUMENTS, "hello.gz"]),
    "reading": len(DOCUMENTS) + 1,
    "templates": ["TextResourceContents", "BlobResourceContents"],
    "prompts": {
        "simple-prompt": "This is a simple prompt without arguments.",
        "args-prompt": "What's weather in Oslo?",
        "completable-prompt": "Please promote Eve to the head of the Sales team.",
        "resource-prompt": "This prompt includes the Text resource with id",
    },
    "completion": ["David", "Eve", "Frank"],
    "alive": ["Result", []],
}
"""All expected observations."""
