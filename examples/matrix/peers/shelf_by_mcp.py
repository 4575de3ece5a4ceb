"""Server made with the official Python SDK: `python shelf_by_mcp.py stdio|http|sse`."""

import socket
import sys
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("matrix-shelf", version="1.0.0")


class Count(BaseModel):
    titles: int


class Loan(BaseModel):
    title: str


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
    raise ToolError(f"no such title: {title}")


def ask_for_title() -> Elicit[Loan]:
    """Ask the user for a title."""
    return Elicit("Which title?", Loan)


@server.tool()
def choose(loan: Annotated[Loan, Resolve(ask_for_title)]) -> str:
    """Ask the user for a title."""
    return f"chose {loan.title}"


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
    transport = sys.argv[1]
    if transport == "stdio":
        server.run()
    else:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = int(taken.getsockname()[1])
        path = "sse" if transport == "sse" else "mcp"
        print(f"http://127.0.0.1:{port}/{path}", flush=True)
        kind = "sse" if transport == "sse" else "streamable-http"
        server.run(kind, host="127.0.0.1", port=port)
