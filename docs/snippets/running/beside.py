"""A server in an event loop that does other work, too."""

import asyncio

from mcp_gen import Server

server = Server("shop", "1.0.0")
prices = {"bolt": 4}


@server.tool
async def price(item: str) -> int:
    """Look a price up."""
    return prices[item]


async def raise_prices() -> None:
    while True:
        await asyncio.sleep(3600)
        prices["bolt"] += 1


async def main() -> None:
    raising = asyncio.create_task(raise_prices())
    try:
        await server.run_async("stdio")
    finally:
        raising.cancel()


if __name__ == "__main__":
    asyncio.run(main())
