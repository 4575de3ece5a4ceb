"""A board of notes that any node serves: what one client writes, all others hear of."""

import os
from dataclasses import dataclass

from mcp_gen import Accepted, Context, Server
from mcp_gen.types import ToolAnnotations

server = Server("board", "1.0.0")


@dataclass
class Who:
    """Form of a question."""

    name: str


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def node() -> int:
    """Return the process that answers: mostly another with each call."""
    return os.getpid()


@server.tool
async def greet(ctx: Context) -> str:
    """Ask for a name: the answer finds the node that asks, whichever takes it."""
    answer = await ctx.elicit("Your name?", Who)
    name = answer.content.name if isinstance(answer, Accepted) else "stranger"
    return f"hello {name}"


@server.tool
async def change(ctx: Context) -> str:
    """Tell all who listen that the board has changed, at every node."""
    server.notify.resource_updated("board://notes")
    return "told"


@server.resource("board://notes")
async def notes() -> str:
    return "nothing yet"
