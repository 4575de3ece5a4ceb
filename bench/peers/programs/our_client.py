"""Client of ours, and a server in its process."""

from functools import partial
from typing import Any

from bench.peers.programs.our_server import server
from bench.programs.asks import ARGUMENTS, answer_orders
from mcp_gen import Client, ClientSession


async def main(revision: str, url: str, *command: str) -> None:
    """Connect over every transport, then run the orders."""
    targets: dict[str, Any] = {"memory": server, "stdio": list(command), "http": url}
    async with Client("bench", "1.0.0") as client:
        sessions = {
            way: await client.connect(
                target, revision=revision, env="inherit" if way == "stdio" else None
            )
            for way, target in targets.items()
        }
        await answer_orders({way: partial(call, session) for way, session in sessions.items()})


async def call(session: ClientSession) -> str:
    """Make one call and return its text."""
    block: Any
    (block,) = (await session.call_tool("add", ARGUMENTS)).content
    return str(block.text)
