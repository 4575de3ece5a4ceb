"""A client that prints the log messages of a server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_gen import Client, ClientSession

from records import server

if TYPE_CHECKING:
    from mcp_wire.hook_types import LoggingMessageParams

client = Client("agent", "1.0.0", log_level="info")


@client.hooks.on_logging_message
def show(session: ClientSession, params: LoggingMessageParams) -> None:
    print(params.level, params.logger, params.data)


async def main() -> None:
    async with client:
        session = await client.connect(server)
        await session.call_tool("cook", {"dish": "soup"})


if __name__ == "__main__":
    asyncio.run(main())
