"""`run` and `run_async`: the start line, a port in use, and servers that do not start."""

from __future__ import annotations

import asyncio
import io
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest

import mcp_wire
from mcp_gen import Client, LifespanError, Server, UsageError
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, every_revision
from tests.support.processes.child import started

WAIT_S = 20.0
Transport = Literal["stdio", "http"]


def color_server(**options: Any) -> Server:
    server = Server("shelf\nof colors", **options)

    @server.tool
    async def color() -> str:
        return "red"

    return server


class Lines(io.StringIO):
    """Text stream that tells of its first line."""

    def __init__(self) -> None:
        super().__init__()
        self.written = asyncio.Event()

    def write(self, text: str) -> int:
        if text.endswith("\n"):
            self.written.set()
        return super().write(text)


@asynccontextmanager
async def running(
    server: Any, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> AsyncIterator[str]:
    """Run a server over HTTP in this loop, and return its start line."""
    lines = Lines()
    monkeypatch.setattr(sys, "stderr", lines)
    serving = asyncio.create_task(server.run_async("http", port=0, **options))
    async with asyncio.timeout(WAIT_S):
        await lines.written.wait()
    yield lines.getvalue()
    serving.cancel()
    await asyncio.wait([serving], timeout=WAIT_S)
    assert serving.cancelled()


# --- in a loop ---


@every_revision
@pytest.mark.parametrize("many", [False, True])
async def test_a_server_runs_over_http_in_a_running_loop_until_it_is_cancelled(
    revision: str, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server.per_connection(color_server) if many else color_server()
    async with running(server, monkeypatch) as line, Client("test") as client:
        session = await client.connect(line.split()[3], revision=revision)
        assert (await session.call_tool("color")).content[0].text == "red"


async def test_the_start_line_has_the_name_the_address_and_the_revisions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = color_server(revisions=mcp_wire.REVISIONS[:2])
    async with running(server, monkeypatch, path="/here") as line:
        words = line.split(" ")
    assert [*words[:3], *words[4:]] == [
        "shelf",
        "of",
        "colors:",
        f"({mcp_wire.REVISIONS[0]},",
        f"{mcp_wire.REVISIONS[1]})\n",
    ]
    assert words[3].startswith("http://127.0.0.1:")
    assert words[3].endswith("/here")


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("many", [False, True])
async def test_run_in_a_running_loop_says_what_to_call(transport: Transport, many: bool) -> None:
    server: Any = Server.per_connection(color_server) if many else color_server()
    with pytest.raises(UsageError, match=r"await server\.run_async\("):
        server.run(transport)


@pytest.mark.parametrize("transport", ["pigeon", ""])
async def test_an_unknown_transport_is_refused_in_a_loop_too(transport: Any) -> None:
    with pytest.raises(UsageError, match="expected 'stdio' or 'http'"):
        await color_server().run_async(transport)


async def test_a_lifespan_that_does_not_start_is_raised_over_http() -> None:
    with pytest.raises(LifespanError, match="did not start: OSError: no database"):
        await Server("life", lifespan=no_database).run_async("http", port=0)


async def test_a_lifespan_that_fails_at_its_end_is_raised_over_http(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        yield
        raise OSError("the database is gone")

    lines = Lines()
    monkeypatch.setattr(sys, "stderr", lines)
    serving = asyncio.create_task(Server("life", lifespan=lifespan).run_async("http", port=0))
    async with asyncio.timeout(WAIT_S):
        await lines.written.wait()
    serving.cancel()
    with pytest.raises(LifespanError, match="the database is gone"):
        await serving


async def test_a_port_in_use_is_said_with_the_next_step() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError) as caught:
            await color_server().run_async("http", port=port)
    assert str(caught.value) == (
        f"port {port} of 127.0.0.1 is in use; end the program that listens there, or take another "
        "port: 0 takes any that is free"
    )


async def test_an_address_of_another_machine_is_said_with_the_next_step() -> None:
    with pytest.raises(UsageError, match=r"cannot listen at 192\.0\.2\.7: .*; 127\.0\.0\.1 is"):
        await color_server().run_async("http", host="192.0.2.7", port=0)


# --- as a process ---

STDIO = """
import asyncio
from mcp_gen import Server

server = Server("shelf")

@server.tool
async def color() -> str:
    return "red"

async def main() -> None:
    await server.run_async()
    print("after it")

asyncio.run(main())
"""


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
def test_a_server_runs_on_stdio_in_a_running_loop_which_goes_on(revision: str) -> None:
    speaker = Speaker(revision)
    with started([sys.executable, "-c", STDIO]) as process:
        process.send(*speaker.opening, speaker.call(1, "color"))
        assert process.answer(1)["result"]["content"][0]["text"] == "red"
        process.close_stdin()
        assert process.ended() == 0
        assert process.stderr == ""


def test_a_signal_ends_a_server_on_stdio_in_a_running_loop_which_goes_on() -> None:
    with started([sys.executable, "-c", STDIO]) as process:
        process.send(Speaker(HANDSHAKE).request(1, "ping"))
        assert process.answer(1)["result"] == {}
        process.signal(signal.SIGTERM)
        assert process.ended() == 0


# --- in memory ---


@asynccontextmanager
async def no_database(server: Server) -> AsyncIterator[None]:
    raise OSError("no database")
    yield


@every_revision
async def test_connect_raises_the_error_of_a_lifespan_that_does_not_start(revision: str) -> None:
    async with Client("test") as client:
        with pytest.raises(LifespanError, match="did not start: OSError: no database") as caught:
            await client.connect(Server("life", lifespan=no_database), revision=revision)
    assert repr(caught.value.__cause__) == "OSError('no database')"


@every_revision
async def test_connect_raises_the_error_of_a_factory(revision: str) -> None:
    def make() -> Server:
        raise KeyError("TOKEN")

    async with Client("test") as client:
        with pytest.raises(KeyError, match="TOKEN"):
            await client.connect(Server.per_connection(make), revision=revision)


async def test_a_lifespan_that_does_not_end_its_start_is_cancelled_with_connect() -> None:
    entered, left = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        yield

    async with Client("test") as client:
        connecting = asyncio.create_task(client.connect(Server("life", lifespan=lifespan)))
        async with asyncio.timeout(WAIT_S):
            await entered.wait()
            connecting.cancel()
            await left.wait()
    assert connecting.cancelled()
