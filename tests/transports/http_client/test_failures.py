"""Bad servers over HTTP: each leads to the exception in its row, and nothing hangs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import httpx2
import msgspec
import pytest

import mcp_wire
from mcp_gen import (
    Client,
    HttpError,
    McpError,
    McpGenError,
    MessageTooLarge,
    ProtocolError,
    RequestTimeout,
    SessionExpired,
    SessionLost,
    TransportError,
)
from mcp_gen.client.session.session import ClientSession
from mcp_gen.core.errors import InvalidResult
from mcp_gen.transports.http_client.endpoint import HttpEndpoint
from mcp_gen.transports.http_client.legacy_sse import LegacySseTransport
from mcp_gen.transports.http_client.transport import HttpTransport
from tests.client.scripted import opening
from tests.support.frames import BATCHING, HANDSHAKE, PER_REQUEST, STREAMABLE, each_lifecycle
from tests.support.http.loopback import Got, Line, Web, scripted_web
from tests.support.peers.talker import soon
from tests.support.requirement import requirement

EVENTS = "text/event-stream"
BOUND_S = 30.0
"""Time limit of every test here, in seconds."""

Answers: TypeAlias = Callable[[Got, Line], Awaitable[None]]


def speaks(revision: str, on_call: Answers, on_get: Answers | None = None) -> Answers:
    """Serve a valid opening, and a call by the test's function."""
    replies = opening(revision)

    async def script(got: Got, line: Line) -> None:
        if got.method == "GET" and on_get is not None:
            await on_get(got, line)
        elif got.method != "POST":
            await line.answer(405)
        elif got.asks in replies:
            reply = replies[got.asks](got.json["params"])
            assert reply is not None
            session = {"mcp_session_id": "s1"} if got.asks == "initialize" else {}
            await line.result(got, reply["result"], **session)
        elif "id" not in got.json:
            await line.answer(202)
        elif got.asks == "tools/call":
            await on_call(got, line)
        else:
            await line.error(got, 404 if revision == PER_REQUEST else 200, -32601)

    return script


@asynccontextmanager
async def session_with(script: Answers, revision: str) -> AsyncIterator[tuple[ClientSession, Web]]:
    async with scripted_web(script) as web, Client("test") as client:
        yield await client.connect(web.url, revision=revision), web


def result(got: Got, text: str = "ok") -> bytes:
    content = [{"type": "text", "text": text}]
    whole = {"resultType": "complete", "content": content}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": got.json["id"], "result": whole})


def data(message: bytes, **fields: Any) -> bytes:
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return lines.encode() + b"data: " + message + b"\n\n"


# --- tasks by decision of the server ---


async def hangs_up(got: Got, line: Line) -> None:
    """Close the connection without a response."""


async def hangs_up_in_the_head(got: Got, line: Line) -> None:
    await line.raw(b"HTTP/1.1 200 OK\r\ncontent-ty")


async def hangs_up_in_the_body(got: Got, line: Line) -> None:
    await line.head(200, "application/json", content_length="1000")
    await line.raw(result(got)[:10])


async def hangs_up_in_the_stream(got: Got, line: Line) -> None:
    await line.head(200, EVENTS)
    await line.raw(b"data: " + result(got)[:10])


async def ends_the_stream(got: Got, line: Line) -> None:
    await line.head(200, EVENTS)


async def speaks_no_http(got: Got, line: Line) -> None:
    await line.raw(b"220 mail.example ESMTP\r\n\r\n")


async def says_no(got: Got, line: Line) -> None:
    await line.answer(503, b"down for lunch", "text/plain", retry_after="60")


async def says_no_in_json(got: Got, line: Line) -> None:
    await line.error(got, 400, -32602, {"why": 1})


async def says_no_without_an_id(got: Got, line: Line) -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"not now"}}'
    await line.answer(400, body)


async def asks_who(got: Got, line: Line) -> None:
    await line.answer(401, www_authenticate='Bearer scope="a"')


async def says_no_for_ever(got: Got, line: Line) -> None:
    await line.head(500, "text/plain")
    while True:
        await line.raw(b"x" * 65536)


async def talks_for_ever(got: Got, line: Line) -> None:
    await line.head(200, "application/json")
    while True:
        await line.raw(b" " * 65536)


async def promises_much(got: Got, line: Line) -> None:
    await line.head(200, "application/json", content_length=str(10**12))
    await line.silence()


async def has_an_endless_event(got: Got, line: Line) -> None:
    await line.head(200, EVENTS)
    await line.raw(b"data: ")
    while True:
        await line.raw(b"x" * 65536)


async def has_an_endless_event_of_lines(got: Got, line: Line) -> None:
    await line.head(200, EVENTS)
    while True:
        await line.raw(b"data: x\n" * 8192)


async def has_an_endless_head(got: Got, line: Line) -> None:
    await line.raw(b"HTTP/1.1 200 OK\r\n")
    while True:
        await line.raw(b"x-more: " + b"x" * 4000 + b"\r\n")


async def shows_a_page(got: Got, line: Line) -> None:
    await line.answer(200, b"<html>", "text/html; charset=utf-8")


async def says_nothing_of_its_kind(got: Got, line: Line) -> None:
    await line.head(200, "")
    await line.raw(result(got))


async def accepts(got: Got, line: Line) -> None:
    await line.answer(202)


async def has_nothing_to_say(got: Got, line: Line) -> None:
    await line.answer(200)


async def answers_nonsense(got: Got, line: Line) -> None:
    await line.answer(200, b"{nonsense")


async def answers_something_else(got: Got, line: Line) -> None:
    await line.answer(200, result(got).replace(b'"id":', b'"id":7'))


async def answers_with_an_array(got: Got, line: Line) -> None:
    await line.answer(200, b"[" + result(got) + b"]")


async def answers_with_a_wrong_result(got: Got, line: Line) -> None:
    await line.result(got, {"resultType": "complete", "content": 5})


async def sends_it_elsewhere(got: Got, line: Line) -> None:
    await line.answer(307, location="http://127.0.0.2:9/mcp")


async def sends_it_to_a_file(got: Got, line: Line) -> None:
    await line.answer(308, location="file:///etc/passwd")


async def sends_it_round_and_round(got: Got, line: Line) -> None:
    await line.answer(307, location="/mcp")


async def sends_it_to_be_fetched(got: Got, line: Line) -> None:
    await line.answer(302, location="/page")


async def sends_it_nowhere(got: Got, line: Line) -> None:
    await line.answer(307)


async def is_silent(got: Got, line: Line) -> None:
    await line.silence()


async def is_silent_after_the_head(got: Got, line: Line) -> None:
    await line.head(200, EVENTS)
    await line.silence()


async def only_comments(got: Got, line: Line) -> None:
    await line.head(200, EVENTS)
    while True:
        await line.raw(b":\n\n")
        await asyncio.sleep(0.01)


def named(one: object) -> str:
    return getattr(one, "__name__", "")


TABLE: list[tuple[Answers, type[McpGenError], str]] = [
    (hangs_up, SessionLost, "the server hung up"),
    (hangs_up_in_the_head, SessionLost, "the server hung up"),
    (hangs_up_in_the_body, SessionLost, "the server hung up"),
    (hangs_up_in_the_stream, SessionLost, "the stream ended before the answer"),
    (ends_the_stream, SessionLost, "the stream ended before the answer"),
    (speaks_no_http, TransportError, "what the server sends is no HTTP"),
    (says_no, HttpError, "HTTP status 503"),
    (says_no_in_json, McpError, "no"),
    (says_no_without_an_id, HttpError, r"HTTP status 400: not now \(-32000\)"),
    (asks_who, HttpError, "HTTP status 401: it asks for credentials; give `auth=OAuth"),
    (says_no_for_ever, HttpError, "HTTP status 500"),
    (talks_for_ever, MessageTooLarge, "a body of at most 200000 bytes, got more"),
    (promises_much, MessageTooLarge, "a body of at most 200000 bytes, got 1000000000000"),
    (has_an_endless_event, MessageTooLarge, "an event of at most 200000 bytes, got more"),
    (has_an_endless_event_of_lines, MessageTooLarge, "an event of at most 200000 bytes, got more"),
    (has_an_endless_head, TransportError, "what the server sends is no HTTP"),
    (shows_a_page, ProtocolError, "got text/html; is this the URL of an MCP server"),
    (says_nothing_of_its_kind, ProtocolError, "got no content type"),
    (accepts, ProtocolError, "expected an answer, got HTTP status 202"),
    (has_nothing_to_say, ProtocolError, "got no content type"),
    (answers_nonsense, ProtocolError, "does not answer the request"),
    (answers_something_else, ProtocolError, "does not answer the request"),
    (answers_with_an_array, ProtocolError, "does not answer the request"),
    (answers_with_a_wrong_result, InvalidResult, "content"),
    (sends_it_elsewhere, TransportError, r"another origin, http://127\.0\.0\.2:9"),
    (sends_it_to_a_file, TransportError, "an address that is none"),
    (sends_it_round_and_round, TransportError, "redirects more than 5 times"),
    (sends_it_to_be_fetched, HttpError, "redirects a POST with status 302"),
    (sends_it_nowhere, HttpError, "a redirect to nowhere"),
    (is_silent, RequestTimeout, r"no answer in 0\.1 s"),
    (is_silent_after_the_head, RequestTimeout, r"no answer in 0\.1 s"),
    (only_comments, RequestTimeout, r"no answer in 0\.1 s"),
]


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
@pytest.mark.parametrize(
    ("does", "kind", "says"), TABLE, ids=lambda one: getattr(one, "__name__", "")
)
async def test_a_server_that(
    does: Answers, kind: type[McpGenError], says: str, revision: str
) -> None:
    async with scripted_web(speaks(revision, does)) as web, Client("test") as client:
        transport = HttpTransport(web.url, max_message_bytes=200_000)
        session = await client.connect(transport, revision=revision)
        async with asyncio.timeout(BOUND_S):
            with pytest.raises(kind, match=says) as caught:
                await session.call_tool("t", timeout_s=0.1 if kind is RequestTimeout else BOUND_S)
        assert type(caught.value) is kind


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
async def test_a_call_that_fails_does_not_end_the_session(revision: str) -> None:
    answers: list[Answers] = [hangs_up, says_no, shows_a_page]

    async def script(got: Got, line: Line) -> None:
        if answers:
            await answers.pop(0)(got, line)
        else:
            await line.answer(200, result(got))

    async with session_with(speaks(revision, script), revision) as (session, _):
        for _ in range(3):
            with pytest.raises((TransportError, ProtocolError)):
                await session.call_tool("t")
        assert (await session.call_tool("t")).content[0].text == "ok"


async def test_an_error_of_http_says_what_the_answer_said() -> None:
    async with session_with(speaks(PER_REQUEST, asks_who), PER_REQUEST) as (session, _):
        with pytest.raises(HttpError) as caught:
            await session.call_tool("t")
    assert caught.value.status == 401
    assert caught.value.headers["www-authenticate"] == 'Bearer scope="a"'


async def test_an_error_of_http_has_the_error_in_its_body() -> None:
    script = speaks(PER_REQUEST, says_no_without_an_id)
    async with session_with(script, PER_REQUEST) as (session, _):
        with pytest.raises(HttpError) as caught:
            await session.call_tool("t")
    assert caught.value.error is not None
    assert caught.value.error.code == -32000


@pytest.mark.parametrize(("size_bytes", "is_read"), [(65_536, True), (65_537, False)])
async def test_the_error_in_a_body_is_read_up_to_64_kibibytes(
    size_bytes: int, is_read: bool
) -> None:
    message = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"not now"}}'

    async def says_much(got: Got, line: Line) -> None:
        await line.answer(400, message.ljust(size_bytes))

    async with session_with(speaks(PER_REQUEST, says_much), PER_REQUEST) as (session, _):
        with pytest.raises(HttpError) as caught:
            await session.call_tool("t")
    assert (caught.value.error is not None) is is_read


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_within_an_origin_is_followed_and_remembered(status: int) -> None:
    async def answers(got: Got, line: Line) -> None:
        await line.answer(200, result(got, got.path))

    async def moved(got: Got, line: Line) -> None:
        if got.path == "/mcp" and got.asks == "tools/call":
            await line.answer(status, location="/other/")
        else:
            await speaks(PER_REQUEST, answers)(got, line)

    async with session_with(moved, PER_REQUEST) as (session, web):
        for _ in range(2):
            assert (await session.call_tool("t")).content[0].text == "/other/"
        assert [one.path for one in web.asked("tools/call")] == ["/mcp", "/other/", "/other/"]


async def test_a_redirect_of_another_url_is_followed_and_not_remembered() -> None:
    async def moved(got: Got, line: Line) -> None:
        if got.path == "/old":
            await line.answer(307, location="/new")
        else:
            await line.answer(202)

    async with scripted_web(moved) as web:
        endpoint = HttpEndpoint(web.url)
        for url in (f"{web.origin}/old", None):
            response = await endpoint.send("POST", [], b"{}", url)
            await response.aclose()
        await endpoint.aclose()
        assert [one.path for one in web.got] == ["/old", "/new", "/mcp"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_stream_for_notifications_may_be_elsewhere(status: int) -> None:
    listening = asyncio.Event()

    async def moved(got: Got, line: Line) -> None:
        if got.path == "/mcp":
            await line.answer(status, location="/other/")
        else:
            await line.head(200, EVENTS)
            listening.set()
            await line.silence()

    async with session_with(speaks(HANDSHAKE, is_silent, moved), HANDSHAKE):
        await soon(listening)


@requirement("base:client:batches")
@pytest.mark.parametrize("revision", BATCHING)
async def test_an_answer_in_an_array_is_read_where_the_revision_has_arrays(revision: str) -> None:
    note = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'

    async def answers(got: Got, line: Line) -> None:
        await line.answer(200, b"[" + note + b"," + result(got) + b"]")

    async with session_with(speaks(revision, answers), revision) as (session, _):
        assert (await session.call_tool("t")).content[0].text == "ok"


# --- streams ---


async def test_messages_in_pieces_and_of_other_kinds_are_read() -> None:
    async def streams(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)
        stream = b"\xef\xbb\xbf:hello\r\n\r\nevent: other\r\ndata: {}\r\n\r\nid: 1\r\ndata:\r\n\r\n"
        for byte in stream + data(result(got), event="message"):
            await line.raw(bytes([byte]))

    async with session_with(speaks(PER_REQUEST, streams), PER_REQUEST) as (session, _):
        assert (await session.call_tool("t")).content[0].text == "ok"


async def test_a_stream_that_stays_open_behind_the_answer_keeps_nobody_waiting() -> None:
    async def streams(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)
        await line.raw(data(result(got)))
        await line.silence()

    async with session_with(speaks(HANDSHAKE, streams), HANDSHAKE) as (session, _):
        assert (await session.call_tool("t")).content[0].text == "ok"


REST_TIMEOUT_S = "mcp_gen.transports.http_client.listening.REST_TIMEOUT_S"


@each_lifecycle
async def test_an_answer_may_come_long_after_its_progress(
    revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No time at all, so that a limit which began too early would end the stream at once.
    monkeypatch.setattr(REST_TIMEOUT_S, 0.0)
    heard = asyncio.Event()

    def progress(value: float, total: float | None, message: str | None) -> None:
        heard.set()

    async def works(got: Got, line: Line) -> None:
        token = got.json["params"]["_meta"]["progressToken"]
        params = {"progressToken": token, "progress": 1}
        told = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
        await line.head(200, EVENTS)
        await line.raw(data(msgspec.json.encode(told)))
        await soon(heard)
        await line.raw(data(result(got)))

    async with session_with(speaks(revision, works), revision) as (session, _):
        answer = await session.call_tool("t", progress=progress)
        assert answer.content[0].text == "ok"


@each_lifecycle
async def test_a_stream_that_goes_on_behind_the_answer_is_left_after_a_while(
    revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(REST_TIMEOUT_S, 0.05)
    left = asyncio.Event()
    note = data(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')

    async def goes_on(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)
        await line.raw(data(result(got)))
        with contextlib.suppress(ConnectionError):
            while True:
                await line.raw(note)
                await asyncio.sleep(0)
        left.set()

    async with session_with(speaks(revision, goes_on), revision) as (session, _):
        assert (await session.call_tool("t")).content[0].text == "ok"
        await soon(left)


@requirement("http:client:resumes", "http:client:retry")
async def test_a_stream_that_breaks_is_taken_up_where_it_broke(revision: str) -> None:
    asked: list[Got] = []
    waited: list[float] = []
    loop = asyncio.get_running_loop()

    async def breaks(got: Got, line: Line) -> None:
        asked.append(got)
        await line.head(200, EVENTS)
        await line.raw(b"id: one\nretry: 50\ndata:\n\n")
        waited.append(loop.time())

    async def resumes(got: Got, line: Line) -> None:
        if "last-event-id" not in got.headers:
            await line.answer(405)
            return
        waited.append(loop.time())
        await line.head(200, EVENTS)
        if got.headers["last-event-id"] == "one":
            await line.raw(b"id: two\ndata:\n\n")
        else:
            await line.raw(data(result(asked[0]), id="three"))

    async with session_with(speaks(revision, breaks, resumes), revision) as (session, web):
        assert (await session.call_tool("t")).content[0].text == "ok"
        gets = [one for one in web.by("GET") if "last-event-id" in one.headers]
        assert [one.headers["last-event-id"] for one in gets] == ["one", "two"]
        assert {one.headers["mcp-session-id"] for one in gets} == {"s1"}
        assert waited[1] - waited[0] >= 0.05
        assert len(asked) == 1


@pytest.mark.parametrize("status", [400, 404, 405, 200])
async def test_a_stream_that_cannot_be_taken_up_again_is_lost(status: int) -> None:
    async def breaks(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)
        await line.raw(b"id: one\nretry: 1\ndata:\n\n")

    async def refuses(got: Got, line: Line) -> None:
        await line.answer(status)

    async with session_with(speaks(HANDSHAKE, breaks, refuses), HANDSHAKE) as (session, _):
        with pytest.raises(SessionLost, match="the stream ended before the answer"):
            await session.call_tool("t")


async def test_a_stream_that_always_breaks_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_gen.transports.http_client.listening.MAX_VAIN_RESUMES", 2)

    async def breaks(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)
        await line.raw(b"id: one\nretry: 1\ndata:\n\n")

    async def says_nothing(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)

    async with session_with(speaks(HANDSHAKE, breaks, says_nothing), HANDSHAKE) as (session, _):
        async with asyncio.timeout(BOUND_S):
            with pytest.raises(SessionLost, match="the stream ended before the answer"):
                await session.call_tool("t")


async def test_a_stream_is_taken_up_again_five_times_without_news(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_gen.transports.http_client.listening.LONGEST_WAIT_S", 0.0)

    async def breaks(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)
        await line.raw(b"id: one\nretry: 1\ndata:\n\n")

    async def is_busy(got: Got, line: Line) -> None:
        await line.answer(503)

    async with session_with(speaks(HANDSHAKE, breaks, is_busy), HANDSHAKE) as (session, web):
        with pytest.raises(SessionLost):
            await session.call_tool("t")
        resumed = [one for one in web.by("GET") if "last-event-id" in one.headers]
        assert len(resumed) == 5


@requirement("http:client:asked-anew")
async def test_no_stream_is_taken_up_where_the_revision_has_no_such_thing() -> None:
    async def breaks(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)
        await line.raw(b"id: one\nretry: 1\ndata:\n\n")

    async with session_with(speaks(PER_REQUEST, breaks), PER_REQUEST) as (session, web):
        with pytest.raises(SessionLost):
            await session.call_tool("t")
        assert web.by("GET") == []


async def test_what_the_server_asks_on_a_stream_is_answered_by_a_post() -> None:
    answered = asyncio.Event()

    async def asks(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)
        await line.raw(data(b'{"jsonrpc":"2.0","id":"q","method":"ping"}'))
        await soon(answered)
        await line.raw(data(result(got)))

    script = speaks(HANDSHAKE, asks)

    async def watching(got: Got, line: Line) -> None:
        if got.body and "result" in got.json:
            assert got.json == {"jsonrpc": "2.0", "id": "q", "result": {}}
            assert got.headers["mcp-session-id"] == "s1"
            assert got.headers["mcp-protocol-version"] == HANDSHAKE
            answered.set()
            await line.answer(202)
        else:
            await script(got, line)

    async with session_with(watching, HANDSHAKE) as (session, _):
        assert (await session.call_tool("t")).content[0].text == "ok"


async def test_the_stream_for_notifications_is_opened_again_when_it_breaks() -> None:
    again = asyncio.Event()

    async def listens(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)
        if got.headers.get("last-event-id") == "n1":
            again.set()
            await line.silence()
        else:
            await line.raw(b"id: n1\nretry: 1\ndata:\n\n")

    async with session_with(speaks(HANDSHAKE, is_silent, listens), HANDSHAKE):
        await soon(again)


async def test_events_of_other_types_are_no_messages() -> None:
    answered = asyncio.Event()

    async def asks(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)
        for id, event in enumerate(("other", "message")):
            await line.raw(data(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % id, event=event))
        await line.silence()

    script = speaks(HANDSHAKE, is_silent, asks)

    async def watching(got: Got, line: Line) -> None:
        if got.body and "result" in got.json:
            answered.set()
        await script(got, line)

    async with session_with(watching, HANDSHAKE) as (_, web):
        await soon(answered)
        assert [one.json["id"] for one in web.got if one.body and "result" in one.json] == [1]


# --- sessions ---


async def test_a_session_that_is_unknown_twice_is_lost() -> None:
    async def unknown(got: Got, line: Line) -> None:
        await line.answer(404)

    async with session_with(speaks(HANDSHAKE, unknown), HANDSHAKE) as (session, web):
        with pytest.raises(SessionExpired, match="does not know the session"):
            await session.call_tool("t")
        assert len(web.asked("initialize")) == 2


async def test_a_session_that_would_go_on_at_another_revision_is_lost() -> None:
    other = mcp_wire.REVISIONS[1]
    before, after = speaks(HANDSHAKE, is_silent), speaks(other, is_silent)
    expired = False

    async def script(got: Got, line: Line) -> None:
        if expired and got.asks == "tools/call":
            await line.answer(404)
        else:
            await (after if expired else before)(got, line)

    async with session_with(script, HANDSHAKE) as (session, _):
        expired = True
        with pytest.raises(SessionLost, match=f"wants to speak {other} now"):
            await session.call_tool("t")


async def test_a_server_that_ends_every_session_is_not_asked_for_ever() -> None:
    script = speaks(HANDSHAKE, is_silent)

    async def forgetful(got: Got, line: Line) -> None:
        if got.asks in ("logging/setLevel", "tools/call") and ended:
            await line.answer(404)
        elif got.asks == "logging/setLevel":
            await line.result(got, {})
        elif got.asks == "initialize":
            reply = opening(HANDSHAKE)["initialize"]({})
            assert reply is not None
            declared = {**reply["result"], "capabilities": {"logging": {}}}
            await line.result(got, declared, mcp_session_id="s1")
        else:
            await script(got, line)

    ended = False
    async with scripted_web(forgetful) as web, Client("test", log_level="error") as client:
        session = await client.connect(web.url, revision=HANDSHAKE)
        ended = True
        async with asyncio.timeout(BOUND_S):
            with pytest.raises(SessionExpired):
                await session.call_tool("t")
        assert len(web.asked("initialize")) == 2


@requirement("http:client:asked-anew")
async def test_a_read_is_made_again_where_its_stream_broke() -> None:
    script = speaks(PER_REQUEST, is_silent)
    asked: list[Got] = []

    async def once(got: Got, line: Line) -> None:
        if got.asks != "tools/list":
            await script(got, line)
            return
        asked.append(got)
        if len(asked) > 1:
            hints = {"ttlMs": 0, "cacheScope": "private"}
            await line.result(got, {"resultType": "complete", "tools": [], **hints})

    async with session_with(once, PER_REQUEST) as (session, _):
        assert (await session.list_tools()).tools == []
        assert len(asked) == 2


async def test_an_id_of_a_session_that_no_header_may_hold_is_refused() -> None:
    script = speaks(HANDSHAKE, is_silent)

    async def strange(got: Got, line: Line) -> None:
        if got.asks == "initialize":
            await line.result(got, {}, mcp_session_id="with blank")
        else:
            await script(got, line)

    async with scripted_web(strange) as web, Client("test") as client:
        with pytest.raises(ProtocolError, match="visible ASCII"):
            await client.connect(web.url, revision=HANDSHAKE)


@pytest.mark.parametrize("does", [is_silent, says_no, hangs_up], ids=lambda one: one.__name__)
async def test_a_server_that_does_not_let_a_session_end_does_not_keep_the_client(
    does: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_gen.transports.http_client.posting.LAST_TIMEOUT_S", 0.05)
    script = speaks(HANDSHAKE, is_silent)

    async def stubborn(got: Got, line: Line) -> None:
        await (does if got.method == "DELETE" else script)(got, line)

    async with session_with(stubborn, HANDSHAKE) as (session, web):
        async with asyncio.timeout(BOUND_S):
            await session.aclose()
        assert len(web.by("DELETE")) == 1


@each_lifecycle
async def test_a_call_that_is_open_when_its_session_closes_is_left(revision: str) -> None:
    began, left = asyncio.Event(), asyncio.Event()

    async def never_answers(got: Got, line: Line) -> None:
        await line.head(200, EVENTS)
        began.set()
        with contextlib.suppress(ConnectionError):
            while True:
                await line.raw(b":\n\n")
                await asyncio.sleep(0)
        left.set()

    script = speaks(revision, never_answers)
    # The user's HTTP client stays open, so closing the session closes no connection by itself.
    async with httpx2.AsyncClient(trust_env=False) as http_client, scripted_web(script) as web:
        async with Client("test") as client:
            session = await client.connect(web.url, revision=revision, http_client=http_client)
            call = asyncio.create_task(session.call_tool("t"))
            await soon(began)
            await session.aclose()
            with pytest.raises(SessionLost, match="closed"):
                await call
        await soon(left)
        assert not http_client.is_closed


async def test_a_session_that_closes_gives_all_connections_back() -> None:
    script = speaks(HANDSHAKE, is_silent)
    one = httpx2.Limits(max_connections=1)
    async with (
        httpx2.AsyncClient(limits=one, trust_env=False) as http_client,
        scripted_web(script) as web,
        Client("test") as client,
        asyncio.timeout(BOUND_S),
    ):
        for _ in range(2):
            session = await client.connect(web.url, revision=HANDSHAKE, http_client=http_client)
            await session.aclose()
        assert len(web.by("DELETE")) == 2


async def test_a_notification_that_is_refused_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    script = speaks(HANDSHAKE, is_silent)

    async def deaf(got: Got, line: Line) -> None:
        await (says_no if got.asks == "notifications/initialized" else script)(got, line)

    with caplog.at_level(logging.WARNING, "mcp_gen.client"):
        async with session_with(deaf, HANDSHAKE) as (_, web):
            pass
    assert f"a notification was lost: {web.url}: it was refused: HTTP status 503" in caplog.text


class Slow:
    """Server that holds requests of this method until the test releases them."""

    def __init__(self, method: str) -> None:
        self.held = asyncio.Event()
        self.go_on = asyncio.Event()
        self._method = method
        self._script = speaks(HANDSHAKE, is_silent)

    async def __call__(self, got: Got, line: Line) -> None:
        if got.asks == self._method:
            self.held.set()
            await self.go_on.wait()
        await self._script(got, line)


async def test_nothing_is_sent_before_the_server_has_heard_that_the_client_is_ready() -> None:
    slow = Slow("notifications/initialized")
    async with scripted_web(slow) as web, Client("test") as client:
        connecting = asyncio.create_task(client.connect(web.url, revision=HANDSHAKE))
        await soon(slow.held)
        done, _ = await asyncio.wait([connecting], timeout=0.05)
        assert (done, web.by("GET")) == (set(), [])
        slow.go_on.set()
        await connecting
        assert len(web.by("GET")) == 1


async def test_notifications_arrive_in_their_order() -> None:
    slow = Slow("notifications/roots/list_changed")
    async with scripted_web(slow) as web, Client("test", roots=[]) as client:
        session = await client.connect(web.url, revision=HANDSHAKE)
        await session.notify_roots_list_changed()
        await session.notify_progress("p", 1)
        await soon(slow.held)
        # One that does not wait for it would be here by now: nothing tells that none comes.
        await asyncio.sleep(0.05)
        assert web.asked("notifications/progress") == []
        slow.go_on.set()
        await session.aclose()
        assert len(web.asked("notifications/progress")) == 1


# --- probing the revisions of a server ---


def older(post: Answers) -> Answers:
    """Server of one old revision, which answers the probe with the test's function."""
    script = speaks(HANDSHAKE, is_silent)

    async def answers(got: Got, line: Line) -> None:
        await (post if got.asks == "server/discover" else script)(got, line)

    return answers


async def says_bad_request(got: Got, line: Line) -> None:
    await line.answer(400, b"Bad Request: no session", "text/plain")


async def says_invalid_request(got: Got, line: Line) -> None:
    await line.error(got, 400, -32600)


async def says_unknown_method(got: Got, line: Line) -> None:
    await line.error(got, 404, -32601)


async def fails(got: Got, line: Line) -> None:
    await line.answer(500)


@pytest.mark.parametrize(
    "does",
    [
        says_bad_request,
        says_invalid_request,
        says_unknown_method,
        says_no_without_an_id,
        fails,
        is_silent,
        is_silent_after_the_head,
        hangs_up,
        says_no_in_json,
    ],
    ids=lambda one: one.__name__,
)
async def test_a_server_is_asked_for_a_handshake_if_its_answer_to_the_question_is(
    does: Answers,
) -> None:
    quiet = does in (is_silent, is_silent_after_the_head)
    async with scripted_web(older(does)) as web, Client("test") as client:
        async with asyncio.timeout(BOUND_S):
            # Enough time to send the probe, on a busy machine too.
            session = await client.connect(web.url, probe_timeout_s=0.3 if quiet else 2 * BOUND_S)
        assert session.revision == HANDSHAKE
        await client.connect(web.url)
        assert len(web.asked("server/discover")) == 1


@pytest.mark.parametrize("revision", [one for one in STREAMABLE if one < HANDSHAKE])
async def test_requests_name_the_agreed_revision_where_a_newer_one_was_asked_for(
    revision: str,
) -> None:
    async def answers(got: Got, line: Line) -> None:
        await line.answer(200, result(got))

    async with scripted_web(speaks(revision, answers)) as web, Client("test") as client:
        session = await client.connect(web.url)
        await session.call_tool("t")
        await session.aclose()
        (asked,) = web.asked("initialize")
        assert asked.json["params"]["protocolVersion"] == HANDSHAKE
        later = web.got[web.got.index(asked) + 1 :]
        assert {one.method for one in later} == {"POST", "GET", "DELETE"}
        named = {one.headers.get("mcp-protocol-version") for one in later}
        # The oldest revision of this transport has no such header.
        assert named == {revision if mcp_wire.profile(revision).version_header else None}


@requirement("http:client:refusals")
@pytest.mark.parametrize(
    ("does", "kind"), [(asks_who, HttpError), (sends_it_elsewhere, TransportError)]
)
async def test_a_server_is_not_asked_again_if_its_answer_to_the_question_is(
    does: Answers, kind: type[Exception]
) -> None:
    async with scripted_web(older(does)) as web, Client("test") as client:
        with pytest.raises(kind):
            await client.connect(web.url)
        assert len(web.got) == 1


@requirement("http:client:refusals")
@pytest.mark.parametrize("code", [-32020, -32021])
async def test_an_error_that_only_the_newest_revision_has_is_no_reason_for_a_handshake(
    code: int,
) -> None:
    async def refuses(got: Got, line: Line) -> None:
        await line.error(got, 400, code)

    async with scripted_web(older(refuses)) as web, Client("test") as client:
        with pytest.raises(McpError) as caught:
            await client.connect(web.url)
        assert (caught.value.code, len(web.got)) == (code, 1)


@pytest.mark.parametrize("addressed", [True, False], ids=["with its id", "without an id"])
async def test_a_server_that_starts_slowly_is_asked_again_where_it_refuses_the_handshake(
    addressed: bool,
) -> None:
    script = speaks(PER_REQUEST, is_silent)
    data = {"supported": [PER_REQUEST], "requested": HANDSHAKE}

    async def slow(got: Got, line: Line) -> None:
        if got.asks == "initialize" and addressed:
            await line.error(got, 400, -32022, data)
        elif got.asks == "initialize":
            error = {"code": -32022, "message": "no", "data": data}
            await line.answer(
                400, msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})
            )
        elif not web.asked("initialize"):
            await line.silence()
        else:
            await script(got, line)

    async with scripted_web(slow) as web, Client("test") as client:
        async with asyncio.timeout(BOUND_S):
            session = await client.connect(web.url, probe_timeout_s=0.1)
        assert session.revision == PER_REQUEST


@requirement("http:client:refusals")
async def test_a_server_that_refuses_the_first_question_is_asked_once_more() -> None:
    script = speaks(PER_REQUEST, is_silent)
    refused: list[Got] = []

    async def at_first(got: Got, line: Line) -> None:
        if refused:
            await script(got, line)
        else:
            refused.append(got)
            await line.error(got, 400, -32022, {"supported": [PER_REQUEST]})

    async with scripted_web(at_first) as web, Client("test") as client:
        assert (await client.connect(web.url)).revision == PER_REQUEST


async def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with Client("test") as client:
            with pytest.raises(TransportError, match="cannot be reached"):
                await client.connect(f"http://127.0.0.1:{taken.getsockname()[1]}/mcp")


async def test_a_server_that_never_says_anything_is_given_up() -> None:
    async with scripted_web(is_silent) as web, Client("test") as client:
        async with asyncio.timeout(BOUND_S):
            with pytest.raises(RequestTimeout):
                await client.connect(web.url, probe_timeout_s=0.05, timeout_s=0.1)


async def test_a_server_that_lies_about_its_revision_is_refused() -> None:
    async def lies(got: Got, line: Line) -> None:
        reply = opening(HANDSHAKE)["initialize"]({})
        assert reply is not None
        await line.result(got, {**reply["result"], "protocolVersion": PER_REQUEST})

    async with scripted_web(lies) as web, Client("test") as client:
        with pytest.raises(ProtocolError, match="wants to speak"):
            await client.connect(web.url, revision=HANDSHAKE)


# --- two addresses ---


def paired(first: bytes, post: Answers = accepts) -> Answers:
    """HTTP+SSE server whose stream begins with these bytes."""

    async def script(got: Got, line: Line) -> None:
        if got.method == "GET":
            await line.head(200, EVENTS)
            await line.raw(first)
            if first:
                await line.silence()
        else:
            await post(got, line)

    return script


@pytest.mark.parametrize(
    ("first", "kind", "says"),
    [
        (b"", SessionLost, "the stream ended before it began"),
        (b":\n\n", TransportError, "expected the event `endpoint` in 0.1 s"),
        (data(b"http://127.0.0.2:9/post", event="endpoint"), TransportError, "another origin"),
        (data(b"file:///post", event="endpoint"), TransportError, "an address that is none"),
        (data(b"{}"), ProtocolError, "expected the event `endpoint` first, got a message"),
    ],
)
async def test_a_stream_that_begins_wrongly_is_refused(
    first: bytes, kind: type[Exception], says: str
) -> None:
    async with scripted_web(paired(first)) as web, Client("test") as client:
        silent = first.startswith(b":")
        transport = LegacySseTransport(web.url, endpoint_timeout_s=0.1 if silent else BOUND_S)
        with pytest.raises(kind, match=says):
            await client.connect(transport, revision=HANDSHAKE)


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_a_message_that_its_address_refuses_fails_alone(status: int) -> None:
    async def refuses(got: Got, line: Line) -> None:
        await line.answer(status)

    first = data(b"/post?session=1", event="endpoint")
    async with scripted_web(paired(first, refuses)) as web, Client("test") as client:
        with pytest.raises(HttpError, match=f"HTTP status {status}"):
            await client.connect(LegacySseTransport(web.url), revision=HANDSHAKE)
        assert web.by("POST")[0].path == "/post?session=1"


async def test_a_stream_that_breaks_ends_what_waits_for_answers() -> None:
    posted = asyncio.Event()

    async def script(got: Got, line: Line) -> None:
        if got.method == "GET":
            await line.head(200, EVENTS)
            await line.raw(data(b"/post", event="endpoint"))
            await soon(posted)
        else:
            await line.answer(202)
            posted.set()

    async with scripted_web(script) as web, Client("test") as client:
        async with asyncio.timeout(BOUND_S):
            with pytest.raises(SessionLost, match="the server hung up"):
                await client.connect(LegacySseTransport(web.url), revision=HANDSHAKE)


async def test_an_address_without_mcp_says_what_it_answered_first() -> None:
    async def nothing(got: Got, line: Line) -> None:
        await line.answer(404)

    async with scripted_web(nothing) as web, Client("test") as client:
        with pytest.raises(
            HttpError, match="HTTP status 404: check the path of the URL, which often ends in /mcp"
        ):
            await client.connect(web.url)
        assert [one.method for one in web.got] == ["POST", "POST", "GET"]
