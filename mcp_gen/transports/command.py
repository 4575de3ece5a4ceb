"""A server that is a command: started as a child process, spoken to over its stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING, cast

from mcp_gen.core.errors import CommandEnded, TransportError
from mcp_gen.transports.lines import (
    DEFAULT_MAX_MESSAGE_BYTES,
    LineReader,
    LineWriter,
    read_less_at_once,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_gen.core.transport.protocols import Receiver

__all__ = ["CommandTransport"]

CLOSE_STDIN_WAIT_S = 2.0
TERMINATE_WAIT_S = 3.0
EXIT_STATUS_WAIT_S = 0.5
GROUP_POLL_S = 0.02
MAX_STDERR_BYTES = 4096
"""How much of what a command wrote to its stderr is kept."""


class CommandTransport:
    """Lines to and from a child process. Its stderr goes to ours, or to the descriptor `stderr`.

    Without a descriptor of its own the end of what it wrote there is kept, for who asks why it
    ended.

    Ending follows https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown:
    close its stdin, wait 2 s, SIGTERM, wait 3 s, SIGKILL; signals go to its whole process group.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stderr: int | None = None,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
    ) -> None:
        self._command = list(command)
        self._env = {**os.environ, **env} if env is not None else None
        self._cwd = cwd
        self._stderr = stderr
        self._max = max_message_bytes
        self._process: asyncio.SubprocessTransport | None = None
        self._protocol: _ChildProtocol | None = None
        self._writer: LineWriter | None = None

    @property
    def process_id(self) -> int | None:
        """The child's process id, once it has been started."""
        return self._process.get_pid() if self._process else None

    async def start(self, receiver: Receiver) -> None:
        """Start the command, and begin to deliver.

        Raises:
            TransportError: there is no such command, or it may not be run.
        """
        loop = asyncio.get_running_loop()
        self._writer = writer = LineWriter(loop)
        # Through a pipe of ours, if nobody wants another: its last words are told.
        stderr = subprocess.PIPE if self._stderr is None else self._stderr
        self._protocol = protocol = _ChildProtocol(receiver, writer, self._max)
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: protocol,
                *self._command,
                stderr=stderr,
                env=self._env,
                cwd=self._cwd,
                start_new_session=True,
            )
        except OSError as error:
            self._writer = self._protocol = None
            why = error.strerror or str(error)
            raise TransportError(f"cannot start `{' '.join(self._command)}`: {why}") from error
        self._process = transport
        writer.attach(cast("asyncio.WriteTransport", transport.get_pipe_transport(0)))
        read_less_at_once(transport.get_pipe_transport(1))

    def send(self, message: bytes) -> None:
        """Queue one message; all of one turn of the loop goes out in one write."""
        if self._writer:
            self._writer.send(message)

    async def drain(self) -> None:
        """Wait until the child has read enough."""
        if self._writer:
            await self._writer.drain()

    async def aclose(self) -> None:
        """End the child and what it has started, politely first."""
        process, protocol, writer = self._process, self._protocol, self._writer
        if process is None or protocol is None or writer is None:
            return
        self._process = self._writer = None
        writer.flush()
        stdin = process.get_pipe_transport(0)
        if stdin is not None:
            stdin.close()
        group = process.get_pid()
        try:
            await protocol.exited_within(CLOSE_STDIN_WAIT_S)
            # A child that has ended by itself may have left others in its group.
            if _signal_group(group, signal.SIGTERM):
                await _gone_within(group, TERMINATE_WAIT_S)
        finally:
            # Also when these waits are cancelled: nothing outlives its transport.
            _signal_group(group, signal.SIGKILL)
            await protocol.exited.wait()
            if self._stderr is None:
                await protocol.last_words()
            process.close()


class _ChildProtocol(asyncio.SubprocessProtocol):
    def __init__(self, receiver: Receiver, writer: LineWriter, max_message_bytes: int) -> None:
        self._receiver = receiver
        self._writer = writer
        self._lines = LineReader(receiver, max_message_bytes)
        self._open = True
        self._loop = asyncio.get_running_loop()
        self._process: asyncio.SubprocessTransport | None = None
        self.exited = asyncio.Event()
        self._stderr_ended = asyncio.Event()
        self._stderr = b""
        """The end of what the child wrote there."""

    async def exited_within(self, wait_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.exited.wait(), wait_s)

    async def last_words(self) -> None:
        """Wait until what the child wrote to its stderr has been handed on."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stderr_ended.wait(), EXIT_STATUS_WAIT_S)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._lines.feed(data)
        else:
            self._stderr = (self._stderr + data)[-MAX_STDERR_BYTES:]
            _hand_on(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self._writer.connection_lost(exc)
        elif fd == 2:
            self._stderr_ended.set()
        elif fd == 1:
            self._lines.end()
            # Its exit status follows, and says more than the end of a pipe does.
            self._loop.call_later(EXIT_STATUS_WAIT_S, self._hang_up, exc)

    def pause_writing(self) -> None:
        self._writer.pause_writing()

    def resume_writing(self) -> None:
        self._writer.resume_writing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process = cast("asyncio.SubprocessTransport", transport)

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        status = self._process.get_returncode() if self._process else None
        # One that ends in order has no more to say than that it did.
        said = self._stderr.decode("utf-8", "replace")
        self._hang_up(exc or (CommandEnded(status, said) if status else None))

    def _hang_up(self, error: BaseException | None) -> None:
        if self._open:
            self._open = False
            self._receiver.closed(error)


def _hand_on(data: bytes) -> None:
    """Write to our own stderr, if there is one."""
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(2, data) :]


def _signal_group(group: int, number: int) -> bool:
    """Signal the child and what it has started, which is in its group; False if nobody is left."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS may not signal those that have ended
        return False
    return True


async def _gone_within(group: int, wait_s: float) -> None:
    """Wait until nobody is left in the group, which no event tells of."""
    for _ in range(int(wait_s / GROUP_POLL_S)):
        if not _signal_group(group, 0):
            return
        await asyncio.sleep(GROUP_POLL_S)
