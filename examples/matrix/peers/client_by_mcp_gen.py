"""Client made with mcp_gen: `python client_by_mcp_gen.py REVISION stdio|http|sse TARGET`."""

import asyncio
import shlex
import sys
from collections.abc import Callable
from typing import Any

from talking import ToolAnswer, Words, shelf_conversations

import mcp_wire
from mcp_gen import Client, ClientSession, McpError

revision, transport, target = sys.argv[1:]
NAMES = ("tools", "resources", "prompts")

client = Client("matrix", "1.0.0")


@client.elicitation
async def choose(session: ClientSession, params: Any) -> dict[str, str]:
    """Choose a title."""
    return {"title": "Emma"}


def words_of(session: ClientSession) -> Words:
    """Return what the session can do."""

    async def call(
        name: str, arguments: dict[str, Any], report: Callable[[float], None]
    ) -> ToolAnswer:
        def progressed(progress: float, total: float | None, message: str | None) -> None:
            report(progress)

        result = await session.call_tool(name, arguments, progress=progressed)
        structured = getattr(result, "structured_content", None)
        is_error = getattr(result, "is_error", None) is True
        return ToolAnswer(result.content[0].text, is_error, structured or None)

    async def tools() -> list[str]:
        return [one.name async for one in session.tools()]

    async def resources() -> list[str]:
        return [one.uri async for one in session.resources()]

    async def templates() -> list[str]:
        return [one.uri_template async for one in session.resource_templates()]

    async def read(uri: str) -> str:
        return (await session.read_resource(uri)).contents[0].text

    async def prompts() -> list[str]:
        return [one.name async for one in session.prompts()]

    async def prompt(name: str, arguments: dict[str, str]) -> str:
        return (await session.get_prompt(name, arguments)).messages[0].content.text

    info, offered = session.server_info, session.server_capabilities
    return Words(
        server_name=lambda: info.name if info else None,
        capabilities=[one for one in NAMES if getattr(offered, one) is not None],
        tools=tools,
        call=call,
        resources=resources,
        templates=templates,
        read=read,
        prompts=prompts,
        prompt=prompt,
        refusals=(McpError,),
        asks=mcp_wire.profile(revision).elicit is not None,
    )


async def main() -> None:
    """Connect, and have every conversation."""
    place = shlex.split(target) if transport == "stdio" else target
    async with client:
        session = await client.connect(place, revision=revision)
        await shelf_conversations(words_of(session))


asyncio.run(main())
