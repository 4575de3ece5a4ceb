"""Server of FastMCP; needs that SDK."""

from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import Tool

from bench.programs.long_contents import BLOB_URI, DATA, TEXT, TEXT_URI

server = FastMCP("add", version="1.0.0")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def stdio() -> None:
    """Serve stdin and stdout."""
    server.run(show_banner=False, log_level="WARNING")


def app(json: bool, tools: int) -> Any:
    """Return an app with long resources and a number of tools, answering with JSON or events."""

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

    for number in range(1, tools):
        server.add_tool(Tool.from_function(nothing, name=f"nothing_{number}"))
    return server.http_app(json_response=json)
