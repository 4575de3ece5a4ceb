"""Server of ours."""

from typing import Any

from bench.programs.long_contents import BLOB_URI, DATA, TEXT, TEXT_URI
from mcp_gen import Server

server = Server("add", "1.0.0")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def stdio() -> None:
    """Serve stdin and stdout."""
    server.run("stdio")


def app(json: bool, tools: int) -> Any:
    """Return an app with long resources and a number of tools; requests choose JSON or events."""

    @server.tool
    async def change(a: int, b: int) -> int:
        """Tell everybody that the list of tools has changed."""
        server.notify.tool_list_changed()
        return a + b

    @server.resource(TEXT_URI)
    async def text() -> str:
        """A long text."""
        return TEXT

    @server.resource(BLOB_URI)
    async def data() -> bytes:
        """A long blob."""
        return DATA

    for number in range(len(server.tools), tools):

        async def nothing(text: str, count: int = 1) -> str:
            """Do nothing in particular, one of many tools that do."""
            return text

        server.add_tool(nothing, name=f"nothing_{number}")
    return server.asgi()
