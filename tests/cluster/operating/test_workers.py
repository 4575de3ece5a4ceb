"""`mcp-gen run --workers`: several processes at one port, and their parent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.frames import PER_REQUEST, Speaker
from tests.support.http.asgi import headers_of
from tests.support.processes.child import WAIT_S, Child, started

SPEAKER = Speaker(PER_REQUEST)
CODE = """
import os, sys
from mcp_gen import Server

server = Server("many", request_state_keys=["one for all of them"])

@server.tool
async def pid() -> int:
    return os.getpid()

@server.tool
async def exits(status: int) -> None:
    os._exit(status)
"""
BOTH = ("--stateless", "--workers", "2")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sockets are not handed over there")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "many.py"
    path.write_text(CODE)
    return path


def command(program: Path, *options: str) -> list[str]:
    run = [sys.executable, "-c", "from mcp_gen.cli import main; main()", "run", str(program)]
    return [*run, "--http", "--port", "0", *options]


@dataclass
class Many:
    """Running parent with its workers."""

    child: Child
    url: str

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool over a connection of its own."""
        message = SPEAKER.call(1, tool, **arguments)
        headers = {"content-type": "application/json", "accept": "application/json"}
        with httpx2.Client(trust_env=False, timeout=WAIT_S) as client:
            reply = client.post(
                self.url, content=message, headers={**headers, **headers_of(SPEAKER, message)}
            )
        return json.loads(reply.json()["result"]["content"][0]["text"])

    def workers(self, number: int, *, without: int = 0) -> set[int]:
        """Return the pids of so many workers that have answered."""
        found: set[int] = set()
        deadline = time.monotonic() + WAIT_S
        while len(found) < number:
            assert time.monotonic() < deadline, f"only {found}; {self.child.heard()}"
            found |= {int(self.call("pid"))} - {without}
        return found


@contextmanager
def serving(program: Path, *options: str) -> Iterator[Many]:
    with started(command(program, *options)) as child:
        child.says(")\n")
        found = re.search(r"many: (http://\S+/mcp) \(", child.stderr)
        assert found, child.stderr
        yield Many(child, found[1])


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def end(many: Many) -> None:
    many.child.signal(signal.SIGTERM)
    assert many.child.ended() == 0


def test_several_processes_answer_at_one_port_and_end_with_their_parent(program: Path) -> None:
    with serving(program, *BOTH) as many:
        workers = many.workers(2)
        assert many.child.process.pid not in workers
        end(many)
        assert not any(is_alive(pid) for pid in workers)
        assert many.child.stderr.count("http://") == 1
        assert many.child.stderr.count("\n") == 1


def test_a_worker_that_dies_is_started_anew(program: Path) -> None:
    with serving(program, *BOTH) as many:
        killed, _ = many.workers(2)
        os.kill(killed, signal.SIGKILL)
        many.child.says("ended with SIGKILL; another one starts in 0.1 s")
        assert len(many.workers(2, without=killed)) == 2
        end(many)


def test_a_worker_that_exits_is_told_with_its_status(program: Path) -> None:
    with serving(program, *BOTH) as many:
        with pytest.raises(httpx2.HTTPError):
            many.call("exits", status=7)
        many.child.says("ended with status 7; another one starts in 0.1 s")
        end(many)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP], ids=lambda one: one.name)
def test_other_signals_end_all_processes_too(number: signal.Signals, program: Path) -> None:
    with serving(program, *BOTH) as many:
        workers = many.workers(2)
        many.child.signal(number)
        assert many.child.ended() == 0
        assert not any(is_alive(pid) for pid in workers)


def test_workers_end_when_their_parent_is_killed(program: Path) -> None:
    with serving(program, *BOTH) as many:
        workers = many.workers(2)
        many.child.signal(signal.SIGKILL)
        deadline = time.monotonic() + WAIT_S
        while any(is_alive(pid) for pid in workers):
            assert time.monotonic() < deadline
            time.sleep(0.02)  # nobody waits for processes whose parent is gone; bounded above


def test_a_log_in_json_has_the_address_too(program: Path) -> None:
    with started(command(program, *BOTH, "--log-json")) as child:
        child.says("with 2 workers")
        child.signal(signal.SIGTERM)
        assert child.ended() == 0
    logged = [json.loads(line) for line in child.stderr.splitlines()]
    (told,) = [line for line in logged if "workers" in line["message"]]
    assert re.fullmatch(r"listening at http://\S+/mcp, with 2 workers", told["message"])


# --- what cannot be served ---


def refused(program: Path, *options: str) -> str:
    """Return what a command says that ends by itself."""
    ran = subprocess.run(
        command(program, *options), capture_output=True, text=True, timeout=WAIT_S, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    return ran.stderr


def test_sessions_are_refused_once_with_what_to_add(program: Path) -> None:
    assert refused(program, "--workers", "3") == (
        "mcp-gen run: --workers 3: sessions live in one process, and a client would find its own "
        "in one of them alone: add --cluster redis://..., which shares them, or --stateless, "
        "which serves without sessions\n"
    )


def test_a_server_without_sessions_needs_no_more(program: Path) -> None:
    program.write_text(CODE.replace('"many", ', f'"many", revisions=["{PER_REQUEST}"], '))
    with serving(program, "--workers", "2") as many:
        assert len(many.workers(2)) == 2
        end(many)


def test_code_that_cannot_be_run_is_told_once(program: Path) -> None:
    program.write_text("server = (")
    said = refused(program, *BOTH)
    assert said.startswith("mcp-gen run: ")
    assert "SyntaxError" in said
    assert said.count("\n") == 1


def test_workers_without_keys_of_their_own_are_warned_of_once(program: Path) -> None:
    program.write_text(CODE.replace(', request_state_keys=["one for all of them"]', ""))
    with serving(program, *BOTH) as many:
        many.workers(2)
        end(many)
        assert many.child.stderr.count("2 workers share no keys") == 1
