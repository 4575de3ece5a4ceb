"""Transport over asyncio reader/writer pairs: Unix sockets, TCP."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from mcp_gen.transports.lines import (
    DEFAULT_MAX_MESSAGE_BYTES,
    ENOUGH_BYTES,
    LINES_AT_ONCE,
    LineReader,
    LineWriter,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.transport.protocols import Receiver

__all__ = ["StreamTransport"]

READ_BYTES = 64 * 1024
LAST_WRITE_WAIT_S = 5.0
"""Seconds that the peer gets to read the last messages when the transport closes."""


class StreamTransport:
    """Newline-delimited JSON over a pair of asyncio streams. Closing the transport closes both.

    Back-pressure: while the peer does not read its messages, no further messages are read from it.
    After a half-close (EOF) the peer still receives the responses that are in progress.

    Args:
        reader: The stream to read from.
        writer: The stream to write to.
        max_message_bytes: Maximum size of a received message, in bytes; larger ones are skipped.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._max = max_message_bytes
        self._closed = False
        self._lines: LineWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: asyncio.Task[None] | None = None
        """Task that waits until the peer has read enough."""

    async def start(self, receiver: Receiver) -> None:
        """Start reading and delivering messages."""
        loop = asyncio.get_running_loop()
        self._lines = LineWriter(loop)
        self._lines.attach(self._writer)
        self._reading = loop.create_task(self._read(receiver, self._lines))

    def send(self, message: bytes) -> None:
        """Queue one message. Messages queued in one turn of the event loop go out in one write."""
        if self._lines:
            self._lines.send(message)

    async def drain(self) -> None:
        """Wait until the peer has read enough for more to be sent (back-pressure)."""
        # A lost connection is reported to the receiver, not to the sender.
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    @property
    def full(self) -> bool:
        """True if the peer reads so slowly that notifications should wait."""
        lines = self._lines
        if lines is None:
            return False
        return lines.full or self._writer.transport.get_write_buffer_size() > ENOUGH_BYTES

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when the peer has read enough for more to be sent."""
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = asyncio.get_running_loop().create_task(self._call_when_writable(act))

    async def _call_when_writable(self, act: Callable[[], None]) -> None:
        if self._lines is not None:
            self._lines.flush()
        await self.drain()
        self._waiting = None
        act()

    async def aclose(self) -> None:
        """Send the queued messages, then close both streams."""
        if self._closed:
            return
        self._closed = True
        lines, self._lines = self._lines, None
        if lines is not None:
            lines.flush()
        # asyncio sends what is buffered and then closes, even if the wait below is cancelled.
        self._writer.close()
        for task in (self._reading, self._waiting):
            if task is not None:
                task.cancel()
        closing = asyncio.ensure_future(self._writer.wait_closed())
        try:
            await asyncio.wait([closing], timeout=LAST_WRITE_WAIT_S)
            if not closing.done():
                self._writer.transport.abort()
            # If the connection is lost already, the receiver has been notified.
            with contextlib.suppress(OSError):
                await closing
        finally:
            closing.cancel()

    async def _read(self, receiver: Receiver, writer: LineWriter) -> None:
        lines = LineReader(receiver, self._max)
        error: OSError | None = None
        try:
            while data := await self._reader.read(READ_BYTES):
                while data:
                    data = lines.feed(data, LINES_AT_ONCE)
                    writer.flush_soon()
                    await self.drain()
                    if data:
                        await asyncio.sleep(0)
        except OSError as broken:
            error = broken
        lines.end()
        receiver.closed(error)
