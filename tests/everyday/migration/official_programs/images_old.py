"""A server whose tools return an image, and fail."""

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

mcp = MCPServer("pictures")


@mcp.tool()
def thumbnail(name: str) -> Image:
    """Return a small picture."""
    if name != "logo":
        raise ToolError(f"no picture {name}")
    return Image(data=b"\x89PNG", format="png")


if __name__ == "__main__":
    mcp.run()
