"""Servers in a running loop, in a process of their own, and one per connection."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, Server, UsageError
from mcp_gen.compat.recording import RecordingTransport
from mcp_gen.transports.memory import memory_pair
from tests.support.frames import (
    ALL,
    HANDSHAKE,
    PER_REQUEST,
    Speaker,
    each_lifecycle,
    with_handshake,
    with_sessions,
)
from tests.support.http import asgi
from tests.support.peers.raw import WAIT_S, RawClient, talking
from tests.support.processes.child import running

OLD, NEW = Speaker(HANDSHAKE), Speaker(PER_REQUEST)


async def soon(event: asyncio.Event) -> None:
    await asyncio.wait_for(event.wait(), WAIT_S)


class Counting(Server):
    """Server that counts its calls, and can be held."""

    def __init__(self) -> None:
        super().__init__("counting")
        self.calls = 0
        self.goes_on = asyncio.Event()

        @self.tool
        async def count() -> int:
            self.calls += 1
            return self.calls

        @self.tool
        async def held() -> str:
            await self.goes_on.wait()
            return "done"


@asynccontextmanager
async def raw_client(revision: str) -> AsyncIterator[tuple[RawClient, Any]]:
    """Return a raw client, and the transport for a server to serve it over."""
    ours, theirs = memory_pair()
    client = RawClient(RecordingTransport(ours), Speaker(revision))
    await client.transport.start(client)
    yield client, theirs
    await client.transport.aclose()


def number(answer: Any) -> int:
    return int(answer["result"]["content"][0]["text"])


# --- connect ---


@each_lifecycle
async def test_a_connection_is_served_while_its_block_lasts(revision: str) -> None:
    server = Counting()
    async with raw_client(revision) as (client, transport):
        async with server.connect(transport):
            client.send(*client.speaker.opening)
            assert number(await client.ask(client.speaker.call(1, "count"))) == 1
        await until(lambda: client.hung_up)
    assert server.sessions() == []


async def until(true: Any) -> None:
    """Let the loop run until the condition is true."""
    for _ in range(20):
        if true():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never was so")


@with_handshake
async def test_a_connection_gives_the_session_of_its_client(revision: str) -> None:
    server = Counting()
    async with raw_client(revision) as (client, transport), server.connect(transport) as session:
        assert (session.revision, session.client_info) == (None, None)
        client.send(*client.speaker.opening)
        await client.answer(0)
        assert session.revision == revision
        assert session.client_info.name == "raw"
        assert server.sessions() == [session]


@with_handshake
async def test_what_a_session_keeps_its_handlers_find(revision: str) -> None:
    server = Server("state")

    @server.tool
    async def count(ctx: Context) -> int:
        assert ctx.session is not None
        ctx.session.state["calls"] = ctx.session.state.get("calls", 0) + 1
        return int(ctx.session.state["calls"])

    async with talking(server, revision) as one, talking(server, revision) as other:
        for client, calls in ((one, 1), (one, 2), (other, 1)):
            assert number(await client.ask(client.speaker.call(calls, "count"))) == calls


@each_lifecycle
async def test_a_session_can_be_waited_for_until_its_client_hangs_up(revision: str) -> None:
    server, closed = Counting(), asyncio.Event()
    server.hooks.session_closed(lambda session: closed.set())
    async with raw_client(revision) as (client, transport), server.connect(transport) as session:
        client.send(*client.speaker.opening)
        await client.ask(client.speaker.call(1, "count"))
        await client.transport.aclose()
        await asyncio.wait_for(session.wait_ended(), WAIT_S)
        # It ends before the block does.
        await soon(closed)


@each_lifecycle
async def test_the_end_of_the_block_lets_what_is_in_flight_be_answered(revision: str) -> None:
    server = Counting()
    async with raw_client(revision) as (client, transport):
        async with server.connect(transport):
            client.send(*client.speaker.opening, client.speaker.call(1, "held"))
            await client.ask(client.speaker.call(2, "count"))
            asyncio.get_running_loop().call_soon(server.goes_on.set)
        assert (await client.answer(1))["result"]["content"][0]["text"] == "done"


@each_lifecycle
async def test_aclose_ends_every_connection(revision: str) -> None:
    server = Counting()
    async with raw_client(revision) as (one, to_one), raw_client(revision) as (other, to_other):
        serving = [asyncio.create_task(server.serve(each)) for each in (to_one, to_other)]
        for client in (one, other):
            client.send(*client.speaker.opening)
            await client.ask(client.speaker.call(1, "count"))
        await asyncio.wait_for(server.aclose(), WAIT_S)
        await asyncio.wait_for(asyncio.gather(*serving), WAIT_S)
        assert server.sessions() == []


async def test_aclose_ends_the_streams_of_its_apps_with_their_results() -> None:
    server = Server("news", declare=["tools"])
    async with asgi.surfing(server.asgi(), PER_REQUEST) as client:
        wanted = {"notifications": {"toolsListChanged": True}}
        opened = client.post(NEW.request(1, "subscriptions/listen", wanted))
        assert (await opened.frame())["method"] == "notifications/subscriptions/acknowledged"
        await asyncio.wait_for(server.aclose(), WAIT_S)
        assert (await opened.frame())["result"]["resultType"] == "complete"


async def test_aclose_of_a_server_that_serves_nobody_does_nothing() -> None:
    await Server("idle").aclose()


def test_a_transport_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="expected 'stdio' or 'http'"):
        Server("refuses").run("carrier pigeon")


# --- signals ---


def test_sigterm_ends_a_process_in_good_order() -> None:
    with running() as server:
        server.send(OLD.request(1, "ping"))
        server.answer(1)
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
        assert server.stderr == ""


def test_what_is_in_flight_at_sigterm_is_answered(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with running() as server:
        server.send(*OLD.opening, OLD.call(1, "read_file", path=str(fifo)), OLD.request(2, "ping"))
        server.answer(2)
        server.signal(signal.SIGTERM)
        # A request that arrives now proves that the signal has arrived.
        refusals = 0
        while not refusals:
            server.send(OLD.call(3, "echo", text="late"))
            refusals += "about to end" in str(server.answer(3))
        fifo.write_text("from the pipe")
        assert server.answer(1)["result"]["content"][0]["text"] == "from the pipe"
        assert server.ended() == 0


def test_a_request_that_outlasts_the_grace_does_not_keep_a_process_from_its_end() -> None:
    with running(grace_s=0.1) as server:
        server.send(*OLD.opening, OLD.call(1, "wait_for_ever"))
        server.says("waiting")
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
        assert "stopped waiting" in server.stderr


def test_a_thread_that_does_not_end_does_not_keep_a_process_from_its_end(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with running(grace_s=0.1) as server:
        server.send(*OLD.opening, OLD.call(1, "read_file", path=str(fifo)), OLD.request(2, "ping"))
        server.answer(2)
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
        assert "a thread was still at work" in server.stderr


def test_a_process_that_waits_for_a_thread_when_its_client_is_gone_ends_by_sigterm(
    tmp_path: Path,
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with running(grace_s=0.1) as server:
        server.send(*OLD.opening, OLD.call(1, "read_file", path=str(fifo)))
        server.send(OLD.call(2, "wait_for_ever"))
        server.says("waiting")
        server.close_stdin()
        server.says("stopped waiting")
        server.signal(signal.SIGTERM)
        # An orderly exit is possible, too: the process must only end.
        assert server.ended() in (0, -signal.SIGTERM)


def test_a_second_sigterm_ends_a_process_at_once(tmp_path: Path) -> None:
    with running() as server:
        server.send(*OLD.opening, OLD.call(1, "hold"), OLD.request(2, "ping"))
        server.answer(2)
        server.signal(signal.SIGTERM)
        refused = False
        while not refused:
            server.send(OLD.call(3, "echo", text="late"))
            refused = "about to end" in str(server.answer(3))
        server.signal(signal.SIGTERM)
        assert server.ended() == -signal.SIGTERM


# --- a server for each connection ---


@each_lifecycle
async def test_each_connection_has_a_server_of_its_own(revision: str) -> None:
    servers = Server.per_connection(Counting)
    for _ in range(2):
        async with talking(servers, revision) as client:
            for expected in (1, 2):
                assert number(await client.ask(client.speaker.call(expected, "count"))) == expected


@each_lifecycle
async def test_a_block_can_have_a_server_of_its_own_too(revision: str) -> None:
    servers = Server.per_connection(Counting)
    async with raw_client(revision) as (client, transport), servers.connect(transport) as session:
        client.send(*client.speaker.opening)
        assert number(await client.ask(client.speaker.call(1, "count"))) == 1
        assert session.host.sessions == {session}


async def ask(app: Any, speaker: Speaker, session: dict[str, str], id: int = 1) -> int:
    message = speaker.call(id, "count")
    reply = await asgi.request(app, message, {**session, **asgi.headers_of(speaker, message)})
    return number(reply.json)


@with_sessions
async def test_each_http_session_has_a_server_of_its_own(revision: str) -> None:
    made: list[Server] = []

    def make() -> Server:
        made.append(Counting())
        return made[-1]

    app, speaker = Server.per_connection(make).asgi(), Speaker(revision)
    one, other = [await asgi.begin(app, speaker) for _ in range(2)]
    assert [await ask(app, speaker, one) for _ in range(2)] == [1, 2]
    assert await ask(app, speaker, other) == 1
    # One more is for requests without sessions.
    assert len(made) == 3


async def test_requests_without_sessions_share_one_server() -> None:
    app = Server.per_connection(Counting).asgi()
    assert [await ask(app, NEW, {}) for _ in range(3)] == [1, 2, 3]
    begun = await asgi.begin(app, OLD)
    assert await ask(app, OLD, begun) == 1


@with_sessions
async def test_a_session_that_was_ended_is_gone(revision: str) -> None:
    app, speaker = Server.per_connection(Counting).asgi(), Speaker(revision)
    session = await asgi.begin(app, speaker)
    assert (await asgi.end(app, session)).status == 204
    assert (await asgi.request(app, speaker.call(1, "count"), session)).status == 404


async def test_a_request_that_begins_no_session_makes_no_server() -> None:
    made: list[Server] = []

    def make() -> Server:
        made.append(Counting())
        return made[-1]

    app = Server.per_connection(make).asgi()
    before = len(made)
    assert (await asgi.request(app, OLD.call(1, "count"))).status == 400
    assert len(made) == before


@with_sessions
async def test_a_handshake_that_fails_closes_the_server_that_was_made_for_it(revision: str) -> None:
    began: list[str] = []
    left: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        began.append(server.name)
        yield
        left.append(server.name)

    app = Server.per_connection(lambda: Server("each", lifespan=lifespan)).asgi()
    reply = await asgi.request(app, Speaker(revision).request(1, "initialize", {"clientInfo": 5}))
    assert reply.json["error"]["code"] == -32602
    # The other one is for requests without sessions.
    assert (began, left) == (["each", "each"], ["each"])
    await app.aclose()


async def test_the_end_of_the_app_ends_every_server() -> None:
    left: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        yield
        left.append(server.name)

    app = Server.per_connection(lambda: Server("each", lifespan=lifespan)).asgi()
    await asgi.begin(app, OLD)
    message = NEW.request(1, "server/discover")
    await asgi.request(app, message, asgi.headers_of(NEW, message))
    coming = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent: list[Any] = []

    async def receive() -> Any:
        return coming.pop(0)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await app({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert left == ["each", "each"]


async def test_a_factory_that_gives_no_server_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a Server, and the factory gave 5"):
        await Server.per_connection(lambda: 5).serve(memory_pair()[0])


def test_the_revisions_of_the_tests_are_of_both_kinds() -> None:
    kinds = {mcp_wire.profile(revision).session_state for revision in ALL}
    assert kinds == {True, False}
