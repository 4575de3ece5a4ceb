"""A client that fills a cart, at a revision without sessions and at one with them."""

import asyncio

from mcp_gen import Client

from cart import server


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        for revision, item in (("2026-07-28", "bolt"), ("2025-11-25", "nut")):
            session = await client.connect(server, revision=revision)
            print(await session.call_tool("add", {"item": item}, returns=list[str]))
        print(await session.call_tool("check_out", returns=str))


if __name__ == "__main__":
    asyncio.run(main())
