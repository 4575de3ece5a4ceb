"""Faults that a node can be built with: the storm must find each of them.

They are patches of this process, and no part of the product.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

__all__ = ["sabotage"]


def sabotage(name: str) -> None:
    """Patch the cluster of this process; nothing without a name.

    Args:
        name: One of `plan.SABOTAGE`, or empty.
    """
    if name:
        {"unfenced": _unfenced, "send-first": _send_first, "pubsub": _pubsub}[name]()


def _unfenced() -> None:
    """Let a node go on whose lease has lapsed, and let it write to streams that have ended."""
    from mcp_gen.cluster.redis import events
    from mcp_gen.cluster.redis.connection import Script
    from mcp_gen.cluster.redis.nodes import RedisNode

    # Privates are what a fault is made of.
    known: Any = events
    text: str = known._SCRIPT.text
    again = "if number <= last then number = last + 1 end"
    for before, after in (
        ("if not s or s.over == '1' then return 0 end", "if not s then return 0 end"),
        ("if number <= last then return 0 end", again),
    ):
        assert before in text
        text = text.replace(before, after)
    known._SCRIPT = Script(text)
    node: Any = RedisNode
    renewal = node._renewal

    def always_taken(self: Any, act: str) -> Any:
        return renewal(self, "take")

    def never_lapsed(self: Any) -> None:
        pass

    node._renewal = always_taken
    node.check_lease = never_lapsed


def _send_first() -> None:
    """Send events without waiting until they are stored."""
    from mcp_gen.cluster.redis.events import RedisEvents

    storing: set[asyncio.Task[Any]] = set()

    events: Any = RedisEvents
    write = events.write

    async def stored(*given: Any, **named: Any) -> None:
        with suppress(Exception):  # nobody hears of it
            await write(*given, **named)

    def begin(*given: Any, **named: Any) -> None:
        task = asyncio.get_running_loop().create_task(stored(*given, **named))
        storing.add(task)
        task.add_done_callback(storing.discard)

    events.write = begin


def _pubsub() -> None:
    """Lose what is broadcast while this node is not connected, as pub/sub does: silently."""
    from mcp_gen.cluster.redis.bus import RedisBus

    bus: Any = RedisBus

    async def nothing_missed(self: Any) -> Sequence[Sequence[Any]]:
        missed = await self._broadcasts.fetch()
        if missed:
            self._broadcasts.offset = missed[-1][0].decode("ascii")
        self._next = None
        return [[], await self._inbox.fetch()]

    def unheard(self: Any, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    bus.missed = nothing_missed
    bus.on_gap = unheard
