"""Tools that ask the client, and a client's answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_gen import Accepted, Context, Server

__all__ = ["ANSWERS", "Name", "add_asking_tools"]

ANSWERS: dict[str, Any] = {
    "elicitation/create": lambda asked: {"action": "accept", "content": {"name": "Ada"}},
    "sampling/createMessage": lambda asked: {
        "role": "assistant",
        "model": "m",
        "content": {"type": "text", "text": "Hello!"},
    },
    "roots/list": lambda asked: {"roots": [{"uri": "file:///home"}]},
}
"""Answers of a client to every input request."""


@dataclass
class Name:
    name: str


def add_asking_tools(server: Server) -> None:
    """Add a tool for each input request: `ask`, `think` and `look`."""

    @server.tool
    async def ask(ctx: Context) -> str:
        """Ask the user."""
        answer = await ctx.elicit("Who?", Name)
        return answer.content.name if isinstance(answer, Accepted) else answer.action

    @server.tool
    async def think(ctx: Context) -> str:
        """Ask the model."""
        said = await ctx.sample("hi", max_tokens=5)
        return str(getattr(said.content, "text", said))

    @server.tool
    async def look(ctx: Context) -> str:
        """Request the roots."""
        return " ".join(root.uri for root in await ctx.list_roots())
