"""Other ends: of a command line, of a manager with many commands, of sockets in a program."""

from __future__ import annotations

import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_gen import ClientManager
from mcp_gen.transports import command
from tests.hostile.ending.processes import MCP_GEN, PROGRAM, environment
from tests.hostile.ending.test_stdio import CUT_OFF, OLD
from tests.support.frames import decoded
from tests.support.processes.child import WAIT_S, Child, started

# --- the command line of a client ---


def test_an_interrupted_call_says_so_in_one_line_and_cancels_it() -> None:
    with calling("wait") as process:
        process.signal(signal.SIGINT)
        assert process.ended() == 130
        # The server had not waited for its grace: it was told of the cancellation.
        assert process.stderr == "waiting\nstopped waiting\nmcp-gen call: interrupted\n"


def test_a_second_interrupt_ends_a_call_that_its_server_does_not_end() -> None:
    with calling("stubborn") as process:
        process.signal(signal.SIGINT)
        process.says("no\n")
        process.signal(signal.SIGINT)
        assert process.ended() == 130
        assert "Traceback" not in process.stderr
        assert process.stderr.endswith("mcp-gen call: interrupted\n")


@contextmanager
def calling(tool: str) -> Iterator[Child]:
    """Run `mcp-gen call` until the tool has begun."""
    says = {"wait": "waiting", "stubborn": "stubborn"}[tool]
    with started([*MCP_GEN, "call", str(PROGRAM), tool], env=environment()) as process:
        process.says(says)
        yield process


# --- a manager with many commands ---

DEAF = """
import json, os, signal, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        result = {
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": {},
            "serverInfo": {"name": "deaf", "version": "1"},
        }
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
    elif "id" in asked:
        error = {"code": -32601, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
while True:
    signal.pause()
"""
"""Server that takes the handshake, and ignores the end of its stdin."""
MANY = 8


async def test_a_manager_ends_its_commands_at_once_not_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "CLOSE_STDIN_WAIT_S", 1.0)
    words = [sys.executable, "-S", "-c", DEAF]
    async with ClientManager(
        {f"deaf{n}": words for n in range(MANY)}, max_commands=MANY
    ) as manager:
        states = {one.state for one in manager.servers().values()}
        assert states == {"connected"}
        began = time.monotonic()
    assert time.monotonic() - began < MANY * command.CLOSE_STDIN_WAIT_S / 2


# --- sockets ---

SERVES_A_SOCKET = """
import asyncio, sys
from contextlib import suppress
from tests.hostile.ending import program

async def main():
    async with program.server.serve_unix(sys.argv[1]):
        program.say("listening")
        await asyncio.Event().wait()

with suppress(KeyboardInterrupt):
    asyncio.run(main())
"""


@contextmanager
def listening(path: Path, **variables: str) -> Iterator[tuple[Child, socket.socket]]:
    words = [sys.executable, "-c", SERVES_A_SOCKET, str(path)]
    with started(words, env=environment(**variables)) as process:
        process.says("listening")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(WAIT_S)
            client.connect(str(path))
            yield process, client


def begin(client: socket.socket, tool: str) -> None:
    lines = (*OLD.opening, OLD.call(1, tool))
    client.sendall(b"".join(line + b"\n" for line in lines))


def rest(client: socket.socket) -> bytes:
    """Return what comes until the server disconnects."""
    came = b""
    while data := client.recv(65536):
        came += data
    return came


def test_a_call_over_a_socket_gets_its_error_when_the_program_is_interrupted(
    tmp_path: Path,
) -> None:
    with listening(tmp_path / "socket", GRACE_S="0.1") as (process, client):
        begin(client, "wait")
        process.says("waiting")
        process.signal(signal.SIGINT)
        answers = {frame["id"]: frame for frame in decoded(rest(client).splitlines())}
        assert answers[1]["error"] == CUT_OFF
        assert process.ended() == 0
        assert process.stderr == "listening\nwaiting\nstopped waiting\n"


def test_a_second_interrupt_ends_a_program_with_sockets_at_once(tmp_path: Path) -> None:
    with listening(tmp_path / "socket") as (process, client):
        begin(client, "wait")
        process.says("waiting")
        process.signal(signal.SIGINT)
        deadline = time.monotonic() + WAIT_S
        while listens(tmp_path / "socket"):
            assert time.monotonic() < deadline, "it still listens"
            time.sleep(0.02)
        process.signal(signal.SIGINT)
        answers = {frame["id"]: frame for frame in decoded(rest(client).splitlines())}
        assert answers[1]["error"] == CUT_OFF
        assert process.ended() == 0
        assert process.stderr == "listening\nwaiting\nstopped waiting\n"


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
