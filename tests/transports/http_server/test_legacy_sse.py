"""HTTP+SSE endpoints of 2024-11-05, which also serve every revision with a handshake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, McpError, Server, UsageError
from mcp_gen.compat.recording import Frame
from mcp_gen.core.transport.authorizing import UNVERIFIED
from mcp_gen.core.transport.headers import Headers
from mcp_gen.transports.http_server.app import AsgiApp
from mcp_gen.transports.http_server.legacy_sse import (
    MAX_EARLY,
    LegacySseEndpoint,
    RelayedPost,
    _SseStream,
)
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, server_violations, with_handshake
from tests.support.http.asgi import Open, Reply, open_request, request
from tests.support.peers.raw import WAIT_S
from tests.support.peers.talker import Talker, soon
from tests.support.requirement import requirement

PAIRED = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).http_transport == "sse_pair"]
OLD = Speaker(PAIRED[-1])


class Paired:
    """Client with a stream, and the message path it received."""

    def __init__(self, app: AsgiApp, speaker: Speaker, root_path: str = "") -> None:
        self.app = app
        self.speaker = speaker
        self.root_path = root_path
        self.frames: list[Frame] = []
        self.stream: Open = open_request(
            app, method="GET", path=f"{root_path}/sse", root_path=root_path
        )
        self.path = self.query = ""

    async def open(self) -> None:
        first = await self.stream.event()
        assert first.name == "endpoint"
        self.path, _, self.query = first.data.decode().partition("?")

    async def post(self, message: bytes, **named: Any) -> Reply:
        self.frames.append(Frame("client", message))
        scope = {"query_string": self.query.encode(), **named}
        return await request(self.app, message, path=self.path, root_path=self.root_path, **scope)

    async def frame(self) -> Any:
        event = await self.stream.event()
        assert event.name == "message"
        self.frames.append(Frame("server", event.data))
        return event.json

    async def ask(self, message: bytes) -> Any:
        assert (await self.post(message)).status == 202
        return await self.frame()

    async def aclose(self) -> None:
        self.stream.hang_up()
        await asyncio.wait([self.stream.task], timeout=WAIT_S)
        # The session ends in a task of its own.
        for _ in range(10):
            await asyncio.sleep(0)


@asynccontextmanager
async def paired(server: Server, revision: str, **named: Any) -> AsyncIterator[Paired]:
    """Open a client after its handshake; the server's messages are checked."""
    client = Paired(server.asgi(legacy_sse_path="/sse"), Speaker(revision), **named)
    await client.open()
    answer = await client.ask(client.speaker.initialize(0))
    assert answer["result"]["protocolVersion"] == revision
    await client.post(client.speaker.initialized)
    yield client
    await client.aclose()
    assert server_violations(revision, client.frames) == []


@with_handshake
async def test_a_tool_is_called(revision: str) -> None:
    async with paired(Talker().server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "echo", text="a"))
    assert answer["result"]["content"] == [{"type": "text", "text": "a"}]


@requirement("http:sse:endpoints")
@with_handshake
async def test_everything_comes_on_the_stream(revision: str) -> None:
    async with paired(Talker().server, revision) as client:
        reply = await client.post(client.speaker.call(1, "say", words=["a", "b"]))
        assert (reply.status, reply.body) == (202, b"")
        frames = [await client.frame() for _ in range(3)]
    assert [frame.get("params", {}).get("data") for frame in frames] == ["a", "b", None]


def telling() -> Server:
    """Return a server that returns the HTTP headers and the principal."""
    server = Server("telling")

    @server.tool
    async def colour(ctx: Context) -> str:
        await asyncio.sleep(0)
        return f"{(ctx.headers or {}).get('x-colour')} for {ctx.principal}"

    return server


async def colours(client: Paired, *numbers: int) -> list[str]:
    frames = [await client.frame() for _ in numbers]
    answers = {frame["id"]: frame["result"] for frame in frames}
    return [answers[number]["content"][0]["text"] for number in numbers]


@with_handshake
async def test_a_handler_sees_the_headers_that_its_own_request_came_with(revision: str) -> None:
    async with paired(telling(), revision) as client:
        for number, name in enumerate(["red", "blue"]):
            call = client.speaker.call(number, "colour")
            await client.post(call, headers={"x-colour": name})
        assert await colours(client, 0, 1) == ["red for None", "blue for None"]


@pytest.mark.parametrize("refused", [0, 1])
async def test_a_message_that_waits_for_the_handshake_keeps_its_headers(refused: int) -> None:
    server, go_on, vetoes = telling(), asyncio.Event(), [True] * refused

    async def wait(*_: Any) -> None:
        await go_on.wait()
        if vetoes:
            vetoes.pop()
            raise McpError(-1, "not yet")

    server.hooks.before_initialize(wait)
    client = Paired(server.asgi(legacy_sse_path="/sse"), OLD)
    await client.open()
    for number in range(refused + 1):
        await client.post(OLD.initialize(10 + number))
    await client.post(OLD.initialized)
    for number, name in enumerate(["red", "blue"]):
        await client.post(OLD.call(number, "colour"), headers={"x-colour": name})
    go_on.set()
    answers = [await client.frame() for _ in range(refused + 1)]
    assert ["result" in answer for answer in answers] == [False] * refused + [True]
    assert await colours(client, 0, 1) == ["red for None", "blue for None"]
    await client.aclose()


async def test_a_hook_sees_the_headers_that_a_notification_came_with() -> None:
    server, seen = telling(), asyncio.Queue[Any]()
    server.hooks.on_initialized(lambda ctx, _: seen.put_nowait(ctx.headers["x-colour"]))
    async with paired(server, OLD.revision) as client:
        await client.post(OLD.initialized, headers={"x-colour": "red"})
        assert await asyncio.wait_for(seen.get(), 30) == "red"


async def test_a_handler_sees_who_the_client_is() -> None:
    app = telling().asgi(legacy_sse_path="/sse", principal=lambda scope: "alice")
    client = Paired(app, OLD)
    await client.open()
    await client.ask(OLD.initialize(0))
    await client.post(OLD.initialized)
    await client.post(OLD.call(1, "colour"))
    assert await colours(client, 1) == ["None for alice"]
    await client.aclose()


async def test_the_client_is_asked() -> None:
    async with paired(Talker().server, OLD.revision) as client:
        asked = await client.ask(OLD.call(1, "roots"))
        result = b'{"jsonrpc":"2.0","id":%d,"result":{"roots":[]}}' % asked["id"]
        assert (await client.ask(result))["id"] == 1


async def test_a_client_that_hangs_up_has_ended_its_session() -> None:
    talker, closed = Talker(), asyncio.Event()
    talker.server.hooks.session_closed(lambda _: closed.set())
    async with paired(talker.server, OLD.revision) as client:
        await client.stream.watched()
        client.stream.hang_up()
        await soon(closed)
        assert (await client.post(OLD.request(1, "ping"))).status == 404


async def test_what_is_being_answered_when_the_app_ends_is_answered() -> None:
    talker = Talker()
    async with paired(talker.server, OLD.revision) as client:
        await client.post(OLD.call(1, "wait"))
        await soon(talker.began)
        await client.app.drain()
        talker.go_on.set()
        assert (await client.frame())["id"] == 1
        await client.stream.whole()


@requirement("http:sse:endpoint-event")
async def test_the_address_begins_where_the_app_is_mounted() -> None:
    async with paired(Talker().server, OLD.revision, root_path="/sub") as client:
        assert client.path == "/sub/sse/messages"
        assert "result" in await client.ask(OLD.request(1, "ping"))


async def test_streams_are_named_so_that_nobody_can_guess() -> None:
    app = Talker().server.asgi(legacy_sse_path="/sse")
    clients = [Paired(app, OLD) for _ in range(10)]
    for client in clients:
        await client.open()
    names = {client.query.partition("=")[2] for client in clients}
    assert len(names) == 10
    assert all(len(name) >= 20 for name in names)
    for client in clients:
        await client.aclose()


async def test_a_message_for_no_stream_is_not_found() -> None:
    app = Talker().server.asgi(legacy_sse_path="/sse")
    for query in (b"", b"session_id=", b"session_id=guess"):
        reply = await request(app, OLD.request(1, "ping"), path="/sse/messages", query_string=query)
        assert reply.status == 404


async def test_a_stream_of_somebody_else_is_not_found() -> None:
    async with paired(Talker().server, OLD.revision) as client:
        scope = {"mcp_gen.principal": "bob"}
        assert (await client.post(OLD.request(1, "ping"), **scope)).status == 404


async def test_so_many_streams_are_open_at_most() -> None:
    app = Talker().server.asgi(legacy_sse_path="/sse", max_sessions=1)
    client = Paired(app, OLD)
    await client.open()
    reply = await request(app, method="GET", path="/sse")
    assert (reply.status, "retry-after" in reply.headers) == (503, True)
    await client.aclose()
    assert app._extra_apps is not None
    assert not app._extra_apps._open


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [("POST", "/sse", "GET"), ("GET", "/sse/messages", "POST"), ("DELETE", "/sse", "GET")],
)
async def test_each_endpoint_has_its_method(method: str, path: str, allow: str) -> None:
    app = Talker().server.asgi(legacy_sse_path="/sse")
    reply = await request(app, method=method, path=path)
    assert (reply.status, reply.headers["allow"]) == (405, allow)


async def test_without_a_path_there_is_no_such_stream() -> None:
    assert (await request(Talker().server.asgi(), method="GET", path="/sse")).status == 404


@pytest.mark.parametrize("offered", [PAIRED, [*PAIRED, PER_REQUEST]])
async def test_a_server_of_such_revisions_alone_sends_clients_away_from_the_other_endpoint(
    offered: list[str],
) -> None:
    app = Server("old", revisions=offered).asgi(legacy_sse_path="/sse")
    reply = await request(app, OLD.initialize(0))
    assert (reply.status, reply.json["id"]) == (404, 0)
    assert reply.json["error"]["message"] == f"{PAIRED[-1]} is not spoken at this address"


async def test_a_message_over_the_limit_is_too_large() -> None:
    app = Talker().server.asgi(legacy_sse_path="/sse", max_body_bytes=10)
    client = Paired(app, OLD)
    await client.open()
    assert (await client.post(OLD.request(1, "ping"))).status == 413
    await client.aclose()


async def test_what_is_no_message_is_answered_on_the_stream() -> None:
    app = Talker().server.asgi(legacy_sse_path="/sse")
    client = Paired(app, OLD)
    await client.open()
    assert (await client.ask(b"nonsense"))["error"]["code"] == -32700
    await client.aclose()


async def test_streams_end_with_the_app() -> None:
    app = Talker().server.asgi(legacy_sse_path="/sse")
    client = Paired(app, OLD)
    await client.open()
    await app.aclose()
    await client.stream.whole()


def test_there_is_no_such_stream_without_a_handshake() -> None:
    with pytest.raises(UsageError, match="legacy_sse_path"):
        Server("new", revisions=[PER_REQUEST]).asgi(legacy_sse_path="/sse")


@pytest.mark.parametrize("paths", [{"path": "mcp"}, {"legacy_sse_path": "sse"}])
def test_paths_begin_with_a_slash(paths: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="slash"):
        Server("paths").asgi(**paths)


async def test_a_client_that_does_not_read_gets_the_newest_progress_when_it_reads_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_gen.transports.http_server.reply.FULL_BYTES", 2_000)
    monkeypatch.setattr("mcp_gen.transports.http_server.reply.ENOUGH_BYTES", 1_000)
    server, count = Server("loud"), 1_000
    async with paired(server, HANDSHAKE) as client:
        (session,) = server.sessions()
        channel: Any = session
        method = mcp_wire.profile(HANDSHAKE).progress
        client.stream.reading.clear()
        for number in range(count):
            channel.notify(method, method.params(progress_token="mine", progress=number))
        client.stream.reading.set()
        told: list[int] = []
        while not told or told[-1] != count - 1:
            told.append((await client.frame())["params"]["progress"])
        assert told == [*range(len(told) - 1), count - 1]
        assert len(told) < 100


def test_only_a_few_messages_wait_until_the_server_of_a_stream_has_started() -> None:
    reply: Any = None
    stream = _SseStream(reply, None)
    headers = Headers([])
    taken = [stream.deliver(b"{}", headers) for _ in range(MAX_EARLY + 2)]
    assert taken == [True] * MAX_EARLY + [False, False]


def test_a_message_that_another_process_passes_on_may_come_again_if_too_many_wait() -> None:
    endpoint = Talker().server.asgi(legacy_sse_path="/sse")._extra_apps
    assert isinstance(endpoint, LegacySseEndpoint)
    reply: Any = None
    endpoint._open["id"] = _SseStream(reply, None)
    post = RelayedPost("id", b"{}", Headers([]), None, UNVERIFIED)
    taken = [endpoint.take(post) for _ in range(MAX_EARLY + 1)]
    assert taken == [202] * MAX_EARLY + [503]
