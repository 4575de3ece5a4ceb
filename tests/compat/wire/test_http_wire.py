"""HttpWire: the client's end of a connection over HTTP, and the transcript of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from examples.everything_server import server as everything
from mcp_gen.compat.reference.client import ReferenceClient
from mcp_gen.compat.transcript import Transcript
from mcp_gen.compat.wire.http import HttpWire, SsePairWire
from mcp_gen.compat.wire.openers import HttpOpener
from mcp_gen.core.errors import TransportError
from tests.support.frames import every_revision
from tests.support.http.loopback import Got, Line, Script, scripted_web, serving

WAIT_S = 10.0
REVISION = "2025-11-25"


@asynccontextmanager
async def ours() -> AsyncGenerator[HttpOpener, None]:
    """Serve our own server; yield what opens connections to it."""
    async with serving(everything.asgi("/mcp", legacy_sse_path="/sse")) as web:
        yield HttpOpener(web.url, sse_url=f"{web.origin}/sse")


@asynccontextmanager
async def wired(script: Script) -> AsyncGenerator[HttpWire, None]:
    """Serve with a script; yield a wire to it."""
    async with scripted_web(script) as web:
        wire = HttpWire(web.url, Transcript(REVISION, "http"))
        try:
            yield wire
        finally:
            await wire.aclose()


@every_revision
async def test_the_reference_client_opens_lists_and_calls(revision: str) -> None:
    async with ours() as opens:
        client = ReferenceClient(opens(revision), revision)
        opening = await client.open()
        tools = await client.list_all("list_tools")
        reply = await client.ask("call_tool", {"name": "add", "arguments": {"a": 1, "b": 2}})
        await client.aclose()
    assert opening.error is None
    assert client.agreed == revision
    assert "add" in {one["name"] for one in tools}
    assert reply.result is not None
    assert reply.result["content"] == [{"type": "text", "text": "3"}]


@every_revision
async def test_after_the_handshake_each_request_has_the_headers_of_its_revision(
    revision: str,
) -> None:
    async with ours() as opens:
        client = ReferenceClient(opens(revision), revision)
        await client.open()
        reply = await client.ask("list_tools")
        await client.aclose()
    (request,) = (
        event
        for event in client.transcript.events
        if event.kind == "request" and event.exchange == reply.asked.exchange
    )
    profile = client.profile
    assert (profile.session_header or "").lower() in {*request.headers, ""}
    if profile.version_header:
        assert request.headers[profile.version_header.lower()] == revision
    if profile.method_header:
        assert request.headers[profile.method_header.lower()] == "tools/list"


@every_revision
async def test_a_stream_is_open_where_the_revision_has_one_and_ends_with_the_session(
    revision: str,
) -> None:
    async with ours() as opens:
        client = ReferenceClient(opens(revision), revision)
        await client.open()
        await client.aclose()
    methods = [one.about.split()[0] for one in client.transcript.events if one.kind == "request"]
    if client.profile.get_stream:
        head = client.transcript.head(client.stream)
        assert head is not None
        assert head.headers["content-type"].startswith("text/event-stream")
        assert methods == ["POST", "POST", "GET", "DELETE"]
    else:
        assert "DELETE" not in methods


# --- the wire alone ---


async def test_a_body_is_a_message_with_its_exchange() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(200, b'{"a":1}')

    async with wired(script) as wire:
        number = await wire.send(b"{}")
        await wire.ended(number, WAIT_S)
    told = [(one.sender, one.kind, one.data, one.exchange) for one in wire.transcript.events]
    assert told == [
        ("client", "request", b"", 1),
        ("client", "message", b"{}", 1),
        ("server", "response", b"", 1),
        ("server", "message", b'{"a":1}', 1),
        ("server", "ended", b"", 1),
    ]


async def test_events_of_a_stream_are_told_with_their_fields() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.head(200, "text/event-stream")
        await line.raw(b"retry: 5\n\nid: a\ndata:\n\n: a comment\n\n")
        await line.raw(b"id: b\ndata: {}\n\nevent: other\ndata: x\n\ndata: cut o")

    async with wired(script) as wire:
        await wire.ended(await wire.exchange("GET"), WAIT_S)
    told = [(one.kind, one.about, one.data) for one in wire.transcript.events[2:]]
    assert told == [
        ("sse", "retry: 5", b""),
        ("sse", "id: a", b""),
        ("message", "id: b", b"{}"),
        ("sse", "event: other", b"x"),
        ("ended", "", b"data: cut o"),
    ]


@pytest.mark.parametrize(
    ("status", "body", "kind", "has_message"),
    [
        (400, b'{"jsonrpc":"2.0","error":{"code":1,"message":""}}', "text/plain", True),
        (401, b'{"error":"invalid_token"}', "application/json", False),
        (404, b"Not Found", "text/plain", False),
        (200, b"<html>", "text/html", False),
        (200, b"{", "application/json", True),
    ],
)
async def test_a_body_with_a_refusal_is_a_message_if_it_looks_like_one(
    status: int, body: bytes, kind: str, has_message: bool
) -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(status, body, kind)

    async with wired(script) as wire:
        ended = await wire.ended(await wire.send(b"{}"), WAIT_S)
    assert ended is not None
    assert [one.data for one in wire.transcript.messages("server")] == [body] * has_message
    assert ended.data == (b"" if has_message else body)


async def test_a_response_that_is_cut_off_ends_with_the_reason() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.head(200, "application/json", content_length="100")
        await line.raw(b"{")

    async with wired(script) as wire:
        ended = await wire.ended(await wire.send(b"{}"), WAIT_S)
    assert ended is not None
    assert ended.about != ""
    assert ended.sender == "server"


async def test_headers_of_the_user_are_sent_and_not_told() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(200)

    async with scripted_web(script) as web:
        url = web.url.replace("://", "://user:password@")
        headers = {"X-Key": "secret"}
        wire = HttpWire(url, Transcript(REVISION, "http"), headers=headers)
        await wire.ended(await wire.send(b"{}"), WAIT_S)
        await wire.aclose()
    assert web.got[0].headers["x-key"] == "secret"
    assert web.got[0].headers["authorization"].startswith("Basic ")
    assert {"x-key", "authorization"}.isdisjoint(wire.transcript.events[0].headers)


async def test_a_header_that_is_empty_is_left_out() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(200)

    async with wired(script) as wire:
        await wire.ended(await wire.send(b"{}", {"Accept": ""}), WAIT_S)
    assert "accept" not in wire.transcript.events[0].headers


async def test_a_redirect_within_the_origin_is_followed() -> None:
    async def script(got: Got, line: Line) -> None:
        if got.path == "/mcp":
            await line.answer(307, location="/mcp/")
        else:
            await line.answer(200, b'{"a":1}')

    async with wired(script) as wire:
        await wire.ended(await wire.send(b"{}"), WAIT_S)
    assert [one.data for one in wire.transcript.messages("server")] == [b'{"a":1}']


async def test_a_redirect_to_another_origin_is_not_followed() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(307, location="http://127.0.0.1:1/")

    async with wired(script) as wire:
        head = await wire.response(await wire.send(b"{}"), WAIT_S)
    assert head is not None
    assert head.status == 307


async def test_a_server_that_is_not_there_ends_the_exchange() -> None:
    wire = HttpWire("http://127.0.0.1:1/mcp", Transcript(REVISION, "http"))
    ended = await wire.ended(await wire.send(b"{}"), WAIT_S)
    await wire.aclose()
    assert ended is not None
    assert "cannot be reached" in ended.about


async def test_a_client_can_hang_up() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.silence()

    async with wired(script) as wire:
        number = await wire.send(b"{}")
        await wire.transcript.first(lambda event: event.kind == "message", WAIT_S)
        wire.hang_up(number)
        ended = await wire.ended(number, WAIT_S)
    assert ended is not None
    assert ended.sender == "client"


async def test_an_exchange_has_a_longest_time() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.silence()

    async with scripted_web(script) as web:
        wire = HttpWire(web.url, Transcript(REVISION, "http"), max_exchange_s=0.05)
        ended = await wire.ended(await wire.send(b"{}"), WAIT_S)
        await wire.aclose()
    assert ended is not None
    assert ended.about == "it took more than 0.05 s"


async def test_an_endless_body_is_read_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_gen.compat.wire.http.MAX_WIRE_BYTES", 1000)

    async def script(got: Got, line: Line) -> None:
        await line.head(200, "text/event-stream")
        while True:
            await line.raw(b"data: {}\n\n" * 50)

    async with wired(script) as wire:
        ended = await wire.ended(await wire.send(b"{}"), WAIT_S)
    assert ended is not None
    assert ended.about == "the server sends more than is read of it"


async def test_a_stream_that_does_not_say_where_messages_go_cannot_be_opened() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(405)

    async with scripted_web(script) as web:
        wire = SsePairWire(web.url, Transcript(REVISION, "http"))
        with pytest.raises(TransportError, match="status 405"):
            await wire.open()
        await wire.aclose()


async def test_a_stream_that_ends_before_its_answer_is_taken_up_again() -> None:
    async def script(got: Got, line: Line) -> None:
        await line.head(200, "text/event-stream")
        if got.method == "POST":
            await line.raw(b"id: 1\nretry: 1\ndata:\n\n")
        else:
            await line.raw(b'id: 2\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n')

    async with scripted_web(script) as web:
        wire = HttpWire(web.url, Transcript(REVISION, "http"))
        client = ReferenceClient(wire, REVISION)
        reply = await client.ask("ping")
        await client.aclose()
    assert reply.result == {}
    assert web.got[1].headers["last-event-id"] == "1"
