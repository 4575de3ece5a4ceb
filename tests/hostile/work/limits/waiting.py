"""Messages that wait until a handshake in progress has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from mcp_gen import Server
from mcp_gen.session.duplex.server import MAX_HELD, MAX_HELD_BYTES
from tests.hostile.work.limits.limit import TAKEN, Limit, Reach
from tests.support.frames import HANDSHAKE, Speaker
from tests.support.peers.raw import talking

__all__ = ["LIMITS"]

REFUSED = "-32600"
ID = "last"


def with_messages(messages_of: Callable[[Speaker, int], list[bytes]]) -> Reach:
    async def reach(amount: int) -> str:
        """Send messages during a slow handshake and return the outcome of the last one."""
        server, go_on = Server("slow"), asyncio.Event()

        @server.hooks.after_initialize
        async def wait(ctx: Any, params: Any, result: Any) -> None:
            await go_on.wait()

        async with talking(server, HANDSHAKE, opened=False) as client:
            client.send(client.speaker.initialize(0))
            await asyncio.sleep(0)
            client.send(*messages_of(client.speaker, amount))
            await asyncio.sleep(0)
            go_on.set()
            answer = await client.answer(ID)
            return str(answer["error"]["code"]) if "error" in answer else TAKEN

    return reach


def pings(speaker: Speaker, count: int) -> list[bytes]:
    ids = [*range(1, count), ID]
    return [speaker.request(id, "ping") for id in ids]


def one_ping(speaker: Speaker, size: int) -> list[bytes]:
    return [speaker.request(ID, "ping").ljust(size)]


LIMITS: list[Limit] = [
    Limit("messages that wait for a handshake", MAX_HELD, 10_000, REFUSED, with_messages(pings)),
    Limit(
        "bytes that wait for a handshake",
        MAX_HELD_BYTES,
        2 * MAX_HELD_BYTES,
        REFUSED,
        with_messages(one_ping),
    ),
]
