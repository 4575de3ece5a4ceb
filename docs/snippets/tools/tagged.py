"""Tools with tags: some are hidden until an operator shows them."""

import asyncio

from mcp_gen import Client, Server

server = Server("shop", "1.0.0", exclude_tags=["admin"])


@server.tool(tags=["sale"])
def sell(item: str) -> str:
    """Sell something."""
    return f"sold: {item}"


@server.tool(tags=["admin"])
def close_shop() -> str:
    """Close the shop."""
    return "closed"


async def main() -> None:
    async with Client("agent", "1.0.0") as client:
        session = await client.connect(server)
        async with session.watch(tools=True) as changes:
            print([tool.name async for tool in session.tools()])
            server.enable_tags("admin")
            server.disable_tool("sell")
            await anext(changes)
            print([tool.name async for tool in session.tools()])


if __name__ == "__main__":
    asyncio.run(main())
