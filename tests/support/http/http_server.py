"""Server for the HTTP tests. Arguments: its port, then options as JSON."""

from __future__ import annotations

import asyncio
import json
import sys

from mcp_gen import Context, Server

server = Server("http")


@server.tool
async def echo(text: str) -> str:
    return text


@server.tool
async def hold(seconds: float, ctx: Context) -> str:
    """Report the start, then wait."""
    await ctx.client.notify_logging_message("info", "held")
    await asyncio.sleep(seconds)
    return "let go"


@server.tool
async def wait_for_ever(ctx: Context) -> str:
    """Wait for ever; report the cancellation on stderr."""
    await ctx.client.notify_logging_message("info", "waiting")
    try:
        await asyncio.Event().wait()
    finally:
        print("cancelled", file=sys.stderr, flush=True)
    return "never"


if __name__ == "__main__":
    server.run("http", port=int(sys.argv[1]), announce=False, **json.loads(sys.argv[2]))
