"""Processes left of a command: after its client has closed it, or has died."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_gen.transports import command, process_tree
from mcp_gen.transports.command import CommandTransport
from tests.hostile.ending.processes import environment
from tests.support.loop import until

WAIT_S = 10.0

POLITE = """
import sys
print("ready", flush=True)
sys.stdin.read()
"""
"""Ends with its stdin."""
DEAF = """
import signal
print("ready", flush=True)
while True:
    signal.pause()
"""
"""Ignores the end of its stdin."""
STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    signal.pause()
"""
"""Ignores SIGTERM, too."""
WRAPPER = """
import subprocess, sys
sys.exit(subprocess.call([sys.executable, "-S", "-c", sys.argv[1]]))
"""
"""Runs a server as its child, with its own stdin and stdout, as `uv run` and `npx` do."""
PARENT = """
import subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-S", "-c", sys.argv[1]],
    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=sys.argv[2] == "away",
)
child.stdout.readline()
print("ready", flush=True)
sys.stdin.read()
"""
"""Starts a process beside it, in its own session or another one, and ends with its stdin."""


def python(script: str, *arguments: str) -> list[str]:
    return [sys.executable, "-S", "-c", script, *arguments]


def shell(script: str) -> list[str]:
    # Two commands: a shell would become a single one.
    return ["sh", "-c", '"$0" -S -c "$1"; exit $?', sys.executable, script]


TREES = {
    "a server": python(DEAF),
    "a server that ignores SIGTERM": python(STUBBORN),
    "a server in a shell": shell(DEAF),
    "a server that ignores SIGTERM in a shell": shell(STUBBORN),
    "a server under a wrapper": python(WRAPPER, DEAF),
    "a server with a child": python(PARENT, DEAF, "here"),
    "a server with a child that ignores SIGTERM": python(PARENT, STUBBORN, "here"),
}
AWAY = {
    "a server with a child in another session": python(PARENT, DEAF, "away"),
    "a server with a child in another session that ignores SIGTERM": python(
        PARENT, STUBBORN, "away"
    ),
    "a wrapped server with a child in another session": python(
        WRAPPER, f"import sys; sys.argv[1:] = [{DEAF!r}, 'away']; exec({PARENT!r})"
    ),
}
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only /proc tells of them")


@contextmanager
def watched() -> Iterator[tuple[int, int]]:
    """Return both ends of a pipe that ends when the last process that holds it has ended."""
    ours, theirs = os.pipe()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def all_ended(pipe: int) -> bool:
    """Wait until everybody who held the other end has ended; False if some never do."""
    while select.select([pipe], [], [], WAIT_S)[0]:
        if not os.read(pipe, 65536):
            return True
    return False


class Ready(asyncio.Event):
    """Receiver that waits for the first message."""

    def receive(self, message: bytes) -> None:
        self.set()

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        raise AssertionError

    def closed(self, error: BaseException | None) -> None:
        self.set()


async def started(words: list[str], stderr: int) -> CommandTransport:
    ready, transport = Ready(), CommandTransport(words, stderr=stderr)
    await transport.start(ready)
    await asyncio.wait_for(ready.wait(), WAIT_S)
    return transport


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "CLOSE_STDIN_WAIT_S", 0.2)
    monkeypatch.setattr(command, "TERMINATE_WAIT_S", 0.2)


# --- closing ---


@pytest.mark.parametrize("tree", [*TREES, *(pytest.param(one, marks=on_linux) for one in AWAY)])
async def test_closing_a_command_ends_all_that_it_has_started(tree: str) -> None:
    with watched() as (pipe, theirs):
        transport = await started({**TREES, **AWAY}[tree], theirs)
        os.close(theirs)
        await transport.aclose()
        assert all_ended(pipe)


@on_linux
async def test_a_close_that_is_cancelled_ends_all_that_a_command_has_started() -> None:
    with watched() as (pipe, theirs):
        transport = await started(AWAY["a server with a child in another session"], theirs)
        os.close(theirs)
        closing = asyncio.ensure_future(transport.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        assert all_ended(pipe)


async def test_a_command_that_has_ended_leaves_no_guard() -> None:
    with watched() as (pipe, theirs):
        transport = await started(python("print('ready', flush=True)"), theirs)
        os.close(theirs)
        assert all_ended(pipe)
        assert transport._guard is not None
        assert transport._protocol is not None
        await asyncio.wait_for(transport._protocol.exited.wait(), WAIT_S)
        guard = transport._guard
        await until(lambda: guard._process is None)
        await transport.aclose()


async def test_a_command_that_ends_while_it_is_started_leaves_no_guard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    start = loop.subprocess_exec

    async def start_slowly(*words: Any, **options: Any) -> Any:
        transport, protocol = await start(*words, **options)
        await asyncio.wait_for(protocol.exited.wait(), WAIT_S)
        return transport, protocol

    monkeypatch.setattr(loop, "subprocess_exec", start_slowly)
    with watched() as (_, theirs):
        transport = await started(python("print('ready', flush=True)"), theirs)
        os.close(theirs)
        assert transport._guard is not None
        assert transport._guard._process is None
        await transport.aclose()


async def test_a_guard_that_cannot_be_started_is_no_reason_not_to_start_a_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_gen.transports.process_tree.SHELL", "/no/such/shell")
    with watched() as (pipe, theirs):
        transport = await started(python(POLITE), theirs)
        os.close(theirs)
        await transport.aclose()
        assert all_ended(pipe)


def test_a_thread_that_ends_hides_no_process_that_another_one_has_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lives").mkdir()
    (tmp_path / "lives" / "children").write_text("11 12 ")
    threads = [tmp_path / "ended", tmp_path / "lives"]
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter(threads))
    assert process_tree._children(1) == [11, 12]


def test_a_process_that_has_ended_has_no_children(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(folder: Path) -> None:
        raise FileNotFoundError(folder)

    monkeypatch.setattr(Path, "iterdir", ended)
    assert process_tree._children(1) == []


# --- dying ---

CLIENT = """
import asyncio, signal, sys
from mcp_gen.transports import command
from tests.hostile.ending.test_commands import started

command.CLOSE_STDIN_WAIT_S = command.TERMINATE_WAIT_S = 0.2

async def main():
    transport = await started(sys.argv[1:], 2)
    print("started", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_client_that_dies_leaves_no_server_behind(number: signal.Signals) -> None:
    dies_with("a server that ignores SIGTERM in a shell", number)


@pytest.mark.parametrize("tree", TREES)
def test_a_client_that_is_killed_leaves_nothing_behind_that_its_server_has_started(
    tree: str,
) -> None:
    dies_with(tree, signal.SIGKILL)


def dies_with(tree: str, number: signal.Signals) -> None:
    with watched() as (pipe, theirs):
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, *TREES[tree]],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env=environment(),
        )
        os.close(theirs)
        assert client.stdout is not None
        try:
            assert client.stdout.readline() == b"started\n"
            client.send_signal(number)
            client.wait(WAIT_S)
            assert all_ended(pipe)
        finally:
            client.kill()
            client.wait()
            client.stdout.close()
