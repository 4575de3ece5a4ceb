"""Servers of one revision to stand behind a bridge, and conversations through it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, Server
from mcp_gen.compat.bridge.bridge import Bridge
from mcp_gen.compat.bridge.limits import BridgeLimits
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.peers.connect import talk
from tests.support.peers.conversation import Conversation
from tests.support.peers.questions import add_asking_tools

__all__ = ["QUICK", "at_any", "at_differing", "shop", "through"]

OLDEST = mcp_wire.REVISIONS[0]
QUICK = BridgeLimits(settle_s=0.0)
"""Limits of a bridge in front of a server whose questions come alone."""

at_any = pytest.mark.parametrize(
    ("revision", "inside"),
    [(outside, inside) for outside in mcp_wire.REVISIONS for inside in mcp_wire.REVISIONS],
)
"""Every revision of the client with every revision of the server."""

at_differing = pytest.mark.parametrize(
    ("revision", "inside"),
    [
        (OLDEST, PER_REQUEST),
        (HANDSHAKE, PER_REQUEST),
        (PER_REQUEST, OLDEST),
        (PER_REQUEST, HANDSHAKE),
        (OLDEST, HANDSHAKE),
    ],
)
"""The pairs of revisions that are most apart."""


def shop(revision: str, **options: Any) -> Server:
    """Return a server of one revision with something of every feature."""
    server = Server(
        "shop", "2.0.0", instructions="Ask for the price.", revisions=[revision], **options
    )

    @server.tool
    async def price(thing: str, ctx: Context) -> str:
        """Return the price of a thing."""
        await ctx.report_progress(1, 2)
        await ctx.log("info", {"thing": thing})
        return f"{thing}: 3"

    add_asking_tools(server)

    @server.prompt
    def offer(thing: str) -> str:
        """An offer."""
        return f"Take {thing}"

    @server.completion("offer", "thing")
    def things(value: str) -> list[str]:
        return [thing for thing in ("bolt", "boat", "rope") if thing.startswith(value)]

    @server.resource("shop:///hours")
    def hours() -> str:
        return "nine to five"

    @server.resource("shop://{thing}/stock")
    def stock(thing: str) -> str:
        return f"stock of {thing}"

    return server


@asynccontextmanager
async def _through(
    server: Any, revision: str, over: str, bridge: dict[str, Any], options: dict[str, Any]
) -> AsyncIterator[Conversation]:
    made = Bridge(server, **{"limits": QUICK, **bridge})
    async with talk(lambda: made, revision, over=over, **options) as client:
        yield client


def through(
    server: Any,
    revision: str,
    *,
    over: str = "memory",
    bridge: dict[str, Any] | None = None,
    **options: Any,
) -> AbstractAsyncContextManager[Conversation]:
    """Open a conversation at a revision with a server, through a new bridge."""
    return _through(server, revision, over, bridge or {}, options)
