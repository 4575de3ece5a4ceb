"""A server for the matrix."""

from mcp_gen import Server

server = Server("counter", "1.0.0")


@server.tool
def count(item: str) -> int:
    """Count the items on the shelf."""
    return len(item)
