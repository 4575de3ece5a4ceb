"""Client made with the official SDK: `python client_by_mcp.py REVISION stdio|http|sse TARGET`."""

import asyncio
import shlex
import sys
from collections.abc import Callable
from typing import Any

import mcp.client.session
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from talking import ToolAnswer, Words, shelf_conversations

NAMES = ("tools", "resources", "prompts")

revision, transport, target = sys.argv[1:]
# There is no option for it: the SDK offers its newest revision with a handshake.
if revision in HANDSHAKE_PROTOCOL_VERSIONS:
    mcp.client.session.LATEST_HANDSHAKE_VERSION = revision


async def elicit(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    """Choose a title."""
    return types.ElicitResult(action="accept", content={"title": "Emma"})


def reaching() -> Any:
    """Return the transport."""
    if transport == "http":
        return streamable_http_client(target)
    if transport == "sse":
        return sse_client(target)
    program, *arguments = shlex.split(target)
    return stdio_client(StdioServerParameters(command=program, args=arguments))


def words_of(client: Client) -> Words:
    """Return what the client can do."""

    async def call(
        name: str, arguments: dict[str, Any], report: Callable[[float], None]
    ) -> ToolAnswer:
        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            report(progress)

        result = await client.call_tool(name, arguments, progress_callback=progressed)
        return ToolAnswer(
            result.content[0].text, result.is_error is True, result.structured_content
        )

    async def tools() -> list[str]:
        return [one.name for one in (await client.list_tools()).tools]

    async def resources() -> list[str]:
        return [str(one.uri) for one in (await client.list_resources()).resources]

    async def templates() -> list[str]:
        found = (await client.list_resource_templates()).resource_templates
        return [one.uri_template for one in found]

    async def read(uri: str) -> str:
        return (await client.read_resource(uri)).contents[0].text

    async def prompts() -> list[str]:
        return [one.name for one in (await client.list_prompts()).prompts]

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
        refusals=(MCPError,),
        asks=revision not in HANDSHAKE_PROTOCOL_VERSIONS[:2],
    )


async def main() -> None:
    """Connect, and have every conversation."""
    mode = "legacy" if revision in HANDSHAKE_PROTOCOL_VERSIONS else "auto"
    async with Client(
        reaching(),
        mode=mode,
        client_info=types.Implementation(name="matrix", version="1.0.0"),
        elicitation_callback=elicit,
    ) as client:
        await shelf_conversations(words_of(client))


asyncio.run(main())
