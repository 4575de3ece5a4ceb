"""Tap of a command: passes stdin and stdout on, byte by byte, and records the lines."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from types import FrameType

    from mcp_gen.compat.frame_check import Sender
    from mcp_gen.compat.recordings.writer import RecordingWriter

__all__ = ["tap_command"]

CHUNK_BYTES = 65_536
QUEUED_CHUNKS = 1024
"""Number of chunks that wait for being recorded; then what passes waits, too."""
LAST_OUTPUT_S = 2.0
"""Seconds in which the output of a command is passed on once it has exited."""
FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT")
FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
"""Signals that a terminal sends to the command as well."""


class _Chunk(NamedTuple):
    sender: Sender
    data: bytes
    at_s: float


def tap_command(
    command: Sequence[str], writer: RecordingWriter, *, client_in: int = 0, client_out: int = 1
) -> int:
    """Run a command between this process's client and itself, and record what passes.

    Signals of this process go to the command. Its stderr is that of this process.

    Args:
        command: The program and its arguments.
        writer: Takes what passes.
        client_in: File descriptor that the client writes to.
        client_out: File descriptor that the client reads from.

    Returns:
        The exit code of the command; 128 and the number of the signal that ended it.

    Raises:
        UsageError: the program cannot be started.
    """
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
    except OSError as error:
        raise UsageError(f"{command[0]!r} cannot be started: {error.strerror}") from None
    assert process.stdin is not None
    assert process.stdout is not None
    forward_signals(process)
    lines = _PassedLines(writer)
    server_in, server_out = process.stdin.fileno(), process.stdout.fileno()
    # Daemons: the client may keep its end open after the command has exited.
    _pump("client", client_in, server_in, process.stdin.close, lines)
    from_server = _pump("server", server_out, client_out, process.stdout.close, lines)
    status = process.wait()
    from_server.join(LAST_OUTPUT_S)
    lines.end()
    writer.closed("server", f"exit status {status}")
    return status if status >= 0 else 128 - status


def _pump(
    sender: Sender, source: int, target: int, close: Callable[[], None], lines: _PassedLines
) -> threading.Thread:
    def run() -> None:
        with suppress(OSError):
            while data := os.read(source, CHUNK_BYTES):
                # Before it is passed on: the answer to it is recorded after it.
                lines.put(_Chunk(sender, data, monotonic()))
                while data:
                    data = data[os.write(target, data) :]
        lines.put(_Chunk(sender, b"", monotonic()))
        with suppress(OSError):
            close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def forward_signals(process: subprocess.Popen[bytes]) -> None:
    """Send the signals that this process gets to another one instead; in its main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        return
    in_terminal = sys.stdin is not None and sys.stdin.isatty()

    def forward(number: int, frame: FrameType | None) -> None:
        if not (in_terminal and number in FROM_TERMINAL):
            with suppress(ProcessLookupError):
                process.send_signal(number)

    for name in FORWARDED:
        # Not every system has each of them.
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), forward)


class _PassedLines:
    """Cuts what passes into lines, and records them in a thread of its own."""

    def __init__(self, writer: RecordingWriter) -> None:
        self._writer = writer
        self._queue: queue.Queue[_Chunk | None] = queue.Queue(QUEUED_CHUNKS)
        self._open: dict[Sender, _OpenLine] = {"client": _OpenLine(), "server": _OpenLine()}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def put(self, chunk: _Chunk) -> None:
        """Take the next bytes of one side; none at its end."""
        self._queue.put(chunk)

    def end(self) -> None:
        """Record what has been put, and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (chunk := self._queue.get()) is not None:
            line = self._open[chunk.sender]
            if not chunk.data:
                self._flush(chunk, line)
                if chunk.sender == "client":
                    self._writer.closed("client", "stdin was closed", chunk.at_s)
                continue
            *ends, rest = chunk.data.split(b"\n")
            for part in ends:
                line.add(part, self._writer.max_message_bytes)
                self._flush(chunk, line)
            line.add(rest, self._writer.max_message_bytes)

    def _flush(self, chunk: _Chunk, line: _OpenLine) -> None:
        data, size_bytes = bytes(line.kept), line.size_bytes
        line.kept.clear()
        line.size_bytes = 0
        if data and not data.isspace():
            self._writer.message(chunk.sender, data, size_bytes=size_bytes, at_s=chunk.at_s)


class _OpenLine:
    """A line whose end has not come yet."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.size_bytes = 0

    def add(self, part: bytes, most_bytes: int) -> None:
        """Add bytes; beyond the limit, only their number."""
        self.size_bytes += len(part)
        self.kept += part[: max(0, most_bytes - len(self.kept))]
