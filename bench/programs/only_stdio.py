"""Our server over stdio at one revision, its argument."""

import sys

from mcp_gen import Server

server = Server("bench", "1.0.0", revisions=[sys.argv[1]])


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    if "--uvloop" in sys.argv:
        import uvloop

        uvloop.install()
    server.run("stdio")
