"""State without a key belongs to a session."""

import asyncio

from mcp_gen import Client, Context, Server

server = Server("counter", "1.0.0")


@server.tool
async def count(ctx: Context) -> int:
    """Count the calls of a session."""
    number = await ctx.state.get("calls", int, 0) + 1
    await ctx.state.set("calls", number)
    return number


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        for _ in range(2):
            session = await client.connect(server, revision="2025-11-25")
            first = await session.call_tool("count", returns=int)
            print(first, await session.call_tool("count", returns=int))


if __name__ == "__main__":
    asyncio.run(main())
