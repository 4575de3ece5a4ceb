"""A server in any language; this one is in Python."""

from dataclasses import dataclass

from mcp_gen import Server

server = Server("shelf", "1.0.0")


@dataclass
class Count:
    item: str
    number: int


@server.tool
def count(item: str, shelf: int = 1) -> Count:
    """Count the items on a shelf.

    Args:
        item: Name of the item, in the singular.
    """
    return Count(item, len(item) * shelf)
