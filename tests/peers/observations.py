"""Expected observations of examples/everything_server.py, for every client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["ANSWERS", "EVERYTHING", "expected"]

EVERYTHING = Path(__file__).parents[2] / "examples/everything_server.py"

ANSWERS: dict[str, Any] = {
    "form": {
        "name": "Ada",
        "email": "ada@example.org",
        "guests": 3,
        "budget": 50.5,
        "meal": "dinner",
        "terrace": False,
        "colour": "blue",
        "size": "large",
        "extras": ["bow"],
    },
    "model": "test-model",
    "text": "A summary.",
    "root": "file:///home/ada",
}
"""The clients' answers; a form gets the fields that it has."""

TOOLS = [
    "add",
    "ask_from_a_thread",
    "book",
    "chatter",
    "count",
    "dice",
    "document",
    "echo",
    "fail",
    "folders",
    "link",
    "mixture",
    "order",
    "picture",
    "refuse",
    "show_less",
    "show_more",
    "sign",
    "sound",
    "summarize",
    "survey",
    "wait",
    "weather",
    "write",
]


def expected(revision: str, client: str) -> dict[str, Any]:
    """Return all expected observations, by name."""
    wraps = revision != "2026-07-28"
    weather = [{"city": "Oslo", "celsius": 20, "sky": "clear"}]
    return {
        "server": ["everything", "1.0.0", revision],
        "instructions": "Tools, resources and prompts of every kind, to try a client with.",
        "capabilities": ["completions", "logging", "prompts", "resources", "tools"],
        # --- tools ---
        "tools": TOOLS,
        "echo": "hello",
        "add": ["3", {"result": 3} if wraps else 3],
        "weather": {"result": weather} if wraps else weather,
        "kinds": ["text", "image", "audio", "resource"],
        "link": ["resource_link", "notes://welcome"],
        "own schema": "2 times 6",
        "bad arguments": True,
        "failure": [True, "out of paper"],
        "refusal": [-1, {"retry": False}],
        "progress": [[1, 3, "1 of 3"], [2, 3, "2 of 3"], [3, 3, "3 of 3"]],
        "logging": ["warning", "error", "critical", "alert", "emergency"],
        # --- resources ---
        "resources": ["notes://board", "notes://logo", "notes://settings", "notes://welcome"],
        "templates": ["users://{id}/profile"],
        "text": ["text/plain", "Welcome to everything."],
        "binary": ["image/png", "iVBORw0KGgo"],
        "from a template": {"id": 2, "name": "Grace"},
        # The SDK's second release line maps both codes to one error.
        "missing": -32002 if wraps and client != "typescript-v2" else -32602,
        # --- prompts and completion ---
        "prompts": ["greet", "introduce", "review", "trip"],
        "filled in": "Write a short greeting for Ada.",
        "conversation": ["user text", "assistant text", "user text", "user image"],
        "completed argument": ["Lima", "Lisbon"],
        "completed variable": ["2"],
        # --- requests of the server ---
        "form": "dinner for 3, Ada <ada@example.org>",
        "two forms": "large and blue",
        "page": "the user said: accept",
        "sampling": "A summary.",
        "roots": "file:///home/ada",
        "all at once": "accept, test-model, 1 folders",
        "from a thread": "blue",
        "from a prompt": "Say something about blue.",
        # --- changes ---
        "changed lists": ["prompts", "resources", "tools"],
        "changed tools": sorted([*TOOLS, "extra"]),
        "updated resource": "notes://board",
    }
