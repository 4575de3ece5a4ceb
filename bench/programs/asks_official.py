"""Client program of the official SDK, equivalent to `asks_ours`; needs that SDK."""

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer

from bench.programs.asks import ARGUMENTS, answer_orders

server = MCPServer("add", version="1.0.0", log_level="WARNING")


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def main(mode: str, url: str, command: str, *arguments: str) -> None:
    """Connect over every transport, then run the orders; `mode` is `legacy` or a revision."""
    program = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    targets: dict[str, Any] = {
        "memory": server,
        "stdio": stdio_client(program),
        "http": streamable_http_client(url),
    }
    async with AsyncExitStack() as open_ones:
        clients = {
            way: await open_ones.enter_async_context(Client(target, mode=mode))
            for way, target in targets.items()
        }
        await answer_orders({way: partial(call, client) for way, client in clients.items()})


async def call(client: Client) -> str:
    """Make one call and return its text."""
    (block,) = (await client.call_tool("add", ARGUMENTS)).content
    return str(block.text)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
