"""Limits on what one request makes handlers do: calls of their own server within each other."""

from __future__ import annotations

from mcp_gen import Context, PeerLimits, Server
from tests.hostile.work.limits.limit import TAKEN, Limit
from tests.support.frames import PER_REQUEST
from tests.support.peers.asked import Refused
from tests.support.peers.connect import talk

__all__ = ["LIMITS"]


def falling() -> Server:
    """Return a server with a tool that calls itself as often as its client says."""
    server = Server("falling", peer_limits=PeerLimits(max_nested_calls=5))

    @server.tool
    async def fall(ctx: Context, left: int) -> int:
        return left and await ctx.call_tool("fall", {"left": left - 1}, returns=int)

    return server


async def nested_calls(number: int) -> str:
    async with talk(falling, PER_REQUEST) as client:
        try:
            await client.call("fall", left=number)
        except Refused as refused:
            return str(refused.code)
    return TAKEN


LIMITS = [Limit("calls of handlers within each other", 5, 1_000, "-32603", nested_calls)]
