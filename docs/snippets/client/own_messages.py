"""A request and a notification that are not of the protocol."""

import asyncio
from dataclasses import dataclass

from mcp_gen import Client, ClientSession

client = Client("agent", "1.0.0")


@dataclass
class Place:
    city: str


@dataclass
class Found:
    cities: list[str]


@client.notification("acme/opened", params=Place)
async def opened(session: ClientSession, params: Place) -> None:
    print(f"opened: {params.city}")


async def main() -> None:
    async with client:
        session = await client.connect("server.py")
        await session.call_tool("open_station", {"city": "Bergen"}, returns=None)
        print(await session.request("acme/search", Place("Berg"), returns=Found))


if __name__ == "__main__":
    asyncio.run(main())
