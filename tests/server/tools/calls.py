"""Helpers for one tool on its own server: its description and its call results."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen import McpError, Server
from tests.support.peers.scripted import served

__all__ = ["call", "failure", "listed", "texts", "with_tool"]


def with_tool(*tool: Any, **described: Any) -> Server:
    """Return a server with one tool: a function, or a Tool and its handler."""
    server = Server("tools")
    server.add_tool(*tool, **described)
    return server


async def listed(server: Server, revision: str = mcp_wire.LATEST) -> Any:
    """Return the one tool as listed at the revision."""
    async with served(server, revision) as session:
        (tool,) = (await session.list_tools()).tools
        return tool


async def call(server: Server, revision: str = mcp_wire.LATEST, /, **arguments: Any) -> Any:
    """Return the result of a call of the one tool."""
    (name,) = server.tools.names
    async with served(server, revision) as session:
        return await session.call_tool(name, arguments)


async def failure(server: Server, revision: str = mcp_wire.LATEST, /, **arguments: Any) -> str:
    """Return the error message of a call with wrong arguments, as the revision reports it."""
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
    """Return the texts of a result without other content."""
    return [block.text for block in result.content]
