"""A log in lines of JSON, on stdout."""

import asyncio
import logging
import sys

from mcp_gen import Client, Server
from mcp_gen.middleware import JsonLines, RequestLog

handler = logging.StreamHandler(sys.stdout)
handler.setFormatter(JsonLines(node="kitchen-1"))
logging.basicConfig(level=logging.INFO, handlers=[handler])
log = logging.getLogger("oven")

server = Server("kitchen", "1.0.0")
server.add_middleware(RequestLog())
client = Client("agent", "1.0.0")


@server.tool
async def bake(dish: str) -> str:
    """Bake a dish."""
    log.info("baking %s", dish, extra={"celsius": 220})
    return f"{dish} is ready"


async def main() -> None:
    async with client:
        session = await client.connect(server)
        await session.call_tool("bake", {"dish": "bread"})


if __name__ == "__main__":
    asyncio.run(main())
