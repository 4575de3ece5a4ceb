"""A client whose user answers the form."""

import asyncio

from mcp_gen import Client, ClientSession
from mcp_gen.types import ElicitRequestFormParams

from travel import server

client = Client("agent", "1.0.0")


@client.elicitation
async def fill_in(session: ClientSession, params: ElicitRequestFormParams) -> dict[str, str]:
    print(params.message, sorted(params.requested_schema.properties))
    return {"city": "Oslo"}


async def main() -> None:
    async with client:
        for revision in ("2025-11-25", "2026-07-28"):
            session = await client.connect(server, revision=revision)
            print(revision, await session.call_tool("book", returns=str))


if __name__ == "__main__":
    asyncio.run(main())
