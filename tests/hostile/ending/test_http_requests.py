"""Answers to the open requests of a server over HTTP that ends, or whose HTTP server does."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcp_gen.core.errors import ProtocolError
from mcp_gen.session.http_server import exchange
from mcp_gen.transports.http_server import app as asgi_app
from mcp_gen.transports.http_server.app import AsgiApp
from tests.support.frames import BATCHING, HANDSHAKE, PER_REQUEST, STREAMABLE, Speaker
from tests.support.http.asgi import Open, headers_of, open_request, surfing
from tests.support.peers.raw import WAIT_S
from tests.support.peers.talker import Talker, soon

NEW, OLD = Speaker(PER_REQUEST), Speaker(HANDSHAKE)
CUT_OFF = {
    "code": ProtocolError.code,
    "message": "the server broke off this request before it was answered",
}


async def cancelled(app: AsgiApp, *opened: Open) -> None:
    """End as uvicorn ends what outlasts its own grace: it cancels the tasks."""
    for one in opened:
        one.task.cancel()


async def closed(app: AsgiApp, *opened: Open) -> None:
    """End as the lifespan's shutdown does."""
    await asyncio.wait_for(app.aclose(), WAIT_S)


ENDS: list[Callable[..., Awaitable[None]]] = [cancelled, closed]
each_end = pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
each_revision = pytest.mark.parametrize("revision", STREAMABLE)


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "GRACE_S", 0.05)
    monkeypatch.setattr(asgi_app, "GRACE_S", 0.05)


def answers(opened: Open) -> list[Any]:
    """Return the responses in a whole reply, whatever its shape."""
    reply = opened.so_far
    assert reply is not None
    if reply.headers.get("content-type") != "text/event-stream":
        return [reply.json]
    return [event.json for event in reply.events if event.data and b'"id"' in event.data]


# --- calls ---


@each_end
@each_revision
async def test_an_open_call_is_answered_with_an_error_as_json(end: Any, revision: str) -> None:
    talker, speaker = Talker(), Speaker(revision)
    async with surfing(talker.server.asgi(), revision) as client:
        opened = client.post(speaker.call(1, "wait"))
        await soon(talker.began)
        await end(client.app, opened)
        reply = await opened.whole()
    assert reply.headers["content-type"] == "application/json"
    assert reply.json == {"jsonrpc": "2.0", "id": 1, "error": CUT_OFF}
    assert isinstance(talker.seen, asyncio.CancelledError)


@each_end
@each_revision
async def test_an_open_call_is_answered_with_an_error_as_the_last_event(
    end: Any, revision: str
) -> None:
    talker, speaker = Talker(), Speaker(revision)
    async with surfing(talker.server.asgi(sse_after_s=0.01), revision) as client:
        opened = client.post(speaker.call(1, "wait"))
        await opened.comments(1)
        await end(client.app, opened)
        reply = await opened.whole()
    assert reply.headers["content-type"] == "text/event-stream"
    assert answers(opened) == [{"jsonrpc": "2.0", "id": 1, "error": CUT_OFF}]


@each_end
@each_revision
async def test_an_open_call_of_a_client_that_takes_streams_alone_gets_one(
    end: Any, revision: str
) -> None:
    talker, speaker = Talker(), Speaker(revision)
    async with surfing(talker.server.asgi(), revision) as client:
        opened = client.post(speaker.call(1, "wait"), accept="text/event-stream")
        await soon(talker.began)
        await end(client.app, opened)
        reply = await opened.whole()
    assert reply.headers["content-type"] == "text/event-stream"
    assert answers(opened) == [{"jsonrpc": "2.0", "id": 1, "error": CUT_OFF}]


@each_end
@each_revision
async def test_an_open_call_without_sessions_is_answered_with_an_error(
    end: Any, revision: str
) -> None:
    talker, speaker = Talker(), Speaker(revision)
    app = talker.server.asgi(stateless=True)
    message = speaker.call(1, "wait")
    opened = open_request(app, message, headers_of(speaker, message))
    await soon(talker.began)
    await end(app, opened)
    assert (await opened.whole()).json == {"jsonrpc": "2.0", "id": 1, "error": CUT_OFF}
    await app.aclose()


@each_end
async def test_each_open_call_of_a_batch_is_answered_with_an_error(end: Any) -> None:
    talker, speaker = Talker(), Speaker(BATCHING[-1])
    async with surfing(talker.server.asgi(), speaker.revision) as client:
        calls = [
            speaker.call(1, "wait"),
            speaker.call(2, "echo", text="a"),
            speaker.call(3, "wait"),
        ]
        opened = client.post_array(b"[" + b",".join(calls) + b"]")
        await soon(talker.began)
        await asyncio.sleep(0)
        await end(client.app, opened)
        by_id = {one["id"]: one for one in (await opened.whole()).json}
    assert by_id[1]["error"] == by_id[3]["error"] == CUT_OFF
    assert "result" in by_id[2]


@each_end
@each_revision
async def test_a_call_that_takes_no_cancellation_is_answered_once(end: Any, revision: str) -> None:
    talker, speaker = Talker(), Speaker(revision)
    async with surfing(talker.server.asgi(), revision) as client:
        opened = client.post(speaker.call(1, "stubborn"))
        await soon(talker.began)
        await end(client.app, opened)
        await opened.whole()
    assert [one["id"] for one in answers(opened)] == [1]


@each_revision
async def test_other_calls_of_a_client_go_on_when_one_post_is_cancelled(revision: str) -> None:
    talker, speaker = Talker(), Speaker(revision)
    async with surfing(talker.server.asgi(), revision) as client:
        one, other = client.post(speaker.call(1, "stubborn")), client.post(speaker.call(2, "wait"))
        await soon(talker.began)
        await asyncio.sleep(0)
        await cancelled(client.app, one)
        await one.whole()
        assert not other.task.done()
        talker.go_on.set()
        assert "result" in (await other.whole()).json


async def test_a_client_that_has_gone_leaves_a_cancelled_post_nothing_to_say() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        opened = client.post(NEW.call(1, "wait"))
        await soon(talker.began)
        await opened.watched()
        opened.hang_up()
        await soon(talker.ended)
        await opened.ended()
    assert opened.sent == []


# --- what is open without a call ---


@each_end
async def test_a_listen_request_ends_with_its_result(end: Any) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), PER_REQUEST) as client:
        wanted = {"notifications": {"toolsListChanged": True}}
        opened = client.post(NEW.request(1, "subscriptions/listen", wanted))
        await opened.frame()
        await end(client.app, opened)
        await opened.whole()
    assert [one["result"]["resultType"] for one in answers(opened)] == ["complete"]


@each_end
async def test_the_stream_of_a_get_ends_in_good_order(end: Any) -> None:
    async with surfing(Talker().server.asgi(), HANDSHAKE) as client:
        opened = client.get()
        await opened.head()
        await end(client.app, opened)
        await opened.whole()
        assert opened.task.exception() is None


@each_end
async def test_a_call_over_http_sse_is_answered_on_the_stream_before_that_ends(
    end: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_gen.session.duplex.server.GRACE_S", 0.05)
    talker, speaker = Talker(), Speaker(HANDSHAKE)
    app = talker.server.asgi(legacy_sse_path="/sse")
    opened = open_request(app, method="GET", path="/sse")
    path, _, query = (await opened.event()).data.decode().partition("?")
    for message in (*speaker.opening, speaker.call(1, "wait")):
        posted = open_request(app, message, path=path, query_string=query.encode())
        assert (await posted.whole()).status == 202
    await soon(talker.began)
    await end(app, opened)
    await opened.whole()
    assert answers(opened)[-1] == {"jsonrpc": "2.0", "id": 1, "error": CUT_OFF}
    await app.aclose()


async def test_a_body_that_is_still_being_read_is_refused() -> None:
    message = NEW.call(1, "echo", text="a")
    app = Talker().server.asgi()
    opened = open_request(app, message[:20], headers_of(NEW, message), hangs_up=True)
    opened._coming[1:] = []
    await opened.watched()
    await cancelled(app, opened)
    reply = await opened.whole()
    assert (reply.status, reply.json["error"]["message"]) == (503, "the server is about to end")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_what_waits_for_a_slow_session_store_is_refused(method: str) -> None:
    store = Slow()
    app = Talker().server.asgi(session_store=store)
    body = OLD.call(1, "echo", text="a") if method == "POST" else b""
    opened = open_request(app, body, {str(OLD.profile.session_header): "elsewhere"}, method=method)
    await soon(store.asked)
    await cancelled(app, opened)
    reply = await opened.whole()
    assert (reply.status, reply.json["error"]["message"]) == (503, "the server is about to end")
    await app.aclose()


class Slow:
    """Session store that does not answer."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def load(self, id: str) -> Any:
        self.asked.set()
        await asyncio.Event().wait()

    async def save(self, session: Any) -> None:
        """Save nothing."""

    async def forget(self, id: str) -> None:
        """Forget nothing."""
