"""Taps: what passes stays as it is, and its end is that of the command."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_gen.compat.plugin.listening import listening
from mcp_gen.compat.recordings.lines import RecordedLine, read_recording
from mcp_gen.compat.recordings.taps.command import tap_command
from mcp_gen.compat.recordings.taps.http import tap_url
from mcp_gen.core.errors import UsageError
from mcp_gen.transports.http_client.pool import Pool
from tests.compat.recordings.talking import WAIT_S, writer_of

MCP_GEN = (sys.executable, "-c", "from mcp_gen.cli import main; main()")
CAT = """
import os, sys
while data := os.read(0, 65536):
    os.write(1, data)
os.write(2, b"last words\\n")
sys.exit(7)
"""
SIGNALLED = """
import os, signal, sys
def ended(number, frame):
    os.write(1, b"got %d\\n" % number)
    os._exit(9)
signal.signal(signal.SIGTERM, ended)
os.write(1, b"ready\\n")
while True:
    signal.pause()
"""
PYTHON = (sys.executable, "-S", "-c")


def tapped(path: Path, code: str, sent: bytes, **limits: int) -> tuple[int, bytes]:
    """Run a program behind a tap; return its exit code, and what it said."""
    writer = writer_of(path, "stdio", **limits)
    our_in, client_out = os.pipe()
    client_in, our_out = os.pipe()

    async def run() -> tuple[int, bytes]:
        tap = asyncio.to_thread(
            tap_command, [*PYTHON, code], writer, client_in=client_in, client_out=client_out
        )
        tapping = asyncio.create_task(tap)
        writing = asyncio.create_task(asyncio.to_thread(write, our_out, sent))
        reading = asyncio.create_task(asyncio.to_thread(read, our_in))
        await writing
        status = await tapping
        os.close(client_out)
        return status, await reading

    try:
        return asyncio.run(run())
    finally:
        writer.aclose()
        for one in (our_in, client_in):
            os.close(one)


def write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
    os.close(fd)


def read(fd: int) -> bytes:
    found = b""
    while data := os.read(fd, 65536):
        found += data
    return found


def messages(path: Path, sender: str = "client") -> list[RecordedLine]:
    lines = read_recording(path).lines
    return [line for line in lines if line.kind == "message" and line.sender == sender]


def test_every_byte_passes_and_the_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    sent = b'{"a": 1}\r\n\n  \nno JSON\xff\n' + b"\0" * 300_000 + b"\n" + b'{"last": "no end"}'
    assert tapped(path, CAT, sent) == (7, sent)
    for sender in ("client", "server"):
        first, text, large, last = messages(path, sender)
        assert (first.message, text.text, last.message) == (
            {"a": 1},
            "no JSON\\xff",
            {"last": "no end"},
        )
        assert (large.size_bytes, len(large.text)) == (300_000, 1024)
    ends = [(one.sender, one.about) for one in read_recording(path).lines if one.kind == "closed"]
    assert ends == [("client", "stdin was closed"), ("server", "exit status 7")]


def test_a_recording_ends_at_its_limit_and_the_tap_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    sent = b'{"a": 1}\n' * 500
    assert tapped(path, CAT, sent, max_bytes=5000) == (7, sent)
    assert path.stat().st_size <= 5000 + 200
    recording = read_recording(path)
    assert recording.is_cut
    assert 10 < len(recording.lines) < 100


def test_a_program_that_there_is_not_is_said_in_one_line(tmp_path: Path) -> None:
    writer = writer_of(tmp_path / "talk.jsonl", "stdio")
    with pytest.raises(UsageError, match="'no-such-program' cannot be started: No such file"):
        tap_command(["no-such-program"], writer)
    writer.aclose()


def test_signals_go_to_the_command_and_stderr_is_its_own(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text("an earlier one")
    command = [*MCP_GEN, "record", "-o", str(path), *PYTHON, SIGNALLED]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as tap:
        assert tap.stdout is not None
        assert tap.stderr is not None
        assert tap.stdout.readline() == b"ready\n"
        tap.send_signal(signal.SIGTERM)
        assert tap.stdout.readline() == b"got %d\n" % signal.SIGTERM
        assert tap.wait(WAIT_S) == 9
        assert tap.stderr.read() == b""
    assert path.read_text() == "an earlier one"
    made = path.with_stem("talk-2")
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert [line.text for line in messages(made, "server")] == ["ready", "got 15"]


# --- HTTP ---


async def slow_app(scope: Any, receive: Any, send: Any) -> None:
    """Send an event, and the next one only when the test has seen the first."""
    if scope["type"] != "http":
        return
    state = scope["app_state"]
    state["host"] = dict(scope["headers"])[b"host"]
    await receive()
    headers = [
        (b"content-type", b"text/event-stream"),
        (b"set-cookie", b"a=1"),
        (b"set-cookie", b"b=2"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b'data: {"a":1}\n\n', "more_body": True})
    await state["seen"].wait()
    await send({"type": "http.response.body", "body": b'data: {"a":2}\n\n', "more_body": True})
    state["gone"] = await receive()
    state["left"].set()


def test_events_pass_as_they_come_and_a_client_that_goes_ends_the_stream(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    writer = writer_of(path, "http")
    state: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await slow_app({**scope, "app_state": state}, receive, send)

    async def run() -> tuple[Any, list[bytes]]:
        state["seen"], state["left"] = asyncio.Event(), asyncio.Event()
        pool = Pool(WAIT_S)
        async with listening(app) as url, tap_url(url, writer) as (own, _):
            async with asyncio.timeout(WAIT_S):
                response = await pool.send("GET", own, [(b"accept", b"text/event-stream")], None)
                chunks = response.chunks()
                came = [await anext(chunks)]
                state["seen"].set()
                came.append(await anext(chunks))
                await chunks.aclose()
                await response.aclose()
                await pool.aclose()
                await state["left"].wait()
            assert state["host"].decode() in url, "the server gets its own name"
        return response.lines, came

    lines, came = asyncio.run(run())
    writer.aclose()
    assert came == [b'data: {"a":1}\n\n', b'data: {"a":2}\n\n']
    assert [value for name, value in lines if name == b"set-cookie"] == [b"a=1", b"b=2"]
    assert state["gone"]["type"] == "http.disconnect"
    ended = read_recording(path).lines[-1]
    assert (ended.kind, ended.sender, ended.about) == (
        "ended",
        "client",
        "the client disconnected",
    )


@pytest.mark.parametrize(
    ("header", "status"),
    [((b"origin", b"http://evil.example"), 403), ((b"x-nothing", b"1"), 502)],
)
def test_a_page_of_another_site_is_refused_and_a_server_that_is_gone_is_said(
    header: tuple[bytes, bytes], status: int, tmp_path: Path
) -> None:
    writer = writer_of(tmp_path / "talk.jsonl", "http")

    async def run() -> int:
        pool = Pool(WAIT_S)
        async with tap_url("http://127.0.0.1:9/mcp", writer) as (own, _):
            response = await pool.send("POST", own, [header], b"{}")
            await response.aclose()
            await pool.aclose()
        return response.status

    assert asyncio.run(run()) == status
    writer.aclose()


async def test_a_tap_over_http_takes_signals_as_soon_as_its_url_is_told(tmp_path: Path) -> None:
    writer = writer_of(tmp_path / "talk.jsonl", "http")
    before = signal.getsignal(signal.SIGINT)
    async with tap_url("http://127.0.0.1:9/mcp", writer, has_signals=True):
        assert signal.getsignal(signal.SIGINT) is not before
    writer.aclose()
    assert signal.getsignal(signal.SIGINT) is before
