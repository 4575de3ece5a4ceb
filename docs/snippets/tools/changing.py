"""Tools that come and go while a client is connected."""

import asyncio

from mcp_gen import Client, Server

server = Server("shop", "1.0.0")


@server.tool
def open_shop() -> str:
    """Open the shop: now things can be sold."""
    server.add_tool(sell)
    return "open"


def sell(item: str) -> str:
    """Sell something."""
    return f"sold: {item}"


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        session = await client.connect(server)
        async with session.watch(tools=True) as changes:
            print([tool.name async for tool in session.tools()])
            await session.call_tool("open_shop")
            change = await anext(changes)
            print(change.kind, [tool.name async for tool in session.tools()])


if __name__ == "__main__":
    asyncio.run(main())
