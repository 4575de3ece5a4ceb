"""Client process that starts tasks, prints their ids, and waits to be killed.

`python -m tests.server.tasks.killed_client URL REVISION NUMBER`
"""

from __future__ import annotations

import asyncio
import sys

from mcp_gen import Client

__all__ = ["ANN", "begin"]

ANN = {"authorization": "Bearer ann"}


async def begin(url: str, revision: str, number: int) -> None:
    async with Client("leaving", tasks=True) as client:
        session = await client.connect(url, revision=revision, headers=ANN)
        tasks = [await session.start_tool("hold", {"number": one}) for one in range(number)]
        print(*(task.id for task in tasks), flush=True)
        await asyncio.gather(*(task.result() for task in tasks))


if __name__ == "__main__":
    asyncio.run(begin(sys.argv[1], sys.argv[2], int(sys.argv[3])))
