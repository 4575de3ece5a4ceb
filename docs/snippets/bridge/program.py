"""Serve an old server to clients of every protocol version."""

import asyncio

from mcp_gen import Client
from mcp_gen.compat import Bridge

bridge = Bridge("old_server.py")


async def main() -> None:
    """Call the server at a version that it does not speak."""
    async with Client("agent", "1.0.0") as client:
        session = await client.connect(bridge, revision="2026-07-28")
        result = await session.call_tool("count", {"item": "bolt"}, returns=int)
        print(session.revision, result)
    await bridge.aclose()


asyncio.run(main())
