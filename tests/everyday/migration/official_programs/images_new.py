"""A server whose tools return an image, and fail."""

from mcp_gen import Server, ToolError
from mcp_gen.content import image
from mcp_gen.types import ImageContent

mcp = Server("pictures")


@mcp.tool
def thumbnail(name: str) -> ImageContent:
    """Return a small picture."""
    if name != "logo":
        raise ToolError(f"no picture {name}")
    return image(b"\x89PNG", mime_type="image/png")


if __name__ == "__main__":
    mcp.run()
