"""Client made with FastMCP: `python client_by_fastmcp.py REVISION stdio|http|sse TARGET`."""

import asyncio
import shlex
import sys
from collections.abc import Callable
from typing import Any

import mcp.client.session
import mcp_types as types
from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from talking import ToolAnswer, Words, shelf_conversations

NAMES = ("tools", "resources", "prompts")

revision, transport, target = sys.argv[1:]
# There is no option for it: the SDK offers its newest revision with a handshake.
if revision in HANDSHAKE_PROTOCOL_VERSIONS:
    mcp.client.session.LATEST_HANDSHAKE_VERSION = revision


async def elicit(message: str, kind: Any, params: Any, context: Any) -> dict[str, str]:
    """Choose a title."""
    return {"title": "Emma"}


def reaching() -> Any:
    """Return the transport."""
    if transport == "http":
        return StreamableHttpTransport(target)
    if transport == "sse":
        return SSETransport(target)
    program, *arguments = shlex.split(target)
    return StdioTransport(program, arguments)


def words_of(client: Client) -> Words:
    """Return what the client can do."""

    async def call(
        name: str, arguments: dict[str, Any], report: Callable[[float], None]
    ) -> ToolAnswer:
        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            report(progress)

        result = await client.call_tool(
            name, arguments, progress_handler=progressed, raise_on_error=False
        )
        return ToolAnswer(result.content[0].text, result.is_error, result.structured_content)

    async def tools() -> list[str]:
        return [one.name for one in await client.list_tools()]

    async def resources() -> list[str]:
        return [str(one.uri) for one in await client.list_resources()]

    async def templates() -> list[str]:
        found = await client.list_resource_templates()
        return [one.uri_template for one in found]

    async def read(uri: str) -> str:
        return (await client.read_resource(uri))[0].text

    async def prompts() -> list[str]:
        return [one.name for one in await client.list_prompts()]

    async def prompt(name: str, arguments: dict[str, str]) -> str:
        return (await client.get_prompt(name, arguments)).messages[0].content.text

    info, offered = client.server_info, client.server_capabilities
    return Words(
        server_name=lambda: info.name if info else None,
        capabilities=[one for one in NAMES if getattr(offered, one, None) is not None],
        tools=tools,
        call=call,
        resources=resources,
        templates=templates,
        read=read,
        prompts=prompts,
        prompt=prompt,
        refusals=(MCPError, ToolError),
        asks=revision not in HANDSHAKE_PROTOCOL_VERSIONS[:2],
    )


async def main() -> None:
    """Connect, and have every conversation."""
    mode = "legacy" if revision in HANDSHAKE_PROTOCOL_VERSIONS else "auto"
    async with Client(
        reaching(),
        mode=mode,
        client_info=types.Implementation(name="matrix", version="1.0.0"),
        elicitation_handler=elicit,
    ) as client:
        await shelf_conversations(words_of(client))


asyncio.run(main())
