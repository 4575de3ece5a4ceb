"""A program with the typed client: editors and type checkers know each argument and field."""

import asyncio

from mcp_gen import Client

import shelf


async def main() -> None:
    async with Client("shop") as client:
        session = await client.connect("server.py")
        found = await shelf.count(session, item="bolt", shelf=3)
        print(found.item, found.number)


asyncio.run(main())
