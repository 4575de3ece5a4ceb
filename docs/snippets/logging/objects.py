"""Records as objects, with levels of MCP that `logging` does not have."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from mcp_gen import Client, ClientSession, Context, LogLevel, Server

if TYPE_CHECKING:
    from mcp_wire.hook_types import LoggingMessageParams

log = logging.getLogger("oven")
log.setLevel(logging.INFO)

server = Server("kitchen", "1.0.0")
log.addHandler(server.logs.handler(extra=True))
client = Client("agent", "1.0.0", log_level="info")


@server.tool
async def bake(ctx: Context, dish: str) -> str:
    """Bake a dish."""
    log.log(LogLevel.NOTICE, "baking %s", dish, extra={"celsius": 220})
    await ctx.log(LogLevel.ALERT, "the oven is hot")
    return f"{dish} is ready"


@client.hooks.on_logging_message
def show(session: ClientSession, params: LoggingMessageParams) -> None:
    print(params.level, params.data)


async def main() -> None:
    async with client:
        session = await client.connect(server)
        await session.call_tool("bake", {"dish": "bread"})


if __name__ == "__main__":
    asyncio.run(main())
