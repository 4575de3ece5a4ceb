"""A server that speaks one protocol version, as an older SDK does."""

from mcp_gen import Server

server = Server("shelf", "1.0.0", revisions=["2025-06-18"])


@server.tool
def count(item: str) -> int:
    """Count the items on the shelf."""
    return len(item)
