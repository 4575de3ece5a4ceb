"""Our client, asking what it is told to: `REVISION memory`, `... stdio COMMAND`, `... http URL`."""

import asyncio
import sys
from typing import Any

from bench.programs.asks import ARGUMENTS, answer_orders
from mcp_gen import Client, Server


def server() -> Server:
    """The one in memory."""
    from bench.programs.ours import server

    return server


async def main(revision: str, way: str, *words: str) -> None:
    """Connect, then do as told."""
    target = {"memory": server, "stdio": lambda: list(words), "http": lambda: words[0]}[way]()
    async with Client("bench", "1.0.0") as client:
        session = await client.connect(target, revision=revision)

        async def call() -> str:
            block: Any
            (block,) = (await session.call_tool("add", ARGUMENTS)).content
            return str(block.text)

        await answer_orders(call)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
