"""Server made with the official Python SDK; `--http` serves it on a free port."""

import socket
import sys

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

server = MCPServer("shelf", version="1.0.0")


class Count(BaseModel):
    titles: int


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def scan(shelves: int, ctx: Context) -> str:
    """Scan shelves, and report the progress."""
    for shelf in range(1, shelves + 1):
        await ctx.report_progress(shelf, shelves, f"shelf {shelf}")
    return f"{shelves} shelves"


@server.tool()
def count() -> Count:
    """Count the titles."""
    return Count(titles=3)


@server.tool()
def lend(title: str) -> str:
    """Lend a title, which is not there."""
    raise ValueError(f"no such title: {title}")


@server.resource("shelf://rules", mime_type="text/plain")
def rules() -> str:
    """Rules of the shelf."""
    return "Bring it back."


@server.resource("shelf://titles/{number}")
def title(number: str) -> str:
    """One title."""
    return f"title {number}"


@server.prompt()
def recommend(reader: str) -> str:
    """Recommend a title to a reader."""
    return f"Recommend a title to {reader}."


if __name__ == "__main__":
    if "--http" in sys.argv:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = int(taken.getsockname()[1])
        print(f"port {port}", flush=True)
        server.run("streamable-http", host="127.0.0.1", port=port)
    else:
        server.run()
