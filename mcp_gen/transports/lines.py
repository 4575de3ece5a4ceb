"""Newline-delimited JSON framing, shared by all byte stream transports."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.transport.protocols import Receiver

__all__ = [
    "DEFAULT_MAX_MESSAGE_BYTES",
    "EXCERPT_BYTES",
    "LINES_AT_ONCE",
    "LineReader",
    "LineWriter",
    "Sink",
    "read_less_at_once",
]

DEFAULT_MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Default of the maximum size of a received message: 64 MiB."""

LINES_AT_ONCE = 100
"""Lines of one peer that are read in one turn of the event loop, so that others have theirs.

They take less than a millisecond or two, even if each of them is a message, or refused as none.
"""

EXCERPT_BYTES = 1024
"""Bytes of the beginning, and of the end, of an oversized message: the id is mostly in one."""
ENOUGH_BYTES = 64 * 1024
"""Bytes of queued messages above which notifications wait: the capacity of a pipe."""


class LineReader:
    """Splits a byte stream into lines and delivers them. Its memory use is bounded by one message.

    Args:
        receiver: Receives the messages. Blank lines are skipped.
        max_message_bytes: Maximum size of a message, in bytes; larger ones are skipped and
            reported.
    """

    __slots__ = ("_line", "_max", "_receiver", "_skipping", "_wants_end")

    def __init__(self, receiver: Receiver, max_message_bytes: int) -> None:
        self._receiver = receiver
        self._max = max_message_bytes
        # One buffer instead of a list of parts: a peer may send one byte per part.
        self._line = bytearray()
        self._skipping = False
        self._wants_end: bool | None = False
        """True if the receiver waits for the end of the message that is skipped."""

    def feed(self, data: bytes, most_lines: int = -1) -> bytes:
        """Process the next bytes of the stream.

        Args:
            data: The bytes.
            most_lines: The most lines to process; -1 for all.

        Returns:
            The bytes that are left, to be fed next; empty if all were processed.
        """
        *lines, rest = data.split(b"\n", most_lines)
        left = b""
        if len(lines) == most_lines:
            left, rest = rest, b""
        if lines and (self._line or self._skipping):
            # The first line began in an earlier chunk.
            self._buffer(lines.pop(0))
            self._flush()
        if len(data) <= self._max:
            # The whole chunk is within the limit, so each line is.
            receive = self._receiver.receive
            for line in lines:
                if line and not line.isspace():
                    receive(line)
        else:
            for line in lines:
                self._deliver(line)
        if rest:
            self._buffer(rest)
        return left

    def end(self) -> None:
        """Handle the end of the stream: a last line without a newline is delivered too."""
        if self._line or self._skipping:
            self._flush()

    def _buffer(self, part: bytes) -> None:
        line = self._line
        if not self._skipping and len(line) + len(part) > self._max:
            self._skipping = True
            beginning = (line[:EXCERPT_BYTES] + part[:EXCERPT_BYTES])[:EXCERPT_BYTES]
            self._wants_end = self._receiver.oversized(self._max, bytes(beginning))
        if not self._skipping:
            line += part
        elif self._wants_end:
            line += part[-EXCERPT_BYTES:]
            del line[:-EXCERPT_BYTES]
        else:
            line.clear()

    def _flush(self) -> None:
        line, skipped, wants_end = bytes(self._line), self._skipping, self._wants_end
        self._line.clear()
        self._skipping = self._wants_end = False
        if not skipped:
            self._deliver(line)
        elif wants_end:
            self._receiver.oversized(self._max, b"", line)

    def _deliver(self, line: bytes) -> None:
        if len(line) > self._max:
            self._receiver.oversized(self._max, line[:EXCERPT_BYTES], line[-EXCERPT_BYTES:])
        elif line and not line.isspace():
            self._receiver.receive(line)


def read_less_at_once(transport: Any) -> None:
    """Limit the reads of an asyncio pipe transport to 64 KiB, the capacity of a pipe.

    asyncio allocates a buffer of the full size, 256 KiB, for each read. malloc often maps and
    unmaps memory of that size at each allocation, which takes longer than answering the message.
    """
    if hasattr(transport, "max_size"):
        transport.max_size = 64 * 1024


class Sink(Protocol):
    """Destination of written lines: an asyncio write transport, or an object like one."""

    def write(self, data: bytes) -> None: ...


class LineWriter(asyncio.BaseProtocol):
    """Writes messages as lines. Messages sent in one turn of the event loop go out in one write.

    It is also the asyncio protocol of the write side, so that the transport can pause it
    (back-pressure).

    Args:
        loop: The event loop.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._sink: Sink | None = None
        self._queued: list[bytes] = []
        self._queued_bytes = 0
        self._flush_scheduled = False
        self._when_writable: Callable[[], None] | None = None
        self._resumed = asyncio.Event()
        self._resumed.set()
        self.on_pause: Any = None
        """Called with True when the peer reads too slowly, and with False when it has caught up."""
        self.on_lost: Callable[[Exception | None], None] | None = None
        """Called when nothing more can be written; None as long as nobody needs to know."""

    def attach(self, sink: Sink) -> None:
        """Start writing to a sink, beginning with the messages queued so far."""
        self._sink = sink
        self.flush()

    def send(self, message: bytes) -> None:
        """Queue one message."""
        self._queued.append(message)
        self._queued_bytes += len(message)
        if not self._flush_scheduled:
            self.flush_soon()

    def flush_soon(self) -> None:
        """Schedule a write after the callbacks that the event loop has already queued.

        A reader calls this after it has delivered its messages. Responses that are ready as soon as
        the tasks started for these messages have run are then written in the same turn of the event
        loop.
        """
        if not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self.flush)

    def hold(self) -> None:
        """Schedule no write for the messages sent from now on: `flush` will be called."""
        self._flush_scheduled = True

    def flush(self) -> None:
        """Write all queued messages now."""
        self._flush_scheduled = False
        if self._queued and self._sink is not None:
            self._queued.append(b"")
            data = b"\n".join(self._queued)
            self._queued.clear()
            self._queued_bytes = 0
            self._sink.write(data)
            if self._when_writable is not None:
                self._tell_writable()

    @property
    def full(self) -> bool:
        """True if the peer reads so slowly that notifications should wait."""
        return self._queued_bytes > ENOUGH_BYTES or not self._resumed.is_set()

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when the peer has caught up."""
        self._when_writable = act

    def _tell_writable(self) -> None:
        if self._resumed.is_set():
            act, self._when_writable = self._when_writable, None
            if act is not None:
                act()

    async def drain(self) -> None:
        """Wait until the peer has caught up (back-pressure)."""
        if self._queued_bytes > ENOUGH_BYTES:
            # A sender that waits after each message would else fill the queue in one turn.
            self.flush()
        await self._resumed.wait()

    def pause_writing(self) -> None:
        """Pause: asyncio's write buffer is full."""
        self._resumed.clear()
        if self.on_pause:
            self.on_pause(True)

    def resume_writing(self) -> None:
        """Resume: asyncio's write buffer has drained."""
        self._resumed.set()
        if self.on_pause:
            self.on_pause(False)
        if self._when_writable is not None:
            self._tell_writable()

    def connection_lost(self, exc: Exception | None) -> None:
        """Discard all further messages: the connection is lost."""
        # Not None: messages would be queued for a sink that is never attached.
        self._sink = _NullWriter()
        self._resumed.set()
        self._when_writable = None
        if self.on_lost is not None:
            self.on_lost(exc)


class _NullWriter:
    """Sink that discards all lines."""

    def write(self, data: bytes) -> None:
        """Discard the line."""
