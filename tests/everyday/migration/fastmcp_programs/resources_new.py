"""A server with a resource, a template and binary data."""

import json

from mcp_gen import Server

mcp = Server("shelves")


@mcp.resource("shelf://settings", mime_type="application/json")
def settings() -> str:
    """The settings of the shop."""
    return json.dumps({"shelves": 3, "open": True})


@mcp.resource("shelf://{number}/items")
def items(number: int) -> str:
    """The items on a shelf."""
    return f"shelf {number}: bolts"


@mcp.resource("shelf://logo", mime_type="image/png")
def logo() -> bytes:
    """The logo."""
    return b"\x89PNG"


if __name__ == "__main__":
    mcp.run()
