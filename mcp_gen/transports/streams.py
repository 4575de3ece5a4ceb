"""Lines over an asyncio reader and writer: Unix sockets, TCP, and what else looks like them."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES, LineReader, LineWriter

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Receiver

__all__ = ["StreamTransport"]

READ_BYTES = 64 * 1024
LAST_WRITE_WAIT_S = 5.0
"""How long a peer may take to read the last answers."""


class StreamTransport:
    """Messages as lines over a pair of asyncio streams, which it closes at its end.

    A peer that does not read what it is sent gets nothing further taken in. A peer that has shut
    down its sending side still gets the answers that are under way.
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

    async def start(self, receiver: Receiver) -> None:
        """Begin to deliver."""
        loop = asyncio.get_running_loop()
        self._lines = LineWriter(loop)
        self._lines.attach(self._writer)
        self._reading = loop.create_task(self._read(receiver, self._lines))

    def send(self, message: bytes) -> None:
        """Queue one message; all of one turn of the loop goes out in one write."""
        if self._lines:
            self._lines.send(message)

    async def drain(self) -> None:
        """Wait until the peer has read enough."""
        # A peer that is gone reads no more: that is told to the receiver, not to whoever sends.
        with contextlib.suppress(ConnectionError):
            await self._writer.drain()

    async def aclose(self) -> None:
        """Write what is queued, and close both streams."""
        if self._closed:
            return
        self._closed = True
        lines, self._lines = self._lines, None
        if lines is not None:
            lines.flush()
            lines.connection_lost(None)
        # Whatever happens while this waits, the rest is sent, and then both are closed.
        self._writer.close()
        if self._reading is not None:
            self._reading.cancel()
        try:
            async with asyncio.timeout(LAST_WRITE_WAIT_S):
                await self._writer.wait_closed()
        except TimeoutError:
            self._writer.transport.abort()
            await asyncio.sleep(0)  # which it takes to be gone
        except OSError:
            pass  # broken already, which the receiver knows

    async def _read(self, receiver: Receiver, writer: LineWriter) -> None:
        lines = LineReader(receiver, self._max)
        error: OSError | None = None
        try:
            while data := await self._reader.read(READ_BYTES):
                lines.feed(data)
                writer.flush_soon()
                await self.drain()
        except OSError as broken:
            error = broken
        lines.end()
        receiver.closed(error)
