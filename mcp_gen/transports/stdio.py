"""Transport over this process's stdin and stdout."""

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
    from collections.abc import Callable

    from mcp_gen.core.transport.protocols import Receiver

__all__ = ["StdioTransport"]

LAST_WRITE_WAIT_S = 5.0
"""Seconds that the client gets to read the last messages when the transport closes."""


class StdioTransport:
    """Newline-delimited JSON over stdin and stdout, for a server.

    While it is open, the protocol has private copies of both descriptors. The public stdout points
    to stderr and the public stdin to the null device, so that a stray `print`, a C library or a
    child process cannot corrupt the protocol stream.

    Args:
        max_message_bytes: Maximum size of a received message, in bytes; larger ones are skipped.
    """

    def __init__(self, *, max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES) -> None:
        self._max = max_message_bytes
        self._stdin = -1
        self._stdout = -1
        self._reading: asyncio.ReadTransport | _ThreadReader | None = None
        self._writing: asyncio.WriteTransport | _FileWriter | None = None
        self._writer: LineWriter | None = None
        self._protocol: _ReadProtocol | None = None
        self._paused = self._client_is_slow = False
        self._receiver: Receiver | None = None
        """Receiver of the messages; None once it has heard of the end."""
        self._saved_fds: list[tuple[int, int]] = []

    async def start(self, receiver: Receiver) -> None:
        """Redirect stdin and stdout, then start reading and delivering messages."""
        loop = asyncio.get_running_loop()
        self._stdin = self._redirect(0, os.open(os.devnull, os.O_RDONLY))
        self._stdout = self._redirect(1, _copy_of_stderr())
        # After the redirection: text printed before, still in a buffer, must not reach the client.
        _flush_stdout()
        reconfigure: Any = getattr(sys.stdout, "reconfigure", None)
        if reconfigure:
            reconfigure(line_buffering=True)  # prints are log lines now, to be seen at once
        self._writer = writer = LineWriter(loop)
        self._receiver = receiver
        # A client that can be told nothing has gone, even if its end of stdin is still open.
        writer.on_lost = self._lost
        self._protocol = protocol = _ReadProtocol(receiver, writer, self._max, self._lost)
        self._writing = await self._open_writer(loop, writer)
        writer.attach(self._writing)
        self._reading = await self._open_reader(loop, protocol)
        writer.on_pause = self._on_pause

    def send(self, message: bytes) -> None:
        """Queue one message. Messages queued in one turn of the event loop go out in one write."""
        if self._writer:
            self._writer.send(message)

    def call_after_read(self, act: Callable[[], None]) -> None:
        """Call a function soon: after all messages that were read together have been delivered."""
        if self._protocol is not None and self._protocol.is_reading:
            self._protocol.after_read.append(act)
        else:
            asyncio.get_running_loop().call_soon(act)

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be sent (back-pressure)."""
        if self._writer:
            await self._writer.drain()

    @property
    def full(self) -> bool:
        """True if the client reads so slowly that notifications should wait."""
        return self._writer is not None and self._writer.full

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when the client has read enough for more to be sent."""
        if self._writer is not None:
            self._writer.call_when_writable(act)

    async def aclose(self) -> None:
        """Send the queued messages, then restore stdin and stdout."""
        if self._writer is None:
            return
        writer, self._writer = self._writer, None
        writing = self._writing
        writer.flush()
        if isinstance(writing, asyncio.WriteTransport):
            # With a limit of 0, `drain` waits until the buffer is empty.
            writing.set_write_buffer_limits(high=0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_WRITE_WAIT_S):
                    await writer.drain()
        if self._reading is not None:
            self._reading.close()
        if writing is not None:
            writing.close()
        # The transports close their descriptors in the next turn of the loop.
        await asyncio.sleep(0)
        # Before stdout is restored: buffered prints would go to the client.
        _flush_stdout()
        for public, saved in self._saved_fds:
            os.dup2(saved, public)
            os.set_blocking(public, True)
            os.close(saved)
        self._saved_fds.clear()

    def _redirect(self, public: int, replacement: int) -> int:
        private = os.dup(public)
        self._saved_fds.append((public, os.dup(public)))
        os.dup2(replacement, public)
        os.close(replacement)
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
            return _FileWriter(self._stdout, writer.connection_lost)
        pipe = os.fdopen(self._stdout, "wb", buffering=0)
        transport, _ = await loop.connect_write_pipe(lambda: writer, pipe)
        return transport

    def _lost(self, error: Exception | None) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.closed(error)

    def pause_reading(self) -> None:
        """Receive no more messages, so that the client has to wait."""
        self._paused = True
        self._apply_pause()

    def resume_reading(self) -> None:
        """Receive messages again."""
        self._paused = False
        self._apply_pause()

    def _on_pause(self, paused: bool) -> None:
        """Apply back-pressure: read no requests while the client does not read responses."""
        self._client_is_slow = paused
        self._apply_pause()

    def _apply_pause(self) -> None:
        if isinstance(self._reading, asyncio.ReadTransport) and not self._reading.is_closing():
            if self._paused or self._client_is_slow:
                self._reading.pause_reading()
            else:
                self._reading.resume_reading()


class _ReadProtocol(asyncio.Protocol):
    def __init__(
        self,
        receiver: Receiver,
        writer: LineWriter,
        max_message_bytes: int,
        lost: Callable[[Exception | None], None],
    ) -> None:
        self._writer = writer
        self._lines = LineReader(receiver, max_message_bytes)
        self._lost = lost
        self.is_reading = False
        """True while messages are delivered that were read together."""
        self.after_read: list[Callable[[], None]] = []
        """Functions to be called after these messages."""

    def data_received(self, data: bytes) -> None:
        writer, after_read = self._writer, self.after_read
        self.is_reading = True
        writer.hold()
        try:
            self._lines.feed(data)
            self.is_reading = False
            while after_read:
                after_read.pop(0)()
        finally:
            self.is_reading = False
            # In the same turn: all that is ready goes out in one write.
            writer.flush()

    def eof_received(self) -> bool:
        self._lines.end()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost(exc)


class _ThreadReader:
    """Reads in a thread from a file, or another descriptor that the event loop cannot poll."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, protocol: _ReadProtocol) -> None:
        self._loop = loop
        self._fd = fd
        self._protocol = protocol
        # A daemon thread: a read that never returns must not keep the process alive.
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
            return  # the event loop has been closed

    def _end(self, error: OSError | None) -> None:
        self._protocol.eof_received()
        self._protocol.connection_lost(error)

    def close(self) -> None:
        """Do nothing: closing the descriptor would not interrupt the thread's read."""


class _FileWriter:
    """Writes to a file. A file has no back-pressure.

    Args:
        fd: File descriptor; `close` closes it.
        lost: Called with the error of a write that failed.
    """

    def __init__(self, fd: int, lost: Callable[[Exception | None], None]) -> None:
        self._fd = fd
        self._lost = lost

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            self._lost(error)

    def close(self) -> None:
        os.close(self._fd)


def _flush_stdout() -> None:
    # A closed stdout, or a stderr that nobody reads, must not prevent the transport from closing.
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()


def _copy_of_stderr() -> int:
    try:
        return os.dup(2)
    except OSError:  # the parent process closed stderr
        return os.open(os.devnull, os.O_WRONLY)


def _pollable(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(fd)
