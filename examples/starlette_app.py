"""A server beside other routes of a Starlette app: `uvicorn examples.starlette_app:app`."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from mcp_gen import Server

server = Server("inventory", "1.0.0")


@server.tool
async def count(item: str) -> int:
    """Count the items in stock."""
    return len(item)


async def home(request: Request) -> PlainTextResponse:
    return PlainTextResponse("MCP is at /tools/mcp")


app = Starlette(routes=[Route("/", home), Mount("/tools", server.asgi())])
