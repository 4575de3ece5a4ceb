"""A client that answers a server's requests, and prints its log messages."""

import asyncio
from typing import Literal

from mcp_gen import Client, ClientSession, UrlElicitation
from mcp_gen.types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    TextContent,
)

client = Client("agent", "1.0.0", roots=["/srv/project"], log_level="info")


@client.elicitation
async def fill_in(session: ClientSession, params: ElicitRequestFormParams) -> dict[str, str]:
    return {"city": "Oslo"}


@client.url_elicitation
def open_page(session: ClientSession, page: UrlElicitation) -> Literal["accept", "decline"]:
    print(f"{page.message}: {page.url}")
    return "accept"


@client.sampling
async def ask_model(
    session: ClientSession, params: CreateMessageRequestParams
) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(text="42"), model="my-model")


@client.hooks.on_logging_message
def print_log(session: ClientSession, params: object) -> None:
    print(params)


async def main() -> None:
    async with client:
        session = await client.connect("server.py")
        await session.call_tool("weather", {"city": "Oslo"})
        print(await session.call_tool("travel", returns=str))


if __name__ == "__main__":
    asyncio.run(main())
