"""A server in ten lines."""

from mcp_gen import Server

server = Server("inventory", "1.0.0")


@server.tool
async def count(item: str, shelf: int = 1) -> int:
    """Count the items on a shelf."""
    return len(item) * shelf


if __name__ == "__main__":
    server.run("stdio")
