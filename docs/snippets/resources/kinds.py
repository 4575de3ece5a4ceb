"""Text, bytes and JSON at fixed URIs, and typed variables of a template."""

from dataclasses import dataclass
from datetime import date

from mcp_gen import Server

server = Server("office", "1.0.0")


@dataclass
class Menu:
    day: date
    dish: str


@server.resource("office://motto")
def motto() -> str:
    """A text."""
    return "Measure twice"


@server.resource("office://logo", mime_type="image/gif")
def logo() -> bytes:
    """Bytes, sent as base64."""
    return b"GIF89a"


@server.resource("office://menu/{day}{?vegan}")
def menu(day: date, vegan: bool = False) -> Menu:
    """A value, sent as JSON. Variables are decoded into the types of the parameters."""
    return Menu(day, "rice" if vegan else "fish")


if __name__ == "__main__":
    server.run("stdio")
