"""Transport wrapper that records every frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_gen.core.transport.protocols import Paced

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.compat.frame_check import Sender
    from mcp_gen.core.transport.protocols import Duplex, Receiver

__all__ = ["Frame", "RecordingTransport"]


class Frame(NamedTuple):
    """One message and its sender."""

    sender: Sender
    data: bytes


class RecordingTransport:
    """Wraps a duplex transport, and records its messages in `frames`.

    Args:
        inner: The transport.
        side: The side that sends through it; messages that it receives are from the other side.
    """

    def __init__(self, inner: Duplex, side: Sender = "client") -> None:
        self._inner = inner
        self._side: Sender = side
        self._receiver: Receiver  # set before the inner transport begins to deliver
        self.frames: list[Frame] = []

    async def start(self, receiver: Receiver) -> None:
        """Start the inner transport with this wrapper as its receiver."""
        self._receiver = receiver
        await self._inner.start(self)

    def send(self, message: bytes) -> None:
        """Record and send a message."""
        self.frames.append(Frame(self._side, message))
        self._inner.send(message)

    async def drain(self) -> None:
        """Wait for the inner transport (back-pressure)."""
        await self._inner.drain()

    @property
    def full(self) -> bool:
        """True if notifications should wait; see `Paced`."""
        return isinstance(self._inner, Paced) and self._inner.full

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when more can be sent; see `Paced`."""
        if isinstance(self._inner, Paced):
            self._inner.call_when_writable(act)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()

    def receive(self, message: bytes) -> None:
        """Record a message, and pass it to the receiver."""
        self.frames.append(Frame("server" if self._side == "client" else "client", message))
        self._receiver.receive(message)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> bool | None:
        """Pass the event to the receiver."""
        return self._receiver.oversized(limit_bytes, beginning, end)

    def closed(self, error: BaseException | None) -> None:
        """Pass the event to the receiver."""
        self._receiver.closed(error)
