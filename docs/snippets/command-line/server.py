"""A server with a tool, a resource, a template and a prompt."""

from dataclasses import dataclass

from mcp_gen import Server

server = Server("shelf", "1.0.0", instructions="Counts what is on the shelves.")


@dataclass
class Count:
    item: str
    number: int


@server.tool
def count(item: str, shelf: int = 1) -> Count:
    """Count the items on a shelf.

    Args:
        item: Name of the item, in the singular.
        shelf: Number of the shelf.
    """
    return Count(item, len(item) * shelf)


@server.resource("shelf://settings", mime_type="application/json")
def settings() -> str:
    """The settings of the shop."""
    return '{"shelves": 3}'


@server.resource("shelf://{number}/items")
def items(number: int) -> str:
    """The items on a shelf."""
    return f"shelf {number}: bolts"


@server.prompt
def order(item: str) -> str:
    """Ask for an order."""
    return f"Write an order for 20 {item}s."
