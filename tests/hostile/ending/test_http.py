"""The end of a server over HTTP, as a process: by signals, in each way to run it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.ending.processes import MCP_GEN, PROGRAM, environment
from tests.hostile.ending.test_http_requests import CUT_OFF
from tests.support.frames import PER_REQUEST, STREAMABLE, Speaker
from tests.support.http.asgi import events_of, headers_of
from tests.support.ports import free_port
from tests.support.processes.child import WAIT_S, Child, started

NEW = Speaker(PER_REQUEST)
SHORT = "0.2"
"""Grace in seconds, for calls that outlast it."""

OWN = {
    "server.run": [sys.executable, str(PROGRAM), "http"],
    "mcp-gen run": [*MCP_GEN, "run", str(PROGRAM), "--http", "--port", "0"],
}
UVICORN = [
    *(sys.executable, "-m", "uvicorn", "--app-dir", str(PROGRAM.parent), "program:app"),
    *("--port", "0", "--timeout-graceful-shutdown", "1"),
]

each_signal = pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name
)


@dataclass
class Served:
    """Running server, and the responses that are still open."""

    child: Child
    port: int
    open: list[http.client.HTTPConnection] = field(default_factory=list)

    def post(self, speaker: Speaker, message: bytes, **headers: str) -> http.client.HTTPConnection:
        """Send a POST, whose response is not waited for."""
        sent = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **headers_of(speaker, message),
            **headers,
        }
        return self._send("POST", message, sent)

    def get(self, session: dict[str, str]) -> http.client.HTTPConnection:
        """Open the stream for messages that belong to no request."""
        return self._send("GET", b"", {"accept": "text/event-stream", **session})

    def begin(self, speaker: Speaker) -> dict[str, str]:
        """Open a session; return its headers."""
        name = speaker.profile.session_header
        if name is None:
            return {}
        response = self.post(speaker, speaker.initialize(0)).getresponse()
        response.read()
        return {name: str(response.headers[name])}

    def _send(
        self, method: str, body: bytes, headers: dict[str, str]
    ) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        connection.request(method, "/mcp", body, headers)
        self.open.append(connection)
        return connection


@contextmanager
def serving(words: list[str], **variables: str) -> Iterator[Served]:
    with started(words, env=environment(**variables)) as child:
        child.says("http://")
        child.says("\n")
        found = re.findall(r"http://127\.0\.0\.1:(\d+)", child.stderr)
        served = Served(child, int(found[0]))
        child.stderr = ""
        try:
            yield served
        finally:
            for one in served.open:
                one.close()


def frames(connection: http.client.HTTPConnection) -> list[Any]:
    """Return the messages of a response, once it has ended."""
    response = connection.getresponse()
    body = response.read()
    if response.headers["content-type"] == "text/event-stream":
        return [event.json for event in events_of(body) if event.data]
    return [json.loads(body)]


def ends_well(served: Served, number: signal.Signals) -> None:
    """Send a signal while all that can be open is open, and check what each client gets."""
    speakers = [Speaker(revision) for revision in STREAMABLE]
    sessions = [served.begin(speaker) for speaker in speakers]
    calls = [
        served.post(speaker, speaker.call(1, "wait"), **session)
        for speaker, session in zip(speakers, sessions, strict=True)
    ]
    streamed = served.post(NEW, NEW.call(2, "wait"), accept="text/event-stream")
    wanted = {"notifications": {"toolsListChanged": True}}
    listening = served.post(NEW, NEW.request(3, "subscriptions/listen", wanted))
    standing = served.get(next(session for session in sessions if session))
    served.child.says("waiting\n" * (len(calls) + 1))
    first = listening.getresponse()
    assert b"acknowledged" in first.readline() + first.readline()
    stream = standing.getresponse()
    served.child.signal(number)
    assert [frames(call) for call in calls] == [
        [{"jsonrpc": "2.0", "id": 1, "error": CUT_OFF}]
    ] * len(calls)
    assert frames(streamed) == [{"jsonrpc": "2.0", "id": 2, "error": CUT_OFF}]
    assert b'"resultType":"complete"' in first.read()
    assert stream.read() is not None


@each_signal
def test_each_open_request_gets_its_end_when_a_signal_comes(number: signal.Signals) -> None:
    with serving(OWN["server.run"], GRACE_S=SHORT) as served:
        ends_well(served, number)
        assert served.child.ended() == 0
        assert "Traceback" not in served.child.stderr
        assert "destroyed" not in served.child.stderr


def test_mcp_gen_run_ends_in_the_same_way() -> None:
    with serving([*OWN["mcp-gen run"], "--drain", SHORT], GRACE_S=SHORT) as served:
        ends_well(served, signal.SIGINT)
        assert served.child.ended() == 0
        assert "Traceback" not in served.child.stderr


def test_uvicorn_as_its_users_start_it_gives_each_open_request_its_end() -> None:
    with serving(UVICORN, GRACE_S=SHORT) as served:
        ends_well(served, signal.SIGTERM)
        assert served.child.ended() == -signal.SIGTERM
        assert "Traceback" not in served.child.stderr


def test_a_call_that_ends_within_the_grace_is_answered() -> None:
    with serving(OWN["server.run"]) as served:
        call = served.post(NEW, NEW.call(1, "hold"))
        served.child.says("holding")
        served.child.signal(signal.SIGINT)
        served.child.signal(signal.SIGUSR1)
        assert frames(call)[0]["result"]["content"][0]["text"] == "released"
        assert served.child.ended() == 0
        assert served.child.stderr == "holding\n"


@each_signal
@pytest.mark.parametrize("tool", ["stubborn", "work", "wait"])
def test_a_second_signal_ends_the_process_at_once(tool: str, number: signal.Signals) -> None:
    with serving(OWN["server.run"]) as served:
        served.post(NEW, NEW.call(1, tool))
        served.child.says("\n")
        served.child.signal(signal.SIGINT)
        # No new session is opened once the first has been heard.
        deadline = time.monotonic() + WAIT_S
        while opens_sessions(served):
            assert time.monotonic() < deadline, "it goes on"
            time.sleep(0.02)
        served.child.signal(number)
        assert served.child.ended() == -number
        assert "Traceback" not in served.child.stderr


def opens_sessions(served: Served) -> bool:
    old = Speaker(STREAMABLE[0])
    response = served.post(old, old.initialize(0)).getresponse()
    response.read()
    return response.status == 200


def refuses(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    try:
        connection.connect()
    except ConnectionError:
        return True
    finally:
        connection.close()
    return False


def test_a_second_signal_ends_a_process_whose_lifespan_hangs() -> None:
    with serving(OWN["server.run"], ON_EXIT="hang") as served:
        served.post(NEW, NEW.call(1, "echo", text="a")).getresponse().read()
        served.child.signal(signal.SIGTERM)
        served.child.says("hangs at its end")
        served.child.signal(signal.SIGTERM)
        assert served.child.ended() == -signal.SIGTERM


@pytest.mark.parametrize("tool", ["leave", "leave_thread"])
@pytest.mark.parametrize("revision", [STREAMABLE[0], STREAMABLE[-1]])
def test_a_tool_that_exits_fails_alone(tool: str, revision: str) -> None:
    speaker = Speaker(revision)
    with serving(OWN["server.run"]) as served:
        session = served.begin(speaker)
        assert frames(served.post(speaker, speaker.call(1, tool), **session))[0]["result"][
            "isError"
        ]
        assert (
            "result"
            in frames(served.post(speaker, speaker.call(2, "echo", text="a"), **session))[0]
        )


@pytest.mark.parametrize("revision", [STREAMABLE[0], STREAMABLE[-1]])
def test_an_interrupt_in_a_tool_ends_the_process_in_good_order(revision: str) -> None:
    speaker = Speaker(revision)
    with serving(OWN["server.run"], GRACE_S=SHORT) as served:
        session = served.begin(speaker)
        other = served.post(speaker, speaker.call(1, "wait"), **session)
        served.child.says("waiting")
        one = served.post(speaker, speaker.call(2, "interrupt"), **session)
        assert frames(one) == [{"jsonrpc": "2.0", "id": 2, "error": CUT_OFF}]
        assert frames(other) == [{"jsonrpc": "2.0", "id": 1, "error": CUT_OFF}]
        assert served.child.ended() == 0
        assert "Traceback" not in served.child.stderr


def test_a_lifespan_that_fails_at_its_end_is_an_error_in_one_line() -> None:
    with serving(OWN["mcp-gen run"], ON_EXIT="fail") as served:
        served.post(NEW, NEW.call(1, "echo", text="a")).getresponse().read()
        served.child.signal(signal.SIGTERM)
        assert served.child.ended() == 2
        assert "its lifespan failed: OSError: no database to close" in served.child.stderr
        assert "Traceback" not in served.child.stderr


# --- a reload ---


@contextmanager
def reloading(folder: Path) -> Iterator[tuple[Served, Path]]:
    """Run a copy of the program that is started again when it changes."""
    path = folder / "program.py"
    path.write_text(PROGRAM.read_text())
    port = str(free_port())
    with serving([*MCP_GEN, "run", str(path), "--http", "--reload", "--port", port]) as served:
        deadline = time.monotonic() + WAIT_S
        while refuses(served.port):
            assert time.monotonic() < deadline, "it does not listen"
            time.sleep(0.05)
        yield served, path


def test_a_call_that_outlasts_a_reload_gets_an_error(tmp_path: Path) -> None:
    with reloading(tmp_path) as (served, path):
        call = served.post(NEW, NEW.call(1, "wait"))
        served.child.says("waiting")
        path.write_text(PROGRAM.read_text() + "# changed\n")
        assert frames(call) == [{"jsonrpc": "2.0", "id": 1, "error": CUT_OFF}]
        served.child.signal(signal.SIGTERM)
        served.child.ended()
        assert "Traceback" not in served.child.stderr


def test_a_second_signal_ends_a_reloading_server_at_once(tmp_path: Path) -> None:
    with reloading(tmp_path) as (served, _):
        served.post(NEW, NEW.call(1, "stubborn"))
        served.child.says("stubborn")
        # The second of them follows at once, so that nothing else can end it.
        served.child.signal(signal.SIGINT)
        served.child.signal(signal.SIGTERM)
        assert served.child.ended() in (-signal.SIGINT, -signal.SIGTERM)
        assert "Traceback" not in served.child.stderr
