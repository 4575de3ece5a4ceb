from dataclasses import dataclass

from mcp_gen import Server

mcp = Server("differences")


@dataclass
class Label:
    text: str


@mcp.tool
def as_text(item: str) -> str:
    """Return a text: no structured content."""
    return f"a {item}"


@mcp.tool
def as_object(item: str) -> Label:
    """Return an object: structured content."""
    return Label(f"a {item}")


@mcp.tool
def find(item: str) -> int:
    """Fail with an exception that is no ToolError."""
    raise ValueError(f"no {item} here")
