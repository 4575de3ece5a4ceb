"""Middleware around what is sent to servers and around what they send; and retries."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_gen import Client, ClientSession, Retry

client = Client("agent", "1.0.0", log_level="info")
client.add_sending_middleware(Retry(attempts=3))


@client.sending_middleware
async def print_sent(
    session: ClientSession | None,
    method: str,
    params: Any,
    call_next: Callable[[Any], Awaitable[Any]],
) -> Any:
    print(f"to the server: {method}")
    return await call_next(params)


@client.middleware
async def print_received(
    session: ClientSession,
    method: str,
    params: Any,
    call_next: Callable[[Any], Awaitable[Any]],
) -> Any:
    print(f"from the server: {method}")
    return await call_next(params)


async def main() -> None:
    async with client:
        session = await client.connect("server.py")
        await session.call_tool("weather", {"city": "Oslo"})


if __name__ == "__main__":
    asyncio.run(main())
