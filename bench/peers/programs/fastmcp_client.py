"""Client of FastMCP, and a server in its process; needs that SDK."""

import os
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from bench.peers.programs.fastmcp_server import server
from bench.programs.asks import ARGUMENTS, answer_orders


async def main(revision: str, url: str, command: str, *arguments: str) -> None:
    """Connect over every transport, then run the orders."""
    targets: dict[str, Any] = {
        "memory": server,
        "stdio": StdioTransport(command, list(arguments), env=dict(os.environ)),
        "http": url,
    }
    mode: Any = "legacy" if revision in HANDSHAKE_PROTOCOL_VERSIONS else revision
    async with AsyncExitStack() as open_ones:
        clients = {
            way: await open_ones.enter_async_context(Client(target, mode=mode))
            for way, target in targets.items()
        }
        await answer_orders({way: partial(call, client) for way, client in clients.items()})


async def call(client: Client[Any]) -> str:
    """Make one call and return its text."""
    (block,) = (await client.call_tool("add", ARGUMENTS)).content
    return str(block.text)
