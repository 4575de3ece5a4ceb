"""In-memory transport pair: both peers in one process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Receiver

__all__ = ["MemoryTransport", "memory_pair"]


class MemoryTransport:
    """One end of an in-memory pair; see `memory_pair`.

    A message is delivered at once. If one of the ends is delivering a message already, it is
    delivered in the next turn of the event loop instead, so that no receiver is re-entered.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receiver: Receiver | None = None
        self._queued: list[bytes] = []
        """Messages that have not been delivered yet, in order."""
        self._delivering = False
        self._closed = False
        self._disconnected = False
        self.peer: MemoryTransport | None = None

    async def start(self, receiver: Receiver) -> None:
        """Start delivering messages, beginning with those sent before."""
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        if self._queued:
            self._loop.call_soon(self._deliver_queued)
        if self.peer is not None and self.peer._closed:
            self._disconnect()

    def send(self, message: bytes) -> None:
        """Deliver one message to the other end."""
        peer = self.peer
        if peer is None or self._closed:
            return
        if peer._receiver is None or peer._loop is None:
            peer._queued.append(message)
        elif peer._queued or peer._delivering or self._delivering:
            peer._queued.append(message)
            if len(peer._queued) == 1:
                peer._loop.call_soon(peer._deliver_queued)
        else:
            peer._deliver(peer._receiver, message)

    async def drain(self) -> None:
        """Return at once: there is no buffer that could be full."""

    async def aclose(self) -> None:
        """Close both ends. Messages sent before are still delivered."""
        if self._closed:
            return
        self._closed = True
        if self.peer is not None:
            self.peer._disconnect()
        self._disconnect()

    def _deliver_queued(self) -> None:
        queued, self._queued = self._queued, []
        for message in queued:
            if self._receiver is not None:
                self._deliver(self._receiver, message)

    def _deliver(self, receiver: Receiver, message: bytes) -> None:
        if self._closed:
            return
        self._delivering = True
        try:
            receiver.receive(message)
        except Exception as error:
            # An error of the receiver must not be raised in the sender.
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a receiver failed", "exception": error}
            )
        finally:
            self._delivering = False

    def _disconnect(self) -> None:
        if self._receiver is not None and self._loop is not None and not self._disconnected:
            self._disconnected = True
            self._loop.call_soon(self._receiver.closed, None)


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Return two connected transports, one for each peer."""
    one, other = MemoryTransport(), MemoryTransport()
    one.peer, other.peer = other, one
    return one, other
