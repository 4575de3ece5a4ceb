"""A server whose promises are kept in a lock."""

from mcp_gen import Server

server = Server("shelf", "1.0.0")


@server.tool
def count(item: str, board: int = 1) -> int:
    """Count an item on a board of the shelf."""
    return len(item) * board
