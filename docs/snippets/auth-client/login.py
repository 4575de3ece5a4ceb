"""Log in by a browser, once: the tokens are in a file."""

import asyncio

from mcp_gen import Client
from mcp_gen.auth import FileTokenStore, OAuth

URL = "http://127.0.0.1:8000/mcp"


async def main() -> None:
    auth = OAuth(client_name="note taker", store=FileTokenStore())
    async with Client("note-taker", "1.0.0") as client:
        session = await client.connect(URL, auth=auth)
        print(await session.call_tool("whoami", returns=str))


if __name__ == "__main__":
    asyncio.run(main())
