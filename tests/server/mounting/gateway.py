"""Servers to mount, and a gateway that mounts another server as a remote one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Accepted, Client, Context, PeerLimits, Server
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.peers.asked import WAIT_S

__all__ = ["ANSWERS", "INSIDE", "at_two", "gateway", "until", "weather"]

INSIDE = [mcp_wire.REVISIONS[0], HANDSHAKE, PER_REQUEST]
"""Revisions between gateway and remote server: the oldest, and the newest of both lifecycles."""

at_two = pytest.mark.parametrize(
    ("revision", "inside"),
    [(outside, inside) for outside in mcp_wire.REVISIONS for inside in INSIDE],
)
"""Every revision of the client, several of the remote server."""

ANSWERS: dict[str, Any] = {
    "elicitation/create": lambda asked: {"action": "accept", "content": {"name": "Ada"}},
    "sampling/createMessage": lambda asked: {
        "role": "assistant",
        "model": "m",
        "content": {"type": "text", "text": "Hello!"},
    },
    "roots/list": lambda asked: {"roots": [{"uri": "file:///home"}]},
}
"""Answers of a client to every input request."""


@dataclass
class Name:
    name: str


def weather() -> Server:
    """Return a server with something of every feature."""
    server = Server("weather", "2.0.0")

    @server.tool
    async def forecast(city: str, ctx: Context) -> str:
        """Return the forecast for a city."""
        await ctx.report_progress(1, 2)
        await ctx.log("info", {"city": city})
        return f"{city}: sun, says {ctx.server.name}"

    @server.tool
    async def ask(ctx: Context) -> str:
        """Ask the user."""
        answer = await ctx.elicit("Who?", Name)
        return answer.content.name if isinstance(answer, Accepted) else answer.action

    @server.tool
    async def think(ctx: Context) -> str:
        """Ask the model."""
        said = await ctx.sample("hi", max_tokens=5)
        return str(getattr(said.content, "text", said))

    @server.tool
    async def look(ctx: Context) -> str:
        """Request the roots."""
        return " ".join(root.uri for root in await ctx.list_roots())

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
    peer_limits: PeerLimits = PeerLimits(),  # noqa: B008  # it is frozen
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


async def until(condition: Any) -> None:
    """Wait until the condition is true, turn by turn of the loop."""
    async with asyncio.timeout(WAIT_S):
        # The conditions are of many kinds, and few of them have an event.
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)
