"""One tool on a server of its own: what clients see of it, and what calls of it give."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen import McpError, Server
from tests.support.peers.scripted import served

__all__ = ["call", "failure", "listed", "texts", "with_tool"]


def with_tool(*tool: Any, **described: Any) -> Server:
    """A server with one tool: a function, or a Tool and its handler."""
    server = Server("tools")
    server.add_tool(*tool, **described)
    return server


async def listed(server: Server, revision: str = mcp_wire.LATEST) -> Any:
    """The one tool, as clients of the revision see it."""
    async with served(server, revision) as session:
        (tool,) = (await session.list_tools()).tools
        return tool


async def call(server: Server, revision: str = mcp_wire.LATEST, /, **arguments: Any) -> Any:
    """The result of a call of the one tool."""
    (name,) = server.tools.names
    async with served(server, revision) as session:
        return await session.call_tool(name, arguments)


async def failure(server: Server, revision: str = mcp_wire.LATEST, /, **arguments: Any) -> str:
    """What is said of a call whose arguments are wrong, as the revision says it."""
    if mcp_wire.profile(revision).bad_arguments == "protocol_error":
        with pytest.raises(McpError) as caught:
            await call(server, revision, **arguments)
        assert caught.value.code == -32602
        return caught.value.message
    result = await call(server, revision, **arguments)
    assert result.is_error is True
    (said,) = texts(result)
    return said


def texts(result: Any) -> list[str]:
    """The texts of a result that has nothing else."""
    return [block.text for block in result.content]
