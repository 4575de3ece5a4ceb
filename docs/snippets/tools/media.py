"""Content of several kinds: text, an image, and a link to a resource."""

from base64 import b64decode

from mcp_gen import Server, content
from mcp_gen.types import ImageContent, ResourceLink, TextContent

DOT = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
server = Server("plots", "1.0.0")


@server.resource("data://measured", mime_type="text/csv")
def measured() -> str:
    """The measured values."""
    return "x,y\n1,2\n"


@server.tool
def plot() -> list[TextContent | ImageContent | ResourceLink]:
    """Plot the measured values."""
    return [
        content.text("One value was measured."),
        content.image(DOT, mime_type="image/png"),
        server.resource_link("data://measured"),
    ]


if __name__ == "__main__":
    server.run("stdio")
