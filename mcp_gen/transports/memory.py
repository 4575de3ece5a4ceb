"""Both ends in one process: bytes are handed straight to the other side's receiver."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.core.transport import Receiver

__all__ = ["MemoryTransport", "memory_pair"]


class MemoryTransport:
    """One end of a pair. Messages arrive in the turn of the loop after they were sent."""

    def __init__(self) -> None:
        self._receiver: Receiver | None = None
        self._waiting: list[bytes] = []
        self._closed = False
        self._hung_up = False
        self.peer: MemoryTransport | None = None

    async def start(self, receiver: Receiver) -> None:
        """Begin to deliver, first what has come before."""
        self._receiver = receiver
        for message in self._waiting:
            asyncio.get_running_loop().call_soon(self._deliver, message)
        self._waiting.clear()
        if self.peer is not None and self.peer._closed:
            self._hang_up()

    def send(self, message: bytes) -> None:
        """Hand one message to the other end."""
        peer = self.peer
        if peer is None or self._closed:
            return
        if peer._receiver is None:
            peer._waiting.append(message)
        else:
            asyncio.get_running_loop().call_soon(peer._deliver, message)

    async def drain(self) -> None:
        """Nothing to wait for: there is no pipe that could be full."""

    async def close(self) -> None:
        """End both sides; what was sent before still arrives."""
        if self._closed:
            return
        self._closed = True
        if self.peer is not None:
            self.peer._hang_up()
        self._hang_up()

    def _deliver(self, message: bytes) -> None:
        if self._receiver is not None and not self._closed:
            self._receiver.receive(message)

    def _hang_up(self) -> None:
        if self._receiver is not None and not self._hung_up:
            self._hung_up = True
            asyncio.get_running_loop().call_soon(self._receiver.closed, None)


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Two connected ends."""
    one, other = MemoryTransport(), MemoryTransport()
    one.peer, other.peer = other, one
    return one, other
