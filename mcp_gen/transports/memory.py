"""Both ends in one process: bytes are handed straight to the other side's receiver."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Receiver

__all__ = ["MemoryTransport", "memory_pair"]


class MemoryTransport:
    """One end of a pair.

    A message is handed over at once, unless one of the ends is just taking one: nobody is called
    from inside of what it does with another message. Then it waits for the next turn of the loop.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receiver: Receiver | None = None
        self._waiting: list[bytes] = []
        """What has come and was not handed over yet, in its order."""
        self._taking = False
        self._closed = False
        self._disconnected = False
        self.peer: MemoryTransport | None = None

    async def start(self, receiver: Receiver) -> None:
        """Begin to deliver, first what has come before."""
        self._loop = asyncio.get_running_loop()
        self._receiver = receiver
        if self._waiting:
            self._loop.call_soon(self._hand_over)
        if self.peer is not None and self.peer._closed:
            self._disconnect()

    def send(self, message: bytes) -> None:
        """Hand one message to the other end."""
        peer = self.peer
        if peer is None or self._closed:
            return
        if peer._receiver is None or peer._loop is None:
            peer._waiting.append(message)
        elif peer._waiting or peer._taking or self._taking:
            peer._waiting.append(message)
            if len(peer._waiting) == 1:
                peer._loop.call_soon(peer._hand_over)
        else:
            peer._take(peer._receiver, message)

    async def drain(self) -> None:
        """Nothing to wait for: there is no pipe that could be full."""

    async def aclose(self) -> None:
        """End both sides; what was sent before still arrives."""
        if self._closed:
            return
        self._closed = True
        if self.peer is not None:
            self.peer._disconnect()
        self._disconnect()

    def _hand_over(self) -> None:
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            if self._receiver is not None:
                self._take(self._receiver, message)

    def _take(self, receiver: Receiver, message: bytes) -> None:
        if self._closed:
            return
        self._taking = True
        try:
            receiver.receive(message)
        except Exception as error:
            # The sender has nothing to do with it.
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a receiver failed", "exception": error}
            )
        finally:
            self._taking = False

    def _disconnect(self) -> None:
        if self._receiver is not None and self._loop is not None and not self._disconnected:
            self._disconnected = True
            self._loop.call_soon(self._receiver.closed, None)


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Two connected ends."""
    one, other = MemoryTransport(), MemoryTransport()
    one.peer, other.peer = other, one
    return one, other
