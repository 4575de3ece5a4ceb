"""Server made with FastMCP: `python shelf_by_fastmcp.py REVISION stdio|http|sse`."""

import socket
import sys
from dataclasses import dataclass

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

FORM = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}

revision, transport = sys.argv[1:]
server = FastMCP("matrix-shelf", version="1.0.0")


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
async def choose(ctx: Context) -> str | InputRequiredResult:
    """Ask the user for a title."""
    if ctx.input_responses:
        return f"chose {ctx.input_responses['loan'].content['title']}"
    if revision in HANDSHAKE_PROTOCOL_VERSIONS:
        answer = await ctx.elicit("Which title?", Loan)
        return f"chose {answer.data.title}"
    params = ElicitRequestFormParams(message="Which title?", requested_schema=FORM)
    return InputRequiredResult(input_requests={"loan": ElicitRequest(params=params)})


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
        server.run(show_banner=False)
    else:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = int(taken.getsockname()[1])
        path = "sse" if transport == "sse" else "mcp"
        print(f"http://127.0.0.1:{port}/{path}", flush=True)
        kind = "sse" if transport == "sse" else "http"
        server.run(kind, host="127.0.0.1", port=port, show_banner=False)
