"""A program with an MCP client: it asks a server for a text."""

from collections.abc import Sequence

from mcp_gen import Client, text_of


async def echoed(target: str | Sequence[str], text: str) -> str:
    """Return the text as the tool `echo` of a server returns it.

    Args:
        target: The URL of the server, or the words of the command that starts it.
        text: The text.
    """
    async with Client("weather-app") as client:
        session = await client.connect(target)
        return text_of(await session.call_tool("echo", {"text": text}))
