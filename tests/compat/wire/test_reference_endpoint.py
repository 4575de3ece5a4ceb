"""ReferenceEndpoint: the reference server over HTTP, strict at exactly one revision."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec
import pytest

from mcp_gen.compat.checks.http_exchanges import PeerExchange, exchange_of
from mcp_gen.compat.reference.client import ReferenceClient
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.streams import EventStream
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.transcript import Transcript
from mcp_gen.compat.wire.http import HttpWire
from mcp_gen.compat.wire.openers import HttpOpener
from tests.support.frames import every_revision, with_handshake

WAIT_S = 10.0
NEWEST_WITH_SESSIONS = "2025-11-25"
WITHOUT_SESSIONS = "2026-07-28"


class Opened(NamedTuple):
    """An open client, and the endpoint that it is a client of."""

    client: ReferenceClient
    endpoint: ReferenceEndpoint
    wire: HttpWire

    async def posted(
        self, message: Any = None, headers: Mapping[str, str] | None = None, method: str = "POST"
    ) -> PeerExchange:
        """Send a request as it is, and return the exchange."""
        body = None if message is None else msgspec.json.encode(message)
        number = await self.wire.exchange(method, body, headers)
        await self.wire.response(number, WAIT_S)
        return exchange_of(self.client, number)


@asynccontextmanager
async def opened(
    revision: str, kind: type[ReferenceEndpoint] = ReferenceEndpoint, *, listens: bool = True
) -> AsyncGenerator[Opened, None]:
    endpoint = kind(lambda: ReferenceServer(revision), revision)
    async with endpoint.serving() as url:
        opens = HttpOpener(url, sse_url=url)
        client = ReferenceClient(opens(revision), revision, listens=listens)
        await client.open()
        assert client.http is not None
        yield Opened(client, endpoint, client.http)
        await client.aclose()


@every_revision
async def test_a_client_is_answered_and_has_a_transcript(revision: str) -> None:
    async with opened(revision) as (client, endpoint, _):
        reply = await client.ask("call_tool", {"name": "echo", "arguments": {"text": "hi"}})
    assert reply.result is not None
    (session,) = endpoint.clients
    ours = [event.data for event in client.transcript.messages("client")]
    assert [event.data for event in session.transcript.messages("client")] == ours
    theirs = {event.data for event in client.transcript.messages("server")}
    assert {event.data for event in session.transcript.messages("server")} == theirs


@every_revision
async def test_the_reference_client_breaks_no_rule_of_the_reference_server(revision: str) -> None:
    async with opened(revision) as (client, endpoint, _):
        await client.list_all("list_tools")
        await client.ask("call_tool", {"name": "content", "arguments": {}})
    assert [one.server.violations for one in endpoint.clients] == [[]]


@with_handshake
async def test_two_clients_have_a_server_each(revision: str) -> None:
    endpoint = ReferenceEndpoint(lambda: ReferenceServer(revision), revision)
    async with endpoint.serving() as url:
        for _ in range(2):
            client = ReferenceClient(HttpOpener(url, sse_url=url)(revision), revision)
            await client.open()
            await client.aclose()
    first, second = endpoint.clients
    assert first.server is not second.server
    assert first.id != second.id


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_message_that_belongs_to_no_request_comes_on_the_stream_of_a_get(
    revision: str,
) -> None:
    async with opened(revision) as (client, endpoint, _):
        endpoint.clients[0].server.tell("tool_list_changed")
        event = await client.transcript.first(
            lambda one: one.kind == "message" and one.exchange == client.stream, WAIT_S
        )
    assert event is not None
    assert "id: " in event.about


async def test_who_listens_has_the_head_of_the_stream() -> None:
    async with opened(NEWEST_WITH_SESSIONS, listens=False) as (client, _, _):
        await client.listen()
        came = [one.kind for one in client.transcript.events if one.exchange == client.stream]
    assert "response" in came


async def test_a_message_before_there_is_a_stream_is_kept() -> None:
    async with opened(NEWEST_WITH_SESSIONS, listens=False) as (client, endpoint, _):
        endpoint.clients[0].server.tell("tool_list_changed")
        await client.listen()
        event = await client.transcript.first(
            lambda one: one.kind == "message" and one.exchange == client.stream, WAIT_S
        )
    assert event is not None


async def test_a_stream_begins_with_an_event_to_come_back_to() -> None:
    async with opened(NEWEST_WITH_SESSIONS) as (client, _, _):
        reply = await client.ask("call_tool", {"name": "echo", "arguments": {"text": "hi"}})
        one = exchange_of(client, reply.asked.exchange)
    assert [event.kind for event in one.events] == ["sse", "message"]


class Dropping(ReferenceEndpoint):
    """Hangs up on the stream of a call once, after its first event."""

    def prime(self, stream: EventStream) -> None:
        super().prime(stream)
        stream.drop()


async def test_a_stream_that_was_dropped_is_resumed() -> None:
    async with opened(NEWEST_WITH_SESSIONS, Dropping) as (client, _, _):
        reply = await client.ask("call_tool", {"name": "echo", "arguments": {"text": "hi"}})
    assert reply.result is not None
    assert reply.event is not None
    assert reply.event.exchange != reply.asked.exchange


REFUSALS: dict[str, tuple[str, str, Mapping[str, str], int]] = {
    "a page of another site": (NEWEST_WITH_SESSIONS, "POST", {"origin": "http://a.example"}, 403),
    "no session": (NEWEST_WITH_SESSIONS, "POST", {}, 400),
    "an unknown session": (NEWEST_WITH_SESSIONS, "POST", {"mcp-session-id": "none"}, 404),
    "a GET without a session": (NEWEST_WITH_SESSIONS, "GET", {}, 400),
    "no such method": (NEWEST_WITH_SESSIONS, "PUT", {}, 405),
    "no version": (WITHOUT_SESSIONS, "POST", {}, 400),
    "no GET": (WITHOUT_SESSIONS, "GET", {}, 405),
    "no DELETE": (WITHOUT_SESSIONS, "DELETE", {}, 405),
}


@pytest.mark.parametrize("why", REFUSALS)
async def test_a_request_that_is_wrong_is_refused(why: str) -> None:
    revision, method, headers, status = REFUSALS[why]
    async with opened(revision) as it:
        message = it.client.harmless_frame() if method == "POST" else None
        found = await it.posted(message, headers, method)
    assert found.status == status


async def test_what_comes_without_a_session_is_in_the_transcript_of_the_last_client() -> None:
    async with opened(NEWEST_WITH_SESSIONS) as it:
        before = len(it.endpoint.clients[-1].transcript.events)
        await it.posted(it.client.harmless_frame())
    later = it.endpoint.clients[-1].transcript.events[before:]
    assert [event.about for event in later if event.kind == "request"][:1] == ["POST /mcp"]
    assert it.endpoint.unknown.events == []


async def test_a_session_that_was_deleted_is_not_known() -> None:
    async with opened(NEWEST_WITH_SESSIONS) as it:
        await it.client.end_session()
        frame = it.client.harmless_frame()
        found = await it.posted(frame, it.client.headers(frame))
    assert found.status == 404


async def test_a_client_that_hangs_up_has_cancelled_where_there_are_no_sessions() -> None:
    async with opened(WITHOUT_SESSIONS) as it:
        waits = it.client.wire_name("call_tool")
        sent = await it.client.send(
            it.client.request_frame(waits, {"name": "wait", "arguments": {}})
        )
        server = it.endpoint.clients[0].server
        ours = it.endpoint.clients[0].transcript
        came = await ours.first(lambda event: event.data == sent.data, WAIT_S)
        assert came is not None
        (task,) = server.calls.values()
        it.wire.hang_up(sent.exchange)
        ended = await ours.first(
            lambda event: event.kind == "ended" and event.exchange == came.exchange, WAIT_S
        )
    assert ended is not None
    assert task.cancelled()


async def test_a_wire_to_a_path_that_is_not_there_gets_status_404() -> None:
    async with opened(NEWEST_WITH_SESSIONS) as it:
        wire = HttpWire(it.wire.url + "/other", Transcript(NEWEST_WITH_SESSIONS, "http"))
        head = await wire.response(await wire.send(b"{}"), WAIT_S)
        await wire.aclose()
    assert head is not None
    assert head.status == 404
