"""Servers to mount, and a gateway that mounts another server as a remote one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, Context, PeerLimits, Server
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.peers.questions import add_asking_tools

__all__ = ["INSIDE", "at_two", "gateway", "weather"]

INSIDE = [mcp_wire.REVISIONS[0], HANDSHAKE, PER_REQUEST]
"""Revisions between gateway and remote server: the oldest, and the newest of both lifecycles."""

at_two = pytest.mark.parametrize(
    ("revision", "inside"),
    [(outside, inside) for outside in mcp_wire.REVISIONS for inside in INSIDE],
)
"""Every revision of the client, several of the remote server."""


def weather() -> Server:
    """Return a server with something of every feature."""
    server = Server("weather", "2.0.0")

    @server.tool
    async def forecast(city: str, ctx: Context) -> str:
        """Return the forecast for a city."""
        await ctx.report_progress(1, 2)
        await ctx.log("info", {"city": city})
        return f"{city}: sun, says {ctx.server.name}"

    add_asking_tools(server)

    @server.prompt
    def report(city: str) -> str:
        """A report."""
        return f"Report on {city}"

    @server.completion("report", "city")
    def cities(value: str) -> list[str]:
        return [city for city in ("Oslo", "Oxford", "Rome") if city.startswith(value)]

    @server.resource("weather:///today")
    def today() -> str:
        return "sunny"

    @server.resource("weather://{city}/now")
    def now(city: str) -> str:
        return f"now in {city}"

    return server


@asynccontextmanager
async def gateway(
    inside: Server,
    revision: str,
    *,
    prefix: str | None = "far",
    forward_requests: bool = True,
    peer_limits: PeerLimits = PeerLimits(),
    **options: Any,
) -> AsyncIterator[Server]:
    """Return a server that mounts another one by a session of a revision."""
    outer = Server("outer", "1.0.0", peer_limits=peer_limits)

    @outer.tool
    async def own() -> str:
        """Return the gateway's own item."""
        return "mine"

    async with Client("gateway", forward_requests=forward_requests, **options) as client:
        session = await client.connect(inside, revision=revision)
        outer.mount(prefix, session)
        yield outer
        outer.unmount(session)
