"""Nodes of a cluster for tests, and what they have received."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

from mcp_gen.cluster.memory.cluster import MemoryCluster
from mcp_gen.cluster.redis.cluster import Redis
from mcp_gen.core.stores.bus import Bus, BusMessage

__all__ = ["TOPIC", "AnyNode", "Received", "answer_upper", "started"]

AnyNode: TypeAlias = MemoryCluster | Redis
TOPIC = "test.topic"


class Received:
    """Deliveries of a bus: bodies, with `gap`, `down` and `up` between them."""

    def __init__(self, bus: Bus, topic: str = TOPIC) -> None:
        self.all: list[str] = []
        self.offsets: list[str] = []
        bus.on(topic, self._on_message)
        bus.on_gap(lambda: self.all.append("gap"))
        bus.on_down(lambda: self.all.append("down"))
        bus.on_up(lambda: self.all.append("up"))

    def _on_message(self, message: BusMessage) -> None:
        self.all.append(message.body.decode())
        self.offsets.append(message.offset)


@asynccontextmanager
async def started(nodes: Sequence[AnyNode]) -> AsyncGenerator[None]:
    """Start nodes, and close them at the end."""
    try:
        for node in nodes:
            await node.start()
        yield
    finally:
        for node in nodes:
            await node.aclose()


async def answer_upper(node: str, body: bytes) -> bytes:
    """Answer a question with its capital letters."""
    return body.upper()
