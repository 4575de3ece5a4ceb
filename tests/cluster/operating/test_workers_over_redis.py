"""`mcp-gen run --cluster`: workers that share sessions over Redis."""

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
from pathlib import Path

import httpx2
import pytest

from tests.cluster.operating.test_workers import command
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import headers_of
from tests.support.ports import free_port
from tests.support.processes.child import WAIT_S, Child, started
from tests.support.processes.redis_server import RedisServer

OLD, NEW = Speaker(HANDSHAKE), Speaker(PER_REQUEST)
CODE = """
import os
from mcp_gen import Context, Server

server = Server("many")

@server.tool
async def count(ctx: Context) -> list[int]:
    if ctx.session is None:
        return [0, os.getpid()]
    ctx.session.state["calls"] = ctx.session.state.get("calls", 0) + 1
    return [ctx.session.state["calls"], os.getpid()]
"""
ACCEPT = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
SECRET = "pa55word"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sockets are not handed over there")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "many.py"
    path.write_text(CODE)
    return path


@contextmanager
def serving(program: Path, address: str, *options: str) -> Iterator[tuple[Child, str]]:
    """Run a server whose address of Redis is in its environment; return its own URL."""
    environment = {**os.environ, "MCP_GEN_CLUSTER": address}
    with started(command(program, "--health", *options), env=environment) as child:
        child.says("http://")
        child.says("\n")
        found = re.search(r"(http://\S+)/mcp", child.stderr)
        assert found, child.stderr
        yield child, found[1]


@contextmanager
def connection(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url, trust_env=False, timeout=WAIT_S, headers=ACCEPT) as client:
        yield client


def opened(url: str) -> dict[str, str]:
    """Open a session; return its header."""
    with connection(url) as client:
        reply = client.post("/mcp", content=OLD.initialize(0))
        session = {"mcp-session-id": reply.headers["mcp-session-id"]}
        assert client.post("/mcp", content=OLD.initialized, headers=session).status_code == 202
    return session


def count(url: str, session: dict[str, str]) -> tuple[int, int]:
    """Call the tool in a session, over a connection of its own."""
    with connection(url) as client:
        reply = client.post("/mcp", content=OLD.call(1, "count"), headers=session)
    assert reply.status_code == 200, reply.text
    if reply.headers["content-type"] == "text/event-stream":
        data = [line[6:] for line in reply.text.splitlines() if line.startswith("data: {")]
        message = json.loads(data[-1])
    else:
        message = reply.json()
    calls, pid = message["result"]["structuredContent"]["result"]
    return int(calls), int(pid)


def state(url: str) -> str:
    with connection(url) as client:
        found: str = client.get("/readyz").json()["status"]
    return found


def test_each_worker_answers_the_calls_of_one_session(
    program: Path, own_redis: RedisServer
) -> None:
    with serving(program, own_redis.url, "--workers", "2") as (child, url):
        session, workers, calls = opened(url), set[int](), 0
        deadline = time.monotonic() + WAIT_S
        while len(workers) < 2 or calls < 5:
            assert time.monotonic() < deadline, f"only {workers}; {child.heard()}"
            counted, pid = count(url, session)
            calls += 1
            assert counted == calls
            workers.add(pid)
        child.signal(signal.SIGTERM)
        assert child.ended() == 0
        assert child.stderr.count("\n") == 1


def test_a_session_outlives_the_worker_that_began_it(program: Path, own_redis: RedisServer) -> None:
    with serving(program, own_redis.url, "--workers", "2") as (child, url):
        session = opened(url)
        calls, pid = count(url, session)
        os.kill(pid, signal.SIGKILL)
        child.says("ended with SIGKILL")
        after, other = count(url, session)
        assert (calls, after) == (1, 2)
        assert other != pid
        child.signal(signal.SIGTERM)
        assert child.ended() == 0


def test_no_process_shows_the_password_and_no_line_either(
    program: Path, own_redis: RedisServer
) -> None:
    own_redis.run("ACL", "SETUSER", "shop", "on", f">{SECRET}", "~*", "&*", "+@all")
    address = own_redis.url.replace("redis://", f"redis://shop:{SECRET}@")
    with serving(program, address, "--workers", "2", "--log-json") as (child, url):
        _, pid = count(url, opened(url))
        if sys.platform == "linux":
            shown = Path(f"/proc/{pid}/cmdline").read_bytes()
            shown += Path(f"/proc/{child.process.pid}/cmdline").read_bytes()
            assert SECRET.encode() not in shown
        own_redis.run("ACL", "DELUSER", "shop")
        child.signal(signal.SIGTERM)
        child.ended()
        assert SECRET not in child.stderr


@pytest.mark.parametrize("workers", [[], ["--workers", "3"]], ids=["one process", "workers"])
def test_a_redis_that_cannot_be_reached_is_told_once_at_the_start(
    workers: list[str], program: Path
) -> None:
    address = f"redis://:{SECRET}@127.0.0.1:{free_port()}/0"
    ran = subprocess.run(
        command(program, "--cluster", address, *workers),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("mcp-gen run: ")
    assert address.rpartition("@")[2].partition("/")[0] in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert SECRET not in ran.stderr


def test_a_server_is_not_ready_while_redis_is_away_and_answers_what_needs_nothing_of_it(
    program: Path, own_redis: RedisServer
) -> None:
    with serving(program, own_redis.url) as (child, url):
        session = opened(url)
        assert state(url) == "ready"
        own_redis.stop(signal.SIGKILL)
        deadline = time.monotonic() + WAIT_S
        while state(url) != "store down":
            assert time.monotonic() < deadline
            time.sleep(0.02)  # until the connection is found broken; bounded above
        with connection(url) as client:
            message = NEW.call(1, "count")
            assert client.post("/mcp", content=message, headers=headers_of(NEW, message)).json()[
                "result"
            ]
            refused = client.post("/mcp", content=OLD.call(1, "count"), headers=session)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        own_redis.start()
        deadline = time.monotonic() + WAIT_S
        while state(url) != "ready":
            assert time.monotonic() < deadline
            time.sleep(0.02)  # until it has connected again; bounded above
        child.signal(signal.SIGTERM)
        assert child.ended() == 0
