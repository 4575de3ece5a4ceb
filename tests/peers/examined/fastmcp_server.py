"""Server made with FastMCP; `--http` serves it on a free port."""

import socket
import sys
from dataclasses import dataclass

from fastmcp import Context, FastMCP

server = FastMCP("shelf", version="1.0.0")


@dataclass
class Count:
    titles: int


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def scan(shelves: int, ctx: Context) -> str:
    """Scan shelves, report the progress, and log a message."""
    for shelf in range(1, shelves + 1):
        await ctx.report_progress(shelf, shelves, f"shelf {shelf}")
    await ctx.info("scanned")
    return f"{shelves} shelves"


@server.tool
def count() -> Count:
    """Count the titles."""
    return Count(titles=3)


@server.tool
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


@server.prompt
def recommend(reader: str) -> str:
    """Recommend a title to a reader."""
    return f"Recommend a title to {reader}."


if __name__ == "__main__":
    if "--http" in sys.argv:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = int(taken.getsockname()[1])
        print(f"port {port}", flush=True)
        server.run("http", host="127.0.0.1", port=port, show_banner=False)
    else:
        server.run(show_banner=False)
