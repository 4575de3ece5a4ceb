"""Several processes of one server: what they must share to serve a client, and the warnings."""

from __future__ import annotations

import http.client
import json
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from mcp_gen.server.serving.workers import worker_count
from tests.hostile.ending.processes import MCP_GEN, PROGRAM, environment
from tests.support.frames import HANDSHAKE, Speaker
from tests.support.processes.child import WAIT_S, started

SERVER = "from mcp_gen import Server\n"
NOTHING_SHARED = SERVER + "app = Server('many').asgi()\n"
WITH_KEYS = SERVER + "server = Server('many', request_state_keys=['k' * 32])\n"
STORE = (
    "from mcp_gen.core.stores.sessions import MemorySessionStore\n"
    + WITH_KEYS
    + "app = server.asgi(session_store=MemorySessionStore())\n"
)
STATELESS = WITH_KEYS + "app = server.asgi(stateless=True)\n"
STARTED = "Application startup complete"
SESSIONS, KEYS = "workers share no sessions", "workers share no keys"


@pytest.mark.parametrize(
    ("words", "variables", "count"),
    [
        ("uvicorn app:app --workers 2", {}, 2),
        ("/usr/bin/uvicorn --workers=3 app:app", {}, 3),
        ("/lib/uvicorn/__main__.py app:app --workers 4", {}, 4),
        ("gunicorn -w 4 app:app", {}, 4),
        ("gunicorn -w4 app:app", {}, 4),
        ("hypercorn -w 2 app:app", {}, 2),
        ("granian app:app --workers 2", {}, 2),
        ("uvicorn app:app", {"WEB_CONCURRENCY": "2"}, 2),
        ("uvicorn app:app --workers 1", {"WEB_CONCURRENCY": "2"}, 1),
        ("uvicorn app:app", {}, 1),
        ("uvicorn app:app --workers many", {}, 1),
        ("uvicorn --ws wsproto -workers app:app", {}, 1),
        ("server.py --workers 2", {"WEB_CONCURRENCY": "2"}, 1),
        ("", {"WEB_CONCURRENCY": "2"}, 1),
    ],
)
def test_the_workers_of_a_command_line_are_counted(
    words: str, variables: dict[str, str], count: int
) -> None:
    assert worker_count(words.split(), variables) == count


@pytest.mark.parametrize(
    ("code", "workers", "warnings"),
    [
        (NOTHING_SHARED, 2, [SESSIONS, KEYS]),
        (NOTHING_SHARED, 1, []),
        (STORE, 2, []),
        (STATELESS, 2, []),
    ],
    ids=["nothing shared", "one worker", "a store and keys", "stateless with keys"],
)
def test_uvicorn_with_workers_warns_of_what_they_do_not_share(
    code: str, workers: int, warnings: list[str], tmp_path: Path
) -> None:
    (tmp_path / "many.py").write_text(code)
    words = [sys.executable, "-m", "uvicorn", "--app-dir", str(tmp_path), "many:app"]
    with started([*words, "--port", "0", "--workers", str(workers)], env=environment()) as child:
        while child.stderr.count(STARTED) < workers:
            child.says_more()
        found = [one for one in (SESSIONS, KEYS) if child.stderr.count(one) == workers]
        assert found == warnings
        child.signal(signal.SIGTERM)
        child.ended()


def connected(port: int) -> http.client.HTTPConnection:
    """Return a connection to a worker: uvicorn says that it has started before it listens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    until = time.monotonic() + WAIT_S
    while True:
        try:
            connection.connect()
        except ConnectionRefusedError:
            assert time.monotonic() < until
            time.sleep(0.02)  # between two tries of a bounded wait: a port tells nobody
        else:
            return connection


def test_a_session_without_a_store_is_lost_to_the_other_worker() -> None:
    """Show what the warning is about: the reason to keep it."""
    speaker = Speaker(HANDSHAKE)
    name = str(speaker.profile.session_header)
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    words = [sys.executable, "-m", "uvicorn", "--app-dir", str(PROGRAM.parent), "program:app"]
    with started([*words, "--port", "0", "--workers", "2"], env=environment()) as child:
        while child.stderr.count(STARTED) < 2:
            child.says_more()
        (port,) = re.findall(r"http://127\.0\.0\.1:(\d+)", child.stderr)
        statuses = set[int]()
        for _ in range(200):
            connection = connected(int(port))
            connection.request("POST", "/mcp", speaker.initialize(0), headers)
            opened = connection.getresponse()
            json.loads(opened.read())
            id = str(opened.headers[name])
            connection.close()
            # Several: on a busy machine the workers take turns, and one would never be met again.
            for number in range(1, 4):
                ping = speaker.request(number, "ping")
                connection.request("POST", "/mcp", ping, {**headers, name: id})
                statuses.add(connection.getresponse().status)
                connection.close()
            if statuses == {200, 404}:
                break
        assert statuses == {200, 404}
        child.signal(signal.SIGTERM)
        child.ended()


@pytest.mark.parametrize("option", [["--workers", "2"], ["--workers=2"]])
def test_mcp_gen_run_says_what_to_do_for_several_workers(option: list[str]) -> None:
    with started([*MCP_GEN, "run", str(PROGRAM), "--http", *option], env=environment()) as child:
        assert child.ended() == 2
    (line,) = child.stderr.splitlines()
    for word in ("--workers 2", "sessions live in one process", "--stateless"):
        assert word in line
