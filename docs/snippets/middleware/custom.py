"""A request beside the protocol, with its types."""

import asyncio
from dataclasses import dataclass

from mcp_gen import Client, Context, Server

server = Server("notes", "1.0.0")


@dataclass
class Query:
    text: str


@dataclass
class Found:
    notes: list[str]


@server.method("acme/search", params=Query, result=Found)
async def search(ctx: Context, params: Query) -> Found:
    return Found([note for note in ("buy bolts", "sell nuts") if params.text in note])


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        session = await client.connect(server)
        print(await session.request("acme/search", Query("bolt"), returns=Found))


if __name__ == "__main__":
    asyncio.run(main())
