"""A server with two tools: plain values, a default, and a description per argument."""

from typing import Annotated

from pydantic import Field

from mcp_gen import Server

mcp = Server("calculator")


@mcp.tool
def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


@mcp.tool
def repeat(text: str, times: Annotated[int, Field(description="How often", ge=1)] = 2) -> str:
    """Repeat a text."""
    return " ".join([text] * times)


if __name__ == "__main__":
    mcp.run()
