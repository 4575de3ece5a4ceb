"""Server made with the official SDK, for our client; `--handshake` limits it to handshakes."""

import sys
import warnings

import anyio
from mcp import MCPDeprecationWarning, MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from pydantic import BaseModel

# Logging and roots: deprecated, but still spoken.
warnings.simplefilter("ignore", MCPDeprecationWarning)

server = MCPServer("official", version="2.3.0", instructions="Answers our client.")
hanging = anyio.Event()
stopped = anyio.Event()


class Point(BaseModel):
    x: int
    y: int


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def mirror(x: int, y: int) -> Point:
    """Return a point with its coordinates swapped."""
    return Point(x=y, y=x)


@server.tool()
def fail(reason: str) -> str:
    """Fail in a way that the model can read."""
    raise ToolError(reason)


@server.tool()
def refuse(reason: str) -> str:
    """Answer with a protocol error."""
    raise MCPError(-32050, reason, {"retry": False})


@server.tool()
async def ping_client(ctx: Context) -> str:
    """Return once the client has answered a ping."""
    await ctx.session.send_ping()
    return "answered"


@server.tool()
async def ask_for_roots(ctx: Context) -> str:
    """Ask the client for something that it does not offer."""
    await ctx.session.list_roots()
    return "answered"


@server.tool()
async def notify(ctx: Context) -> str:
    """Send notifications of every kind, then return."""
    await ctx.info("a log message")
    await ctx.report_progress(1, 2)
    await ctx.session.send_tool_list_changed()
    await ctx.session.send_prompt_list_changed()
    await ctx.session.send_resource_list_changed()
    await ctx.session.send_resource_updated("file:///a")
    return "notified"


@server.tool()
async def hang() -> None:
    """Never return."""
    hanging.set()
    try:
        await anyio.sleep_forever()
    finally:
        stopped.set()


@server.tool()
async def until_hanging() -> None:
    """Return once `hang` has been called."""
    await hanging.wait()


@server.tool()
async def until_stopped() -> None:
    """Return once `hang` has been cancelled."""
    await stopped.wait()


async def serve_handshakes() -> None:
    """Serve stdin and stdout like a server of 2025, which answers nothing without a handshake."""
    # The public `run` always serves both lifecycles.
    core = server._lowlevel_server
    async with core.lifespan(core) as state, stdio_server() as (reading, writing):
        await serve_loop(core, reading, writing, lifespan_state=state)


if __name__ == "__main__":
    if "--handshake" in sys.argv:
        anyio.run(serve_handshakes)
    else:
        server.run("stdio")
