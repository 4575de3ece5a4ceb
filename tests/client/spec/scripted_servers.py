"""Scripted servers for the spec tests of clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp_gen import ClientSession
from tests.client.scripted import CannedServer, Reply
from tests.support.peers.reach import Reach, Reached

__all__ = ["DONE", "far", "in_a_call", "listed", "tool", "whole"]

DONE: dict[str, Any] = {"content": [{"type": "text", "text": "done"}]}


def far(reach: Reach, replies: dict[str, Reply | dict[str, Any]] | None = None) -> CannedServer:
    """Return a server of the revision that answers these methods alone, not even `tools/call`."""
    server = CannedServer(reach.revision)
    for method, reply in (replies or {}).items():
        server.on(method, reply)
    return server


def whole(reach: Reach, **members: Any) -> dict[str, Any]:
    """Return a complete result of the revision."""
    typed = {} if reach.profile.handshake else {"resultType": "complete"}
    return {"result": {**typed, **members}}


def listed(reach: Reach, **members: Any) -> dict[str, Any]:
    """Return a complete list result of the revision."""
    hints = {"ttlMs": 0, "cacheScope": "private"} if reach.profile.cache_hints else {}
    return whole(reach, **hints, **members)


def tool(name: str = "t", **members: Any) -> dict[str, Any]:
    """Return a tool's description, as on the wire."""
    return {"name": name, "inputSchema": {"type": "object"}, **members}


@asynccontextmanager
async def in_a_call(
    reached: Reached, server: CannedServer, session: ClientSession | None = None
) -> AsyncIterator[Any]:
    """Hold a call open; yields its frame, and answers it afterwards."""
    session = session or reached.session
    call = asyncio.get_running_loop().create_task(session.call_tool("t"))
    try:
        frame = await server.next("tools/call")
        yield frame
        server.send(id=frame["id"], **server.complete(DONE))
        result: Any = await call
        assert result.content[0].text == "done"
    finally:
        call.cancel()
