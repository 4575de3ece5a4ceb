"""A server for the matrix."""

from mcp_gen import Server

server = Server("shelf", "1.0.0")


@server.tool
def count(item: str) -> int:
    """Count the items on the shelf."""
    return len(item)


if __name__ == "__main__":
    server.run()
