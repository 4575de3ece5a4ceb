"""Transport to a child process over its stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
from functools import partial
from typing import TYPE_CHECKING, cast

from mcp_gen.core.errors import CommandEnded, TransportError
from mcp_gen.core.redaction import command_secrets, hide, shown_command
from mcp_gen.transports.environment import Environment, command_environment
from mcp_gen.transports.lines import (
    DEFAULT_MAX_MESSAGE_BYTES,
    LINES_AT_ONCE,
    LineReader,
    LineWriter,
    read_less_at_once,
)
from mcp_gen.transports.process_tree import Guard, ProcessTree

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mcp_gen.core.transport.protocols import Receiver

__all__ = ["CommandTransport"]

CLOSE_STDIN_WAIT_S = 2.0
"""Seconds that the child gets to exit after its stdin is closed."""
TERMINATE_WAIT_S = 3.0
"""Seconds that the process group gets to exit after SIGTERM."""
EXIT_STATUS_WAIT_S = 0.5
"""Seconds to wait for the exit status once stdout has ended, and for stderr after the exit."""
NOT_INHERITED = 'its environment was not inherited (`env="inherit"` passes all of it)'
MAX_STDERR_BYTES = 4096
"""Maximum number of bytes kept of the end of a command's stderr."""


STDERR_HOLD_S = 1.0
"""Seconds that stderr waits before the first message: that of a crash goes into its error."""
MAX_HELD_BYTES = 64 * 1024
"""Maximum number of bytes of stderr that wait."""

_log = logging.getLogger("mcp_gen.client")


class CommandTransport:
    """Newline-delimited JSON to and from a child process.

    The child runs in a session and a process group of its own. On close its stdin is closed; after
    2 s all of its processes get SIGTERM, and after 3 more seconds SIGKILL. That is its group, and
    on Linux also what it has started in other sessions, as browsers are, as long as the process
    that started them lives. If this process dies without closing it, a guard ends the group in the
    same way, where there is a `/bin/sh`.

    Args:
        command: The program and its arguments.
        env: Environment variables, in addition to the basic ones of this process (see
            docs/client.md); `"inherit"` passes all variables of this process.
        cwd: The working directory; None for that of this process.
        stderr: File descriptor for the child's stderr. None: it is copied to this process's stderr,
            and its end is kept for `CommandEnded`. Before the first message it is copied up to a
            second late; that of a command that ends then is in the error alone.
        max_message_bytes: Maximum size of a received message, in bytes; larger ones are skipped.
        name: Name of the server that stands before each line of its stderr; None: no name.

    Raises:
        UsageError: `env` is neither a mapping nor `"inherit"`.

    Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Environment = None,
        cwd: str | os.PathLike[str] | None = None,
        stderr: int | None = None,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        name: str | None = None,
    ) -> None:
        self._name = name
        self._command = list(command)
        self._env = command_environment(env)
        self._hint = "" if env == "inherit" else NOT_INHERITED
        self._secrets = command_secrets(self._command, self._env)
        self._cwd = cwd
        self._stderr = stderr
        self._max = max_message_bytes
        self._process: asyncio.SubprocessTransport | None = None
        self._protocol: _ChildProtocol | None = None
        self._writer: LineWriter | None = None
        self._guard: Guard | None = None
        self._tree: ProcessTree | None = None
        """The processes of the child, once its stdin is closed."""

    @property
    def exit_status(self) -> int | None:
        """Exit status of the child, negative for a signal; None if it runs or was not started."""
        return self._protocol.exit_status if self._protocol else None

    @property
    def process_id(self) -> int | None:
        """Process id of the child; None if it is not running."""
        return self._process.get_pid() if self._process else None

    async def start(self, receiver: Receiver) -> None:
        """Start the child process, then start delivering messages.

        Raises:
            TransportError: The command does not exist, may not be run, or has an argument or
                variable that the system does not take.
        """
        loop = asyncio.get_running_loop()
        self._writer = writer = LineWriter(loop)
        # A pipe of our own by default: the end of stderr becomes part of the error message.
        stderr = subprocess.PIPE if self._stderr is None else self._stderr
        self._protocol = protocol = _ChildProtocol(
            receiver, writer, self._max, self._secrets, self._hint, self._name
        )
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
            reason = error.strerror or str(error)
            raise TransportError(
                f"cannot start {shown_command(self._command)}: {reason}"
            ) from error
        except ValueError:
            # Without the cause: it holds the argument or variable.
            self._writer = self._protocol = None
            raise TransportError(
                f"cannot start {shown_command(self._command)}: an argument or an environment "
                "variable holds characters that the system does not take"
            ) from None
        self._process = transport
        if hasattr(os, "killpg"):
            group = transport.get_pid()
            self._guard = guard = Guard(group, CLOSE_STDIN_WAIT_S, TERMINATE_WAIT_S)
            protocol.call_on_exit(partial(_release, guard, ProcessTree(group)))
        writer.attach(cast("asyncio.WriteTransport", transport.get_pipe_transport(0)))
        read_less_at_once(transport.get_pipe_transport(1))

    def send(self, message: bytes) -> None:
        """Queue one message. Messages queued in one turn of the event loop go out in one write."""
        if self._writer:
            self._writer.send(message)

    async def drain(self) -> None:
        """Wait until the child has read enough for more to be sent (back-pressure)."""
        if self._writer:
            await self._writer.drain()

    @property
    def full(self) -> bool:
        """True if the child reads so slowly that notifications should wait."""
        return self._writer is not None and self._writer.full

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when the child has read enough for more to be sent."""
        if self._writer is not None:
            self._writer.call_when_writable(act)

    def pause_reading(self) -> None:
        """Receive no more messages, so that the child has to wait."""
        if self._protocol is not None:
            self._protocol.pause_reading(True)

    def resume_reading(self) -> None:
        """Receive messages again."""
        if self._protocol is not None:
            self._protocol.pause_reading(False)

    def close_stdin(self) -> None:
        """Send what is queued, and close the child's stdin; the child should exit then."""
        process, protocol, writer = self._process, self._protocol, self._writer
        if process is None or protocol is None or writer is None or self._tree is not None:
            return
        protocol.copy_stderr()
        self._tree = ProcessTree(process.get_pid())
        # Before the child may end: what it has started elsewhere is found by it.
        self._tree.look()
        writer.flush()
        stdin = process.get_pipe_transport(0)
        if stdin is not None:
            stdin.close()

    def terminate(self) -> None:
        """Close the child's stdin, and send SIGTERM to all of its processes, without waiting."""
        self.close_stdin()
        if self._tree is not None and self._process is not None:
            # All of them: a wrapper that ends alone leaves behind what it has started.
            self._tree.signal(signal.SIGTERM)

    async def wait_for_exit(self, wait_s: float) -> bool:
        """Wait until the child has exited; return False if it has not.

        Args:
            wait_s: Longest wait, in seconds.
        """
        if self._protocol is not None:
            await self._protocol.wait_for_exit(wait_s)
        return self.exit_status is not None

    async def aclose(self) -> None:
        """End the child and its process group: close stdin, then SIGTERM, then SIGKILL."""
        self.close_stdin()
        process, protocol, tree = self._process, self._protocol, self._tree
        if process is None or protocol is None or tree is None:
            return
        self._process = self._writer = None
        try:
            await protocol.wait_for_exit(CLOSE_STDIN_WAIT_S)
            # A child that has exited may have left other processes behind.
            tree.look()
            if tree.signal(signal.SIGTERM):
                await tree.wait_ended(TERMINATE_WAIT_S)
        finally:
            # Also if these waits are cancelled: no process may outlive its transport.
            tree.signal(signal.SIGKILL)
            if self._guard is not None:
                self._guard.end()
            await protocol.exited.wait()
            if self._stderr is None:
                await protocol.wait_for_stderr()
            process.close()


class _ChildProtocol(asyncio.SubprocessProtocol):
    def __init__(
        self,
        receiver: Receiver,
        writer: LineWriter,
        max_message_bytes: int,
        secrets: Collection[str],
        hint: str,
        name: str | None = None,
    ) -> None:
        self._prefix = b"" if name is None else f"[{name}] ".encode()
        self._stderr_line = b""
        """The beginning of a line of stderr that waits for its end, if lines have a prefix."""
        self._receiver = receiver
        self._writer = writer
        self._lines = LineReader(receiver, max_message_bytes)
        self._secrets = secrets
        self._hint = hint
        """Advice for a command that ends before its first message; empty for none."""
        self._open = True
        self._paused = False
        """True while the receiver wants no messages."""
        self._loop = asyncio.get_running_loop()
        self._process: asyncio.SubprocessTransport | None = None
        self.exited = asyncio.Event()
        self.exit_status: int | None = None
        self._on_exit: Callable[[], None] | None = None
        self._left = b""
        """Bytes of stdout that have arrived and are not read yet; no more are received then."""
        self._stderr_ended = asyncio.Event()
        self._stderr = b""
        """The end of the child's stderr."""
        self._held: bytearray | None = bytearray()
        """Stderr that is not copied yet; None once it is copied at once."""
        self._release_timer: asyncio.TimerHandle | None = None

    def call_on_exit(self, act: Callable[[], None]) -> None:
        """Call a function when the child has exited: now, if it has."""
        self._on_exit = act
        if self.exited.is_set():
            act()

    async def wait_for_exit(self, wait_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self.exited.wait()

    async def wait_for_stderr(self) -> None:
        """Wait until the child's stderr has been copied to its end."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_STATUS_WAIT_S):
                await self._stderr_ended.wait()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            if self._held is not None:
                self._hint = ""
                self.copy_stderr()
            if self._left:
                self._left += data
            elif left := self._lines.feed(data, LINES_AT_ONCE):
                self._read_later(left)
        else:
            self._stderr = (self._stderr + data)[-MAX_STDERR_BYTES:]
            if self._held is None:
                self._copy(data)
            else:
                self._hold(data, self._held)

    def copy_stderr(self) -> None:
        """Copy from now on at once what the child writes to stderr."""
        self._release_held()
        self._held = None

    def _hold(self, data: bytes, held: bytearray) -> None:
        held += data
        if len(held) > MAX_HELD_BYTES:
            self._release_held()
        elif self._release_timer is None:
            self._release_timer = self._loop.call_later(STDERR_HOLD_S, self._release_held)

    def _release_held(self) -> None:
        if self._release_timer is not None:
            self._release_timer.cancel()
            self._release_timer = None
        if self._held:
            self._copy(bytes(self._held))
            self._held.clear()
            if self._stderr_ended.is_set():
                self._end_stderr_line()

    def _copy(self, data: bytes) -> None:
        _copy_to_stderr(self._prefixed(data) if self._prefix else data)

    def _end_stderr_line(self) -> None:
        if self._stderr_line:
            _copy_to_stderr(self._prefixed(b"\n"))

    def _prefixed(self, data: bytes) -> bytes:
        """Return the lines that are complete, each after the name of the server."""
        *lines, self._stderr_line = (self._stderr_line + data).split(b"\n")
        if len(self._stderr_line) > MAX_STDERR_BYTES:
            lines.append(self._stderr_line)
            self._stderr_line = b""
        return b"".join(b"%b%b\n" % (self._prefix, line) for line in lines)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self._writer.connection_lost(exc)
        elif fd == 2:
            self._end_stderr_line()
            self._stderr_ended.set()
        elif fd == 1:
            self._lines.feed(self._left)
            self._left = b""
            self._lines.end()
            # The exit status usually follows and is the better error, so wait for it.
            self._loop.call_later(EXIT_STATUS_WAIT_S, self._disconnect, exc)

    def _read_later(self, left: bytes) -> None:
        """Read lines in the next turns of the event loop; receive no others before."""
        self._left = left
        self._loop.call_soon(self._read_on)
        if stdout := self._open_stdout():
            stdout.pause_reading()

    def _read_on(self) -> None:
        self._left = self._lines.feed(self._left, LINES_AT_ONCE)
        if self._left:
            self._loop.call_soon(self._read_on)
        elif not self._paused and (stdout := self._open_stdout()):
            stdout.resume_reading()

    def pause_reading(self, paused: bool) -> None:
        """Stop reading, or go on."""
        self._paused = paused
        stdout = self._open_stdout()
        if stdout is None or self._left:
            return  # closed, or paused until what has been read is delivered
        if paused:
            stdout.pause_reading()
        else:
            stdout.resume_reading()

    def _open_stdout(self) -> asyncio.ReadTransport | None:
        pipe = self._process.get_pipe_transport(1) if self._process else None
        stdout = cast("asyncio.ReadTransport | None", pipe)
        return None if stdout is None or stdout.is_closing() else stdout

    def pause_writing(self) -> None:
        self._writer.pause_writing()

    def resume_writing(self) -> None:
        self._writer.resume_writing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process = cast("asyncio.SubprocessTransport", transport)

    def process_exited(self) -> None:
        self.exit_status = self._process.get_returncode() if self._process else None
        self.exited.set()
        if self._on_exit is not None:
            self._on_exit()

    def connection_lost(self, exc: Exception | None) -> None:
        status = self._process.get_returncode() if self._process else None
        # An exit status of 0 is an orderly end: no error.
        # Many programs repeat their arguments in their errors.
        stderr = hide(self._stderr.decode("utf-8", "replace"), self._secrets)
        at_start = self._held is not None
        if self._held and status and self._open and exc is None:
            _log.debug("a command ended at its start; its stderr: %s", stderr)
            self._held.clear()
        self._release_held()
        ended = CommandEnded(status, stderr, self._hint, at_start=at_start) if status else None
        self._disconnect(exc or ended)

    def _disconnect(self, error: BaseException | None) -> None:
        if self._open:
            self._open = False
            self._receiver.closed(error)


def _copy_to_stderr(data: bytes) -> None:
    """Write to this process's stderr, if it is open."""
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(2, data) :]


def _release(guard: Guard, tree: ProcessTree) -> None:
    """End the guard of a child that has exited, unless it has left processes in its group."""
    # Not later: the id of an empty group may become that of another one.
    if not tree.signal(0):
        guard.end()
