"""Command transport: start, failures, and no processes left behind."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from unittest import mock

import pytest

from mcp_gen import Client, SessionLost, TransportError
from mcp_gen.compat.recording import RecordingTransport
from mcp_gen.transports import command
from mcp_gen.transports.command import CommandTransport
from mcp_gen.transports.process_tree import ProcessTree
from tests.support.frames import HANDSHAKE, each_lifecycle, server_violations
from tests.support.requirement import requirement

WAIT_S = 30.0
QUICKSTART = Path(__file__).parents[2] / "examples/quickstart_server.py"

POLITE = """
import sys
print("ready", flush=True)
for line in sys.stdin:
    print("read", line.strip(), file=sys.stderr, flush=True)
print("end of stdin", file=sys.stderr)
"""

ENDS_ON_SIGTERM = """
import signal, sys
def end(*_):
    print("SIGTERM", file=sys.stderr, flush=True)
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    signal.pause()
"""

IGNORES_SIGTERM = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: print("SIGTERM", file=sys.stderr, flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""

HAS_A_CHILD = """
import signal, subprocess, sys
grandchild = subprocess.Popen([sys.executable, "-S", "-c", sys.argv[1]], stdout=subprocess.PIPE)
grandchild.stdout.readline()
print("ready", flush=True)
sys.stdin.read() if sys.argv[2] == "ends" else signal.pause()
"""


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "TERMINATE_WAIT_S", 0.2)
    monkeypatch.setattr(command, "EXIT_STATUS_WAIT_S", 0.2)


def ignoring_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the grace period for a child that does not end with its stdin."""
    monkeypatch.setattr(command, "CLOSE_STDIN_WAIT_S", 0.05)


def python(script: str, *arguments: str) -> list[str]:
    return [sys.executable, "-S", "-c", script, *arguments]


class Started:
    """Started child process, with its output and the stderr of it and its children."""

    def __init__(self, stderr: int) -> None:
        self._stderr = stderr
        self.came: list[bytes] = []
        self.reports: list[int] = []
        self.hung_up = False
        self.error: BaseException | None = None
        self._news = asyncio.Event()

    async def line(self) -> bytes:
        """Return the next line."""
        await self._until(lambda: bool(self.came))
        return self.came.pop(0)

    async def ended(self) -> BaseException | None:
        """Return the error that ended the lines."""
        await self._until(lambda: self.hung_up)
        return self.error

    async def _until(self, happened: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not happened():
                self._news.clear()
                await self._news.wait()

    def log(self) -> str:
        """Return the child's stderr, which ends with the last process that has it open."""
        written = b""
        while select.select([self._stderr], [], [], WAIT_S)[0]:
            data = os.read(self._stderr, 65536)
            if not data:
                return written.decode()
            written += data
        raise AssertionError("somebody lives on, and keeps stderr open")

    def receive(self, message: bytes) -> None:
        self.came.append(message)
        self._news.set()

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        self.reports.append(limit_bytes)
        self._news.set()

    def closed(self, error: BaseException | None) -> None:
        assert not self.hung_up, "told of the end twice"
        self.hung_up, self.error = True, error
        self._news.set()


@asynccontextmanager
async def running(
    words: list[str], *, max_message_bytes: int = 4_000_000
) -> AsyncIterator[tuple[CommandTransport, Started]]:
    """Start a child and wait until it is ready."""
    stderr, theirs = os.pipe()
    transport = CommandTransport(words, stderr=theirs, max_message_bytes=max_message_bytes)
    started = Started(stderr)
    try:
        await transport.start(started)
        os.close(theirs)
        assert await started.line() == b"ready"
        yield transport, started
    finally:
        await transport.aclose()
        os.close(stderr)


def gone(process_id: int | None) -> bool:
    """Return True if the process has ended and was waited for."""
    assert process_id is not None
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return True
    return False


# --- starting ---


async def test_a_stderr_of_the_caller_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "EXIT_STATUS_WAIT_S", 3600)
    async with running([sys.executable, "-c", POLITE]) as (transport, _):
        await asyncio.wait_for(transport.aclose(), WAIT_S)


async def test_a_command_that_does_not_exist_cannot_be_started() -> None:
    transport = CommandTransport(["/no/such/command", "argument"])
    with pytest.raises(
        TransportError, match=r"cannot start `/no/such/command` \(1 argument\): No such"
    ):
        await transport.start(Started(-1))


async def test_a_file_that_is_no_program_cannot_be_started(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("text")
    with pytest.raises(TransportError, match="Permission denied"):
        await CommandTransport([str(script)]).start(Started(-1))


async def test_a_client_is_told_that_its_command_does_not_exist() -> None:
    async with Client("test") as client:
        with pytest.raises(TransportError, match="cannot start `/no/such/command`"):
            await client.connect(["/no/such/command"])


async def test_the_environment_of_a_command_is_the_basic_one_and_what_is_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "kept")
    script = 'import os; print(os.environ["TZ"], os.environ["ADDED"], flush=True)'
    transport, started = CommandTransport(python(script), env={"ADDED": "too"}), Started(-1)
    await transport.start(started)
    assert await started.line() == b"kept too"
    await transport.aclose()


async def test_a_command_runs_in_the_folder_that_is_named(tmp_path: Path) -> None:
    script = "import os; print(os.getcwd(), flush=True)"
    transport, started = CommandTransport(python(script), cwd=tmp_path), Started(-1)
    await transport.start(started)
    # One `stat` of a local folder; no other task needs the loop.
    assert os.path.samefile(await started.line(), tmp_path)  # noqa: ASYNC240
    await transport.aclose()


async def test_the_stderr_of_a_command_is_ours(capfd: pytest.CaptureFixture[str]) -> None:
    transport, started = CommandTransport(python(POLITE)), Started(-1)
    await transport.start(started)
    await started.line()
    await transport.aclose()
    assert capfd.readouterr().err == "end of stdin\n"


# --- conversation ---


async def test_messages_larger_than_a_pipe_go_both_ways() -> None:
    script = "import sys; print('ready', flush=True); sys.stdout.writelines(sys.stdin)"
    large = [bytes([letter]) * 1_000_000 for letter in b"abc"]
    async with running(python(script)) as (transport, started):
        for message in large:
            transport.send(message)
        await transport.drain()
        assert [await started.line() for _ in large] == large


async def test_draining_waits_for_a_command_that_reads_slowly() -> None:
    script = "import sys; print('ready', flush=True); sys.stdout.writelines(sys.stdin)"
    async with running(python(script)) as (transport, started):
        assert transport.process_id is not None
        os.kill(transport.process_id, signal.SIGSTOP)
        transport.send(b"x" * 4_000_000)
        await asyncio.sleep(0)
        draining = asyncio.create_task(transport.drain())
        await asyncio.sleep(0)
        assert not draining.done()
        os.kill(transport.process_id, signal.SIGCONT)
        await asyncio.wait_for(draining, WAIT_S)
        assert await started.line() == b"x" * 4_000_000


async def test_a_message_longer_than_the_limit_is_skipped_and_reported() -> None:
    script = "print('ready'); print('x' * 101); print('good', flush=True)"
    async with running(python(script), max_message_bytes=100) as (_, started):
        assert await started.line() == b"good"
        assert started.reports == [100]


@each_lifecycle
async def test_garbage_before_the_first_message_is_passed_over(revision: str) -> None:
    script = "import runpy, sys; print('Welcome!', flush=True); "
    script += "runpy.run_path(sys.argv[1], run_name='__main__')"
    words = [sys.executable, "-c", script, str(QUICKSTART)]
    async with Client("test") as client:
        session = await client.connect(words, revision=revision)
        result = await session.call_tool("add", {"a": 1, "b": 2})
    assert result.structured_content == {"result": 3} or result.structured_content == 3


@each_lifecycle
async def test_every_frame_of_a_command_is_one_of_its_revision(revision: str) -> None:
    transport = RecordingTransport(CommandTransport([sys.executable, str(QUICKSTART)]))
    async with Client("test") as client:
        session = await client.connect(transport, revision=revision)
        await session.call_tool("add", {"a": 1, "b": 2})
    assert server_violations(revision, transport.frames) == []


# --- commands that exit by themselves ---


async def test_a_command_that_exits_at_once_is_a_lost_session_with_its_exit_status() -> None:
    async with Client("test") as client:
        with pytest.raises(SessionLost, match="exit status 3"):
            await client.connect(python("raise SystemExit(3)"), revision=HANDSHAKE)


async def test_a_command_that_ends_in_order_says_no_exit_status() -> None:
    async with Client("test") as client:
        with pytest.raises(SessionLost, match=r"the server hung up$"):
            await client.connect(python("pass"), revision=HANDSHAKE)


async def test_a_command_that_closes_its_stdout_and_lives_on_has_hung_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ignoring_stdin(monkeypatch)
    script = "import os, signal; print('ready', flush=True); os.close(1); signal.pause()"
    async with running(python(script)) as (_, started):
        assert await started.ended() is None


async def test_a_stdout_that_is_being_closed_is_neither_paused_nor_resumed() -> None:
    # A pipe of asyncio passes over it; one of another event loop may raise an error.
    stdout = mock.Mock()
    stdout.is_closing.return_value = True
    process = mock.Mock()
    process.get_pipe_transport.return_value = stdout
    child = command._ChildProtocol(mock.Mock(), mock.Mock(), 1000, (), "")
    child.connection_made(process)
    child.pause_reading(True)
    child.pause_reading(False)
    assert stdout.method_calls == [mock.call.is_closing()] * 2


async def test_sending_to_a_command_that_has_ended_does_nothing() -> None:
    async with running(python("print('ready', flush=True)")) as (transport, started):
        await started.ended()
        transport.send(b"late")
        await asyncio.wait_for(transport.drain(), WAIT_S)


# --- closing commands ---


@requirement("lifecycle:client:shutdown")
async def test_a_command_that_ends_with_its_stdin_gets_no_signal() -> None:
    async with running(python(POLITE)) as (transport, started):
        await transport.aclose()
        assert started.log() == "end of stdin\n"


async def test_what_was_sent_is_read_before_stdin_ends() -> None:
    async with running(python(POLITE)) as (transport, started):
        transport.send(b"1")
        transport.send(b"2")
        await transport.aclose()
        assert started.log() == "read 1\nread 2\nend of stdin\n"


@requirement("lifecycle:client:shutdown")
async def test_a_command_that_ignores_the_end_of_its_stdin_gets_sigterm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ignoring_stdin(monkeypatch)
    async with running(python(ENDS_ON_SIGTERM)) as (transport, started):
        await transport.aclose()
        assert started.log() == "SIGTERM\n"


@requirement("lifecycle:client:shutdown", "lifecycle:client:shutdown:sigterm")
async def test_a_command_that_ignores_sigterm_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    ignoring_stdin(monkeypatch)
    async with running(python(IGNORES_SIGTERM)) as (transport, started):
        process_id = transport.process_id
        await transport.aclose()
        assert started.log() == "SIGTERM\n"
        assert gone(process_id)


@pytest.mark.parametrize("parent", ["ends", "stays"])
@pytest.mark.parametrize("script", [ENDS_ON_SIGTERM, IGNORES_SIGTERM], ids=["polite", "stubborn"])
async def test_what_a_command_has_started_is_ended_too(
    parent: str, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if parent == "stays":
        ignoring_stdin(monkeypatch)
    async with running(python(HAS_A_CHILD, script, parent)) as (transport, started):
        await transport.aclose()
        assert started.log() == "SIGTERM\n"


async def test_a_cancelled_close_kills() -> None:
    async with running(python(IGNORES_SIGTERM)) as (transport, started):
        closing = asyncio.create_task(transport.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert started.log() == ""


@pytest.mark.parametrize("turns", range(4))
async def test_a_close_that_is_cancelled_as_the_command_ends_is_cancelled(turns: int) -> None:
    async with running(python(IGNORES_SIGTERM)) as (transport, _):
        process, protocol = transport._process, transport._protocol
        assert process is not None
        assert protocol is not None
        closing = asyncio.create_task(transport.aclose())
        await asyncio.sleep(0)
        protocol.exited.set()
        for _turn in range(turns):
            await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        async with asyncio.timeout(WAIT_S):
            while process.get_returncode() is None:  # noqa: ASYNC110  # no event is left to await
                await asyncio.sleep(0)


async def test_a_process_that_has_ended_and_that_nobody_waits_for_is_not_waited_for() -> None:
    # Nobody else takes note of its end: asyncio does not know of it.
    ended = await asyncio.to_thread(subprocess.Popen, python(""), start_new_session=True)
    await asyncio.to_thread(os.waitid, os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    tree = ProcessTree(ended.pid)
    assert tree.signal(0), "it is still there, as an entry in the table of processes"
    async with asyncio.timeout(WAIT_S / 2):
        await tree.wait_ended(WAIT_S)
    assert await asyncio.to_thread(ended.wait) == 0


async def test_terminating_sends_sigterm_to_all_that_a_command_has_started() -> None:
    async with running(python(HAS_A_CHILD, ENDS_ON_SIGTERM, "stays")) as (transport, started):
        transport.terminate()
        assert await transport.wait_for_exit(WAIT_S)
        log = started.log()
    assert log == "SIGTERM\n"


async def test_closing_twice_does_nothing() -> None:
    async with running(python(POLITE)) as (transport, _):
        await transport.aclose()
        await transport.aclose()


async def test_closing_what_was_never_started_does_nothing() -> None:
    await CommandTransport(["/no/such/command"]).aclose()


async def test_a_closed_command_has_no_process_id() -> None:
    async with running(python(POLITE)) as (transport, _):
        process_id = transport.process_id
        await transport.aclose()
        assert gone(process_id)
        assert transport.process_id is None
