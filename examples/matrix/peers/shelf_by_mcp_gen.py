"""Server made with mcp_gen: `python shelf_by_mcp_gen.py REVISION stdio|http|sse`."""

import socket
import sys
from dataclasses import dataclass

import uvicorn

from mcp_gen import Accepted, Context, Server, ToolError

revision, transport = sys.argv[1:]
server = Server("matrix-shelf", "1.0.0", revisions=[revision])


@dataclass
class Count:
    titles: int


@dataclass
class Loan:
    title: str


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool
async def scan(shelves: int, ctx: Context) -> str:
    """Scan shelves, and report the progress."""
    for shelf in range(1, shelves + 1):
        await ctx.report_progress(shelf, shelves, f"shelf {shelf}")
    return f"{shelves} shelves"


@server.tool
def count() -> Count:
    """Count the titles."""
    return Count(titles=3)


@server.tool
def lend(title: str) -> str:
    """Lend a title, which is not there."""
    raise ToolError(f"no such title: {title}")


@server.tool
async def choose(ctx: Context) -> str:
    """Ask the user for a title."""
    answer = await ctx.elicit("Which title?", Loan)
    return f"chose {answer.content.title}" if isinstance(answer, Accepted) else "chose nothing"


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
    if transport == "stdio":
        server.run()
    else:
        # Held until the end, so that nobody else gets the port; connections wait for the server.
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = int(listening.getsockname()[1])
            path = "/sse" if transport == "sse" else None
            print(f"http://127.0.0.1:{port}{path or '/mcp'}", flush=True)
            app = server.asgi(legacy_sse_path=path)
            config = uvicorn.Config(app, port=port, log_level="warning")
            uvicorn.Server(config).run(sockets=[listening])
