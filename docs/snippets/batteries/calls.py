"""A client that calls a tool too often, and the log of the server."""

import asyncio
import logging
import sys

from mcp_gen import Client, McpError

from limited import server


async def main() -> None:
    logger = logging.getLogger("mcp_gen.requests")
    logger.setLevel(logging.INFO)
    logger.addHandler(logging.StreamHandler(sys.stdout))
    logger.propagate = False
    async with Client("agent", "1.0.0") as client:
        session = await client.connect(server)
        for _ in range(3):
            try:
                print(await session.call_tool("search", {"text": "bolt"}, returns=list[str]))
            except McpError as error:
                print(error)


if __name__ == "__main__":
    asyncio.run(main())
