"""Client of the official SDK, and a server in its process; needs that SDK."""

import os
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from bench.peers.programs.official_server import server
from bench.programs.asks import ARGUMENTS, answer_orders


async def main(revision: str, url: str, command: str, *arguments: str) -> None:
    """Connect over every transport, then run the orders."""
    program = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    targets: dict[str, Any] = {
        "memory": server,
        "stdio": stdio_client(program),
        "http": streamable_http_client(url),
    }
    # Its name of a session with a handshake; without one it dispatches directly.
    mode = "legacy" if revision in HANDSHAKE_PROTOCOL_VERSIONS else revision
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
