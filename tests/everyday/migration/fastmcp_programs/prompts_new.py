"""A server with prompts: one text, and a conversation."""

from mcp_gen import Server, assistant, user
from mcp_gen.types import PromptMessage

mcp = Server("writer")


@mcp.prompt
def summarise(text: str, words: int = 50) -> str:
    """Ask for a summary."""
    return f"Summarise this in {words} words: {text}"


@mcp.prompt
def interview(topic: str) -> list[PromptMessage]:
    """Begin an interview."""
    return [
        user(f"Let us talk about {topic}."),
        assistant("Gladly. Where shall we begin?"),
    ]


if __name__ == "__main__":
    mcp.run()
