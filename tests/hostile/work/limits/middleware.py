"""Limits that the middleware of a server sets: rate of calls, size of results."""

from __future__ import annotations

from mcp_gen import Client, McpError, Server
from mcp_gen.middleware import RateLimit, ResultSizeLimit
from mcp_wire import encode, latest
from tests.hostile.work.limits.limit import TAKEN, Limit

__all__ = ["LIMITS"]

AT_CALLS, AT_BYTES = 20, 10_000
NEVER_PER_S = 1e-6
OVERHEAD = len(encode(latest.CallToolResult(content=[latest.TextContent(text="")])))
"""Bytes of a result beside its text."""


async def calls(count: int) -> str:
    server = Server("limited")
    server.add_middleware(RateLimit(NEVER_PER_S, burst=AT_CALLS))

    @server.tool
    async def look() -> None: ...

    async with Client("test") as client:
        session = await client.connect(server)
        try:
            for _ in range(count):
                await session.call_tool("look")
        except McpError as error:
            return str(error.code)
    return TAKEN


async def result(size_bytes: int) -> str:
    server = Server("limited")
    server.add_middleware(ResultSizeLimit(AT_BYTES))

    @server.tool
    async def repeat() -> str:
        return "x" * (size_bytes - OVERHEAD)

    async with Client("test") as client:
        session = await client.connect(server)
        made = await session.call_tool("repeat")
    return "isError" if made.is_error else TAKEN


LIMITS: list[Limit] = [
    Limit("calls of a tool at once", AT_CALLS, 1_000, "-32600", calls),
    Limit("bytes of a tool's result", AT_BYTES, 5_000_000, "isError", result),
]
