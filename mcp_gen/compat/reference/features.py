"""Tools, prompts and resources of the reference server, with the members of all revisions."""

from __future__ import annotations

import base64
from typing import Any, TypeAlias

__all__ = ["CONTENT", "PNG", "PROMPTS", "RESOURCES", "TEMPLATES", "TOOLS", "WAV", "text_result"]

Json: TypeAlias = dict[str, Any]

PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
    )
).decode()
"""A picture of one point."""
WAV = base64.b64encode(
    b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0"
).decode()
"""A sound of no length."""


def _tool(name: str, about: str, properties: Json | None = None, **more: Any) -> Json:
    schema: Json = {"type": "object", "properties": properties or {}}
    if properties:
        schema["required"] = list(properties)
    return {
        "name": name,
        "title": name.capitalize(),
        "description": about,
        "inputSchema": schema,
        "annotations": {"readOnlyHint": True},
        **more,
    }


_NUMBERS: Json = {
    "type": "object",
    "properties": {"number": {"type": "integer"}},
    "required": ["number"],
}

TOOLS: tuple[Json, ...] = (
    _tool("echo", "Return the text.", {"text": {"type": "string"}}),
    _tool("count", "Report progress and log a message.", {"steps": {"type": "integer"}}),
    _tool("content", "Return one block of each kind of content."),
    _tool("structured", "Return a number as structured content.", outputSchema=_NUMBERS),
    _tool("fail", "Return an error."),
    _tool("wait", "Return after a cancellation, or not at all."),
    _tool("ask_user", "Ask the user for a name."),
    _tool("ask_model", "Ask the model for a text."),
    _tool("ask_roots", "Ask for the roots."),
    _tool("slow", "Return after some steps.", execution={"taskSupport": "optional"}),
    _tool(
        "slow_failing",
        "Return an error after a step.",
        {"how": {"type": "string", "enum": ["tool", "protocol"]}},
        execution={"taskSupport": "optional"},
    ),
    _tool("slow_asking", "Ask the user, as a task.", execution={"taskSupport": "required"}),
)

PROMPTS: tuple[Json, ...] = (
    {
        "name": "greet",
        "title": "Greet",
        "description": "Greet someone.",
        "arguments": [{"name": "name", "description": "Whom to greet.", "required": True}],
    },
    {"name": "show", "title": "Show", "description": "Show content of each kind."},
)

RESOURCES: tuple[Json, ...] = (
    {"uri": "reference://text", "name": "text", "title": "Text", "mimeType": "text/plain"},
    {"uri": "reference://picture", "name": "picture", "title": "Picture", "mimeType": "image/png"},
)

TEMPLATES: tuple[Json, ...] = (
    {"uriTemplate": "reference://items/{id}", "name": "items", "title": "Items"},
)

CONTENT: tuple[Json, ...] = (
    {"type": "text", "text": "text"},
    {"type": "image", "data": PNG, "mimeType": "image/png"},
    {"type": "audio", "data": WAV, "mimeType": "audio/wav"},
    {
        "type": "resource",
        "resource": {"uri": "reference://text", "mimeType": "text/plain", "text": "text"},
    },
    {"type": "resource_link", **RESOURCES[0]},
)
"""One block of each kind of content."""


def text_result(text: str) -> Json:
    """Return the result of a tool with one text."""
    return {"content": [{"type": "text", "text": text}]}
