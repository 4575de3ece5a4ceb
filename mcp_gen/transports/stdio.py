"""This process's own stdin and stdout, kept for the protocol alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
import threading
from typing import TYPE_CHECKING, Any

from mcp_gen.transports.lines import (
    DEFAULT_MAX_MESSAGE_BYTES,
    LineReader,
    LineWriter,
    read_less_at_once,
)

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Receiver

__all__ = ["StdioTransport"]

LAST_WRITE_WAIT_S = 5.0
"""How long a client may take to read the last answers."""


class StdioTransport:
    """Lines on stdin and stdout.

    The protocol gets private copies of both; the public ones are pointed at stderr and at nothing,
    so that a stray `print`, a C library or a child process cannot break the stream.
    """

    def __init__(self, *, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES) -> None:
        self._max = max_message_bytes
        self._stdin = -1
        self._stdout = -1
        self._reading: asyncio.ReadTransport | _ThreadReader | None = None
        self._writing: asyncio.WriteTransport | _FileWriter | None = None
        self._writer: LineWriter | None = None
        self._restore: list[tuple[int, int]] = []

    async def start(self, receiver: Receiver) -> None:
        """Take over stdin and stdout, and begin to deliver."""
        loop = asyncio.get_running_loop()
        self._stdin = self._take(0, os.open(os.devnull, os.O_RDONLY))
        self._stdout = self._take(1, _copy_of_stderr())
        # Only now: what was printed before, and waits in a buffer, is none of the client's either.
        _flush_prints()
        reconfigure: Any = getattr(sys.stdout, "reconfigure", None)
        if reconfigure:
            reconfigure(line_buffering=True)  # a log is read while it is written
        self._writer = writer = LineWriter(loop)
        protocol = _ReadProtocol(receiver, writer, self._max)
        self._writing = await self._open_writer(loop, writer)
        writer.attach(self._writing)
        self._reading = await self._open_reader(loop, protocol)
        writer.on_pause = self._hold

    def send(self, message: bytes) -> None:
        """Queue one message; all of one turn of the loop goes out in one write."""
        if self._writer:
            self._writer.send(message)

    async def drain(self) -> None:
        """Wait until the peer has read enough."""
        if self._writer:
            await self._writer.drain()

    async def aclose(self) -> None:
        """Write what is queued, and give stdin and stdout back."""
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        writing = self._writing
        writer.flush()
        if isinstance(writing, asyncio.WriteTransport):
            # From here on "full" means "not empty", so draining is waiting for the last byte.
            writing.set_write_buffer_limits(high=0)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(writer.drain(), LAST_WRITE_WAIT_S)
        if self._reading is not None:
            self._reading.close()
        if writing is not None:
            writing.close()
        # The transports close their descriptors in the next turn of the loop.
        await asyncio.sleep(0)
        # Before stdout is given back: a print that waits in a buffer would go to the client.
        _flush_prints()
        for public, saved in self._restore:
            os.dup2(saved, public)
            os.set_blocking(public, True)
            os.close(saved)
        self._restore.clear()

    def _take(self, public: int, instead: int) -> int:
        private = os.dup(public)
        self._restore.append((public, os.dup(public)))
        os.dup2(instead, public)
        os.close(instead)
        return private

    async def _open_reader(
        self, loop: asyncio.AbstractEventLoop, protocol: _ReadProtocol
    ) -> asyncio.ReadTransport | _ThreadReader:
        if not _pollable(self._stdin):
            return _ThreadReader(loop, self._stdin, protocol)
        pipe = os.fdopen(self._stdin, "rb", buffering=0)
        transport, _ = await loop.connect_read_pipe(lambda: protocol, pipe)
        read_less_at_once(transport)
        return transport

    async def _open_writer(
        self, loop: asyncio.AbstractEventLoop, writer: LineWriter
    ) -> asyncio.WriteTransport | _FileWriter:
        if not _pollable(self._stdout):
            return _FileWriter(self._stdout)
        pipe = os.fdopen(self._stdout, "wb", buffering=0)
        transport, _ = await loop.connect_write_pipe(lambda: writer, pipe)
        return transport

    def _hold(self, paused: bool) -> None:
        """A client that does not read its answers gets no further requests taken in."""
        if isinstance(self._reading, asyncio.ReadTransport) and not self._reading.is_closing():
            if paused:
                self._reading.pause_reading()
            else:
                self._reading.resume_reading()


class _ReadProtocol(asyncio.Protocol):
    def __init__(self, receiver: Receiver, writer: LineWriter, max_message_bytes: int) -> None:
        self._receiver = receiver
        self._writer = writer
        self._lines = LineReader(receiver, max_message_bytes)

    def data_received(self, data: bytes) -> None:
        self._lines.feed(data)
        self._writer.flush_soon()

    def eof_received(self) -> bool:
        self._lines.end()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._receiver.closed(exc)


class _ThreadReader:
    """Reads a file, or whatever else the event loop cannot wait on, in a thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, protocol: _ReadProtocol) -> None:
        self._loop = loop
        self._fd = fd
        self._protocol = protocol
        # A daemon: a read that never returns must not keep the process alive.
        threading.Thread(target=self._read, name="mcp-gen-stdin", daemon=True).start()

    def _read(self) -> None:
        error: OSError | None = None
        try:
            while data := os.read(self._fd, 65536):
                self._loop.call_soon_threadsafe(self._protocol.data_received, data)
        except OSError as broken:
            error = broken
        try:
            self._loop.call_soon_threadsafe(self._end, error)
        except RuntimeError:
            return  # the loop has ended before the file

    def _end(self, error: OSError | None) -> None:
        self._protocol.eof_received()
        self._protocol.connection_lost(error)

    def close(self) -> None:
        """Leave the thread to its read: closing the descriptor under it would not wake it."""


class _FileWriter:
    """Writes to a file, which never makes a writer wait for a reader."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    def close(self) -> None:
        os.close(self._fd)


def _flush_prints() -> None:
    # A stdout that is closed, or a stderr that nobody reads, keeps no session from its end.
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()


def _copy_of_stderr() -> int:
    try:
        return os.dup(2)
    except OSError:  # closed by whoever started us
        return os.open(os.devnull, os.O_WRONLY)


def _pollable(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)
