"""Messages as lines: one JSON text, one newline. Shared by everything that is a stream of bytes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Receiver

__all__ = ["DEFAULT_MAX_MESSAGE_BYTES", "LineReader", "LineWriter", "Sink", "read_less_at_once"]

DEFAULT_MAX_MESSAGE_BYTES = 64 * 1024 * 1024


class LineReader:
    """Cuts a stream into lines and hands them on. Memory is bounded by one message."""

    __slots__ = ("_max", "_parts", "_receiver", "_size", "_skipping")

    def __init__(self, receiver: Receiver, max_message_bytes: int) -> None:
        self._receiver = receiver
        self._max = max_message_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> None:
        """Take what the stream brought."""
        first, *others = data.split(b"\n")
        if not others:
            self._hold(first)
            return
        self._hold(first)
        self._flush()
        last = others.pop()
        if len(data) <= self._max:
            # None of these lines can be too long.
            receive = self._receiver.receive
            for line in others:
                if line and not line.isspace():
                    receive(line)
        else:
            for line in others:
                self._deliver(line)
        self._hold(last)

    def end(self) -> None:
        """The stream has ended: a last line without a newline is a message too, or a broken one."""
        if self._parts:
            self._flush()

    def _hold(self, part: bytes) -> None:
        if self._skipping or not part:
            return
        self._size += len(part)
        if self._size > self._max:
            self._skipping = True
            self._parts.clear()
            self._receiver.oversized(self._max)
            return
        self._parts.append(part)

    def _flush(self) -> None:
        line, skipped = b"".join(self._parts), self._skipping
        self._parts.clear()
        self._size, self._skipping = 0, False
        if not skipped:
            self._deliver(line)

    def _deliver(self, line: bytes) -> None:
        if len(line) > self._max:
            self._receiver.oversized(self._max)
        elif line and not line.isspace():
            self._receiver.receive(line)


def read_less_at_once(transport: Any) -> None:
    """Let an asyncio pipe read 64 KiB at a time, what a pipe holds, and not four times that.

    It makes a buffer of the full size for every read. One of 256 KiB malloc often maps afresh from
    the system and gives back at once, which takes longer than answering the message.
    """
    if hasattr(transport, "max_size"):
        transport.max_size = 64 * 1024


class Sink(Protocol):
    """Where lines are written: an asyncio write transport, or what looks like one."""

    def write(self, data: bytes) -> None: ...


class LineWriter(asyncio.BaseProtocol):
    """Writes messages as lines: all that is sent in one turn of the loop goes out in one write.

    It is also the protocol of the write side, so that the transport can tell it to pause.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._sink: Sink | None = None
        self._queued: list[bytes] = []
        self._flushes = False
        self._resumed = asyncio.Event()
        self._resumed.set()
        self.on_pause: Any = None
        """Called with True when the peer reads too slowly, and with False when it has caught up."""

    def attach(self, sink: Sink) -> None:
        """Begin to write, first what was sent before."""
        self._sink = sink
        self.flush()

    def send(self, message: bytes) -> None:
        """Queue one message."""
        self._queued.append(message)
        if not self._flushes:
            self.flush_soon()

    def flush_soon(self) -> None:
        """Write behind what the loop has to do already.

        A reader calls this once its messages are handed on: answers that are ready as soon as the
        tasks which those have started have run go out without another turn of the loop.
        """
        if not self._flushes:
            self._flushes = True
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write what is queued now."""
        self._flushes = False
        if self._queued and self._sink is not None:
            self._queued.append(b"")
            data = b"\n".join(self._queued)
            self._queued.clear()
            self._sink.write(data)

    async def drain(self) -> None:
        """Wait until the peer has caught up."""
        await self._resumed.wait()

    def pause_writing(self) -> None:
        """asyncio: the buffer is full."""
        self._resumed.clear()
        if self.on_pause:
            self.on_pause(True)

    def resume_writing(self) -> None:
        """asyncio: the buffer has drained."""
        self._resumed.set()
        if self.on_pause:
            self.on_pause(False)

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio: nobody reads any more."""
        # Not None: what is sent from now on would be kept for a sink that never comes.
        self._sink = _NullWriter()
        self._resumed.set()


class _NullWriter:
    """Where lines go that nobody reads."""

    def write(self, data: bytes) -> None:
        """Forget it."""
