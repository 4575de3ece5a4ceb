"""Server of the official SDK; needs that SDK."""

from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from bench.programs.long_contents import BLOB_URI, DATA, TEXT, TEXT_URI

server = MCPServer("add", version="1.0.0", log_level="WARNING")


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def stdio() -> None:
    """Serve stdin and stdout."""
    server.run("stdio")


def app(json: bool, tools: int) -> Any:
    """Return an app with long resources and a number of tools, answering with JSON or events."""

    @server.tool()
    async def change(a: int, b: int, ctx: Context) -> int:
        """Tell everybody that the list of tools has changed."""
        await ctx.notify_tools_changed()
        return a + b

    @server.resource(TEXT_URI, mime_type="text/plain")
    async def text() -> str:
        """A long text."""
        return TEXT

    @server.resource(BLOB_URI, mime_type="application/octet-stream")
    async def data() -> bytes:
        """A long blob."""
        return DATA

    async def nothing(text: str, count: int = 1) -> str:
        """Do nothing in particular, one of many tools that do."""
        return text

    for number in range(2, tools):
        server.add_tool(nothing, name=f"nothing_{number}")
    # The load generator names no port.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return server.streamable_http_app(json_response=json, transport_security=unchecked)
