"""Errors name what the user wrote: the target, the URL, the server."""

from __future__ import annotations

import asyncio
import sys
from typing import Any
from unittest.mock import Mock

import pytest

from mcp_gen import Client, ProtocolError, SessionLost, TransportError, UsageError
from mcp_gen.transports import command
from mcp_gen.transports.command import CommandTransport
from tests.support.frames import HANDSHAKE
from tests.support.http.loopback import Got, Line, Script, scripted_web
from tests.support.ports import free_port

WAIT_S = 30.0

WRITES = 'import sys; print("no paper", file=sys.stderr); sys.stderr.write("at all")'


@pytest.mark.parametrize("target", [5, None, object()])
async def test_what_cannot_be_connected_to_is_told_what_can(target: Any) -> None:
    async with Client("test") as client:
        with pytest.raises(
            UsageError, match=r"a URL, .*a command .*, a Server or a transport, got"
        ):
            await client.connect(target)


async def test_the_error_of_a_url_that_nobody_answers_names_it_without_its_secrets() -> None:
    port = free_port()
    async with Client("test") as client:
        with pytest.raises(TransportError) as caught:
            await client.connect(f"http://user:pass-word-1@127.0.0.1:{port}/mcp?key=secret-value")
    assert f"http://127.0.0.1:{port}/mcp?key=***" in str(caught.value)
    assert "secret-value" not in str(caught.value)


async def test_stderr_lines_of_a_command_begin_with_the_name_of_the_server(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with Client("test") as client:
        with pytest.raises(TransportError, match="hung up"):
            await client.connect([sys.executable, "-S", "-c", WRITES], server_name="printer")
    lines = capfd.readouterr().err.splitlines()
    assert set(lines) == {"[printer] no paper", "[printer] at all"}


@pytest.mark.parametrize("revision", [None, HANDSHAKE])
@pytest.mark.parametrize("name", [None, "printer"])
async def test_a_crash_of_a_command_at_its_start_is_told_once_in_the_error(
    name: str | None, revision: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    crash = "import sys; sys.exit('\\n'.join(f'line {n:02}' for n in range(12)))"
    async with Client("test") as client:
        words = [sys.executable, "-S", "-c", crash]
        with pytest.raises(SessionLost) as caught:
            await client.connect(words, revision=revision, server_name=name)
    lines = [line.strip() for line in str(caught.value).splitlines()]
    assert lines[0].endswith("the last lines of its stderr:")
    assert lines[1:11] == [f"line {number:02}" for number in range(2, 12)]
    assert "environment was not inherited" in lines[11]
    assert (len(lines), capfd.readouterr().err) == (12, "")


async def test_stderr_of_a_command_that_sends_no_message_yet_is_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    copied: asyncio.Queue[bytes] = asyncio.Queue()
    monkeypatch.setattr(command, "STDERR_HOLD_S", 0.01)
    monkeypatch.setattr(command, "_copy_to_stderr", copied.put_nowait)
    waits = "import sys; sys.stderr.write('wait\\n'); sys.stdin.readline()"
    transport = CommandTransport([sys.executable, "-S", "-c", waits])
    await transport.start(Mock())
    try:
        assert await asyncio.wait_for(copied.get(), WAIT_S) == b"wait\n"
    finally:
        await transport.aclose()


async def redirected(got: Got, line: Line) -> None:
    await line.answer(307, location="http://other.example/")


async def redirected_nowhere(got: Got, line: Line) -> None:
    await line.answer(307)


async def redirected_as_get(got: Got, line: Line) -> None:
    await line.answer(302, location="/other")


async def redirected_without_end(got: Got, line: Line) -> None:
    await line.answer(307, location="/mcp?key=secret-value")


async def of_another_type(got: Got, line: Line) -> None:
    await line.answer(200, b"hello", "text/html")


async def too_large(got: Got, line: Line) -> None:
    await line.answer(200, b" " * 2_000)


async def too_large_in_an_event(got: Got, line: Line) -> None:
    await line.answer(200, b"data: " + b" " * 2_000, "text/event-stream")


async def refused_over_sse(got: Got, line: Line) -> None:
    if got.method == "GET":
        await line.head(200, "text/event-stream")
        await line.raw(b"event: endpoint\ndata: /post\n\n")
        await line.silence()
    else:
        await line.answer(500 if got.path == "/post" else 405)


@pytest.mark.parametrize(
    "does",
    [
        redirected,
        redirected_nowhere,
        redirected_as_get,
        redirected_without_end,
        of_another_type,
        too_large,
        too_large_in_an_event,
        refused_over_sse,
    ],
)
async def test_every_error_over_http_names_the_url_once_without_its_secrets(does: Script) -> None:
    async with scripted_web(does) as web, Client("test", max_message_bytes=1_000) as client:
        with pytest.raises((TransportError, ProtocolError)) as caught:
            await client.connect(f"{web.url}?key=secret-value", revision=HANDSHAKE)
    text = str(caught.value)
    assert text.startswith(f"{web.url}?key=***: ")
    assert (text.count(web.origin), "secret-value" in text) == (1, False)
