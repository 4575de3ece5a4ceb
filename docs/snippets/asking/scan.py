"""A tool that returns its input request instead of awaiting the answer."""

import asyncio

from mcp_gen import Client, Context, Server
from mcp_gen.types import InputRequiredResult, ListRootsRequest, ListRootsResult

server = Server("disk", "1.0.0")


@server.tool
async def scan(ctx: Context) -> InputRequiredResult | str:
    """Scan the folders of the client."""
    if ctx.input_responses is None:
        return InputRequiredResult(
            input_requests={"where": ListRootsRequest()}, request_state="scan 1"
        )
    where = ctx.input_responses["where"]
    assert isinstance(where, ListRootsResult)
    return f"{ctx.request_state}: {len(where.roots)} folders"


async def main() -> None:
    async with Client("agent", "1.0.0", roots=["/srv/a", "/srv/b"]) as client:
        session = await client.connect(server)
        print(await session.call_tool("scan", returns=str))


if __name__ == "__main__":
    asyncio.run(main())
