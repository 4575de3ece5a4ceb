"""A client in ten lines: start a server, list its tools, call one."""

import asyncio
import sys
from pathlib import Path

from mcp_gen import Client

SERVER = [sys.executable, str(Path(__file__).with_name("server.py"))]


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        session = await client.connect(SERVER)
        print(session.revision, [tool.name async for tool in session.tools()])
        result = await session.call_tool("count", {"item": "bolt", "shelf": 3})
        print(result.structured_content)


if __name__ == "__main__":
    asyncio.run(main())
