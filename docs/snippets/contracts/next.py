"""The next version: one change is fine, one breaks callers, and one changes what models read."""

from typing import Literal

from mcp_gen import Server

server = Server("shelf", "1.1.0")


@server.tool
def count(item: Literal["bolt", "nut"], board: int | str = 1, exact: bool = False) -> int:
    """Count an item on a board of the shelf. Ask for its price first."""
    return len(item) * len(str(board))
