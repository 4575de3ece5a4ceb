"""The next version of the server: it counts in another way."""

from mcp_gen import Server

server = Server("shelf", "1.0.0")


@server.tool
def count(item: str, api_key: str) -> int:
    """Count the items on the shelf."""
    return 2 * len(item)
