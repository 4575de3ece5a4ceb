"""A program that acts for itself, with tokens that are of no use without its key."""

import asyncio
import os

from mcp_gen import Client
from mcp_gen.auth import ClientCredentials, DPoP

URL = "http://127.0.0.1:8000/mcp"


async def main() -> None:
    auth = DPoP(
        ClientCredentials(
            "reports",
            os.environ["REPORTS_SECRET"],
            issuer="http://127.0.0.1:9000",
        )
    )
    async with Client("reports", "1.0.0") as client:
        session = await client.connect(URL, auth=auth)
        print(await session.call_tool("whoami", returns=str))
        print(await session.call_tool("save", {"text": "sold out"}, returns=str))


if __name__ == "__main__":
    asyncio.run(main())
