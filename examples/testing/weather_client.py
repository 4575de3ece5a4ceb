"""A program with an MCP client: it asks a server for a text."""

from collections.abc import Sequence

from mcp_gen import Client, text_of


async def echoed(command: Sequence[str], text: str) -> str:
    """Return the text as the tool `echo` of a server returns it.

    Args:
        command: The words of the command that starts the server.
        text: The text.
    """
    async with Client("weather-app") as client:
        session = await client.connect(command)
        return text_of(await session.call_tool("echo", {"text": text}))
