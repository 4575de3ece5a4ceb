"""The official SDK's client, asking as `asks_ours` does. Runs where that SDK is installed."""

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer

from bench.programs.asks import ARGUMENTS, answer_orders


def server() -> MCPServer:
    """The one in memory."""
    server = MCPServer("add", version="1.0.0", log_level="WARNING")

    @server.tool()
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return server


async def main(mode: str, way: str, *words: str) -> None:
    """Connect, then do as told. `mode` is that client's: `legacy`, or a revision."""
    if way == "memory":
        target = server()
    elif way == "stdio":
        command, *arguments = words
        environment = dict(os.environ)
        target = stdio_client(
            StdioServerParameters(command=command, args=arguments, env=environment)
        )
    else:
        target = streamable_http_client(words[0])
    async with Client(target, mode=mode) as client:

        async def call() -> str:
            (block,) = (await client.call_tool("add", ARGUMENTS)).content
            return str(block.text)

        await answer_orders(call)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
