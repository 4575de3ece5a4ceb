"""A server whose conversations are recorded."""

from mcp_gen import Server

server = Server("shelf", "1.0.0")


@server.tool
def count(item: str, api_key: str) -> int:
    """Count the items on the shelf."""
    return len(item)
