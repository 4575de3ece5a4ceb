"""The server under test, as users write it."""

from mcp_gen import Server

server = Server("add", "1.0.0")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
