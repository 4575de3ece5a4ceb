"""Server of the official SDK with long resources; needs that SDK."""

from mcp.server.mcpserver import MCPServer

from bench.programs.long_contents import BLOB_URI, DATA, TEXT, TEXT_URI

__all__ = ["server"]

server = MCPServer("add", version="1.0.0", log_level="WARNING")


@server.resource(TEXT_URI, mime_type="text/plain")
async def text() -> str:
    """A long text."""
    return TEXT


@server.resource(BLOB_URI, mime_type="application/octet-stream")
async def data() -> bytes:
    """A long blob."""
    return DATA
