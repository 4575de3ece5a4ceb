from typing import Literal

from mcp_gen import Server

server = Server("review", "1.0.0")


@server.prompt
def review(code: str, tone: Literal["kind", "strict"] = "kind") -> str:
    """Ask for a review of some code."""
    return f"Review this code, and be {tone}:\n{code}"


if __name__ == "__main__":
    server.run("stdio")
