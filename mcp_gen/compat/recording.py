"""A transport that remembers every frame, for checking and for looking at."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mcp_gen.compat.frame_check import Sender
    from mcp_gen.core.transport.protocols import Duplex, Receiver

__all__ = ["Frame", "RecordingTransport"]


class Frame(NamedTuple):
    """One message, and who sent it."""

    sender: Sender
    data: bytes


class RecordingTransport:
    """Wraps the transport of one side, and keeps what it sends and receives in `frames`."""

    def __init__(self, inner: Duplex, side: Sender = "client") -> None:
        self._inner = inner
        self._side: Sender = side
        self._receiver: Receiver | None = None
        self.frames: list[Frame] = []

    async def start(self, receiver: Receiver) -> None:
        """Start the inner transport, and listen in."""
        self._receiver = receiver
        await self._inner.start(self)

    def send(self, message: bytes) -> None:
        """Send, and remember."""
        self.frames.append(Frame(self._side, message))
        self._inner.send(message)

    async def drain(self) -> None:
        """Wait for the inner transport."""
        await self._inner.drain()

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()

    def receive(self, message: bytes) -> None:
        """Remember, and hand on."""
        self.frames.append(Frame("server" if self._side == "client" else "client", message))
        if self._receiver:
            self._receiver.receive(message)

    def oversized(self, limit_bytes: int) -> None:
        """Hand on."""
        if self._receiver:
            self._receiver.oversized(limit_bytes)

    def closed(self, error: BaseException | None) -> None:
        """Hand on."""
        if self._receiver:
            self._receiver.closed(error)
