"""A server with a tool, a resource template and a prompt."""

from mcp_gen import Server

mcp = Server("demo")


@mcp.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@mcp.resource("greeting://{name}")
def greeting(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


@mcp.prompt
def greet(name: str, style: str = "friendly") -> str:
    """Ask for a greeting."""
    return f"Write a {style} greeting for {name}."


if __name__ == "__main__":
    mcp.run()
