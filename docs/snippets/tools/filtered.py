"""A tool for some clients: others neither see nor call it."""

from mcp_gen import Context, Server
from mcp_gen.types import Tool

server = Server("shop", "1.0.0")


@server.tool
def sell(item: str) -> str:
    """Sell something."""
    return f"sold: {item}"


@server.tool
def close_shop() -> str:
    """Close the shop."""
    return "closed"


@server.filter_tools
def visible(ctx: Context, tool: Tool) -> bool:
    return tool.name != "close_shop" or ctx.principal == "owner"


if __name__ == "__main__":
    server.run("stdio")
