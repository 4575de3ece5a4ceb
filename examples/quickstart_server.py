"""A server in ten lines."""

from mcp_gen import Server

server = Server("quickstart", "1.0.0", instructions="Adds numbers.")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    server.run("stdio")
