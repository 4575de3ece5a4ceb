"""A server with prompts: one text, and a conversation."""

from fastmcp import FastMCP
from fastmcp.prompts import Message

mcp = FastMCP("writer")


@mcp.prompt
def summarise(text: str, words: int = 50) -> str:
    """Ask for a summary."""
    return f"Summarise this in {words} words: {text}"


@mcp.prompt
def interview(topic: str) -> list[Message]:
    """Begin an interview."""
    return [
        Message(f"Let us talk about {topic}."),
        Message("Gladly. Where shall we begin?", role="assistant"),
    ]


if __name__ == "__main__":
    mcp.run(show_banner=False)
