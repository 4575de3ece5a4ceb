"""Changes of a resource and of the list of tools."""

import asyncio

from mcp_gen import Client, text_of


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        session = await client.connect("server.py")
        async with session.watch("weather://stations", tools=True) as changes:
            await session.call_tool("open_station", {"city": "Bergen"})
            async for change in changes:
                print(change.kind, change.uri)
                print(text_of(await session.read_resource("weather://stations")))
                break


if __name__ == "__main__":
    asyncio.run(main())
