"""A server made with the official SDK. Run it as a command: it speaks stdio."""

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("official", version="2.3.0", instructions="Answers our client.")


class Point(BaseModel):
    x: int
    y: int


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail(reason: str) -> str:
    """Fail, in a way the tool saw coming."""
    raise ToolError(reason)


@server.tool()
def mirror(x: int, y: int) -> Point:
    """Return a point with its coordinates swapped."""
    return Point(x=y, y=x)


@server.tool()
async def ping_client(ctx: Context) -> str:
    """Ping the client, and return once it has answered."""
    await ctx.session.send_ping()
    return "answered"


@server.tool()
async def ask_for_roots(ctx: Context) -> str:
    await ctx.session.list_roots()
    return "answered"

@server.tool()
async def tell_everything(ctx: Context) -> str:
    """Send every kind of notification, then return."""
    await ctx.info("a log message")
    await ctx.report_progress(0.5, 1.0)
    await ctx.session.send_tool_list_changed()
    await ctx.session.send_resource_updated("file:///a")
    return "told"


if __name__ == "__main__":
    server.run("stdio")
