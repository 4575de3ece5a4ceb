"""The server under test over HTTP: more tools than `add`, among a thousand."""

import asyncio

from bench.programs.long_contents import BLOB_URI, DATA, TEXT, TEXT_URI
from bench.programs.ours import server
from mcp_gen import Context
from mcp_gen.server.context.context import origin_of

__all__ = ["server"]


@server.tool
async def add_later(a: int, b: int) -> int:
    """Add two numbers in the next turn of the loop."""
    await asyncio.sleep(0)
    return a + b


@server.tool
async def add_aloud(a: int, b: int, ctx: Context) -> int:
    """Add two numbers, and say so before."""
    log = ctx.profile.log
    if log:
        origin_of(ctx).channel.notify(log, log.params(level="info", data="adding"))
    return a + b


@server.tool
async def add_aloud_later(a: int, b: int, ctx: Context) -> int:
    """Say something, and add two numbers in the next turn of the loop."""
    await add_aloud(a, b, ctx)
    return await add_later(a, b)


@server.resource(TEXT_URI)
async def text() -> str:
    """A long text."""
    return TEXT


@server.resource(BLOB_URI)
async def data() -> bytes:
    """A long blob."""
    return DATA


@server.tool
async def change(a: int, b: int) -> int:
    """Tell everybody that the list of tools has changed."""
    server.notify.tool_list_changed()
    return a + b


def _add_many() -> None:
    for number in range(1000 - len(server.tools)):

        async def nothing(text: str, count: int = 1) -> str:
            """Do nothing in particular, one of many tools that do."""
            return text

        server.add_tool(nothing, name=f"nothing_{number}")


_add_many()
