"""Client program of ours; arguments: `REVISION URL COMMAND`, and `--uvloop` at the end."""

import asyncio
import sys
from functools import partial
from typing import Any

from bench.programs.asks import ARGUMENTS, answer_orders
from bench.programs.ours import server
from mcp_gen import Client, ClientSession


async def main(revision: str, url: str, *command: str) -> None:
    """Connect over every transport, then run the orders."""
    targets = {"memory": server, "stdio": list(command), "http": url}
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


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments[-1] == "--uvloop":
        import uvloop

        uvloop.install()
        arguments.pop()
    asyncio.run(main(*arguments))
