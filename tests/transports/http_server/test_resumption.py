"""Resumption: clients reconnect with `Last-Event-ID` for the messages they missed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, Server
from mcp_gen.core.stores.events import MemoryEventStore
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, with_sessions
from tests.support.http.asgi import Event, Open, WebClient, begin, end, request, surfing
from tests.support.peers.raw import WAIT_S
from tests.support.peers.talker import Talker, soon
from tests.support.requirement import requirement

OLD = Speaker(HANDSHAKE)
LAST = "Last-Event-ID"
PRIMING = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).primes_streams]
UNPRIMED = [
    one
    for one in mcp_wire.REVISIONS
    if mcp_wire.profile(one).resumes_streams and not mcp_wire.profile(one).primes_streams
]
primed = pytest.mark.parametrize("revision", PRIMING)


def text(event: Event) -> Any:
    """Return the text of a log message, or of a result."""
    frame = event.json
    if "params" in frame:
        return frame["params"]["data"]
    return frame["result"]["content"][0]["text"]


async def drop(opened: Open) -> None:
    opened.hang_up()
    await asyncio.wait([opened.task], timeout=WAIT_S)


async def waiting(client: WebClient, talker: Talker, **arguments: str) -> tuple[Open, Event]:
    """Open a call that has logged once, and return it with that event; its stream is watched."""
    opened = client.post(client.speaker.call(1, "wait", say="now", **arguments))
    event = await opened.event()
    while not event.data:
        event = await opened.event()
    await opened.watched()
    return opened, event


def come_back(client: WebClient, id: str | None) -> Open:
    return client.get(**{LAST.replace("-", "_"): str(id)})


# --- ids ---


@requirement("http:event-ids")
async def test_events_have_ids_that_are_unique_in_their_session(revision: str) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), revision) as client:
        listening = client.get()
        replies = [
            await client.ask(client.speaker.call(id, "say", words=["a", "b"])) for id in (1, 2)
        ]
        await listening.head()
        (session,) = talker.server.sessions()
        await session.client.notify_logging_message("info", "news")
        await listening.frame()
        events = [*replies[0].events, *replies[1].events, *listening.messages]
    ids = [event.id for event in events]
    assert None not in ids
    assert len(set(ids)) == len(ids)


@requirement("http:priming")
@primed
async def test_a_stream_begins_with_an_id_and_no_data(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        reply = await client.ask(client.speaker.call(1, "say", words=["a"]))
        listening = client.get()
        opened = await listening.event()
    for first in (reply.events[0], opened):
        assert (first.data, first.name) == (b"", None)
        assert first.id


@requirement("http:event-ids:stream")
async def test_the_id_of_an_event_says_of_which_stream_it_is(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        calls = [client.speaker.call(id, "say", words=["a", "b"]) for id in (1, 2)]
        streams = [(await client.ask(call)).events for call in calls]
    one, other = ({str(event.id).rpartition("-")[0] for event in events} for events in streams)
    assert (len(one), len(other), one & other) == (1, 1, set())


@pytest.mark.parametrize("revision", UNPRIMED)
async def test_older_clients_are_sent_no_event_without_data(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        reply = await client.ask(client.speaker.call(1, "say", words=["a"]))
    assert all(event.data for event in reply.events)


@primed
async def test_the_revision_of_the_session_decides_whatever_a_header_says(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        older = {str(client.speaker.profile.version_header): UNPRIMED[0]}
        reply = await client.ask(client.speaker.call(1, "say", words=["a"]), **older)
    assert reply.events[0].data == b""


# --- resuming a request stream ---


@with_sessions
async def test_a_client_comes_back_for_the_answer_that_is_still_being_made(revision: str) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), revision) as client:
        opened, event = await waiting(client, talker, then="later")
        await drop(opened)
        again = come_back(client, event.id)
        await again.head()
        talker.go_on.set()
        reply = await again.whole()
    assert [text(event) for event in reply.events if event.data] == ["later", "waited"]


@with_sessions
async def test_a_client_comes_back_for_what_was_said_meanwhile(revision: str) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), revision) as client:
        opened, event = await waiting(client, talker, then="later")
        await drop(opened)
        talker.go_on.set()
        await soon(talker.ended)
        reply = await come_back(client, event.id).whole()
    assert [text(event) for event in reply.events if event.data] == ["later", "waited"]


async def test_a_client_comes_back_after_each_event() -> None:
    async with surfing(Talker().server.asgi(), HANDSHAKE) as client:
        reply = await client.ask(OLD.call(1, "say", words=["a", "b", "c"]))
        for number, event in enumerate(reply.events):
            again = await come_back(client, event.id).whole()
            assert [one for one in again.events if one.data] == reply.events[number + 1 :]


async def test_a_client_is_asked_where_it_came_back() -> None:
    talker = Talker()
    server = talker.server

    @server.tool
    async def ask_later(ctx: Context) -> str:
        await ctx.client.notify_logging_message("info", "now")
        await talker.go_on.wait()
        return str(len((await ctx.client.list_roots()).roots))

    async with surfing(server.asgi(), HANDSHAKE) as client:
        opened = client.post(OLD.call(1, "ask_later"))
        await opened.frame()
        last = opened.messages[-1].id
        await opened.watched()
        await drop(opened)
        again = come_back(client, last)
        await again.head()
        talker.go_on.set()
        await client.answer(await again.frame(), {"roots": []})
        assert (await again.frame())["result"]["content"][0]["text"] == "0"


async def test_a_client_that_comes_back_twice_is_answered_on_the_last_connection() -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), HANDSHAKE) as client:
        opened, event = await waiting(client, talker)
        again = come_back(client, event.id)
        await opened.whole()
        talker.go_on.set()
        reply = await again.whole()
    assert [text(event) for event in reply.events if event.data] == ["waited"]


@requirement("http:replay")
async def test_other_streams_are_not_replayed(revision: str) -> None:
    async with surfing(Talker().server.asgi(), revision) as client:
        first = await client.ask(client.speaker.call(1, "say", words=["a", "b"]))
        await client.ask(client.speaker.call(2, "say", words=["c"]))
        heard = next(event for event in first.events if event.data)
        again = await come_back(client, heard.id).whole()
    assert [text(event) for event in again.events if event.data] == ["b", "said"]


async def test_another_session_gets_nothing_of_it() -> None:
    app = Talker().server.asgi()
    async with surfing(app, HANDSHAKE) as client, surfing(app, HANDSHAKE) as other:
        reply = await client.ask(OLD.call(1, "say", words=["a"]))
        again = await come_back(other, reply.events[0].id).whole()
    assert again.status == 400


@pytest.mark.parametrize("id", ["r99-1", "r1", "nonsense", "-1", "r1-x", "r1-²", "g", "é"])
async def test_an_event_that_never_was_is_refused(id: str) -> None:
    async with surfing(Talker().server.asgi(), HANDSHAKE) as client:
        reply = await come_back(client, id).whole()
    assert (reply.status, reply.json["error"]["code"]) == (400, -32600)


# --- resuming the GET stream ---


@with_sessions
async def test_a_stream_for_everything_else_goes_on(revision: str) -> None:
    talker = Talker()
    async with surfing(talker.server.asgi(), revision) as client:
        (session,) = talker.server.sessions()
        listening = client.get()
        await listening.head()
        for word in ("a", "b"):
            await session.client.notify_logging_message("info", word)
            event = await listening.event()
        first = listening.messages[0]
        await listening.watched()
        await drop(listening)
        await session.client.notify_logging_message("info", "c")
        again = come_back(client, first.id)
        heard = [(await again.frame())["params"]["data"] for _ in range(2)]
        await session.client.notify_logging_message("info", "d")
        heard.append((await again.frame())["params"]["data"])
    assert heard == ["b", "c", "d"]
    assert event.id


# --- deliberate disconnects ---


@requirement("http:retry")
@primed
async def test_a_handler_may_hang_up_and_the_client_comes_back(revision: str) -> None:
    talker = Talker()
    server = talker.server

    @server.tool
    async def poll(ctx: Context) -> str:
        await ctx.close_stream(retry_ms=100)
        await talker.go_on.wait()
        return "polled"

    async with surfing(server.asgi(), revision) as client:
        reply = await client.ask(client.speaker.call(1, "poll"))
        primer, retry = reply.events
        assert (primer.data, retry.retry) == (b"", 100)
        again = come_back(client, primer.id)
        await again.head()
        talker.go_on.set()
        answer = await again.whole()
    assert [text(event) for event in answer.events if event.data] == ["polled"]


@pytest.mark.parametrize("revision", [*UNPRIMED, PER_REQUEST])
async def test_where_clients_do_not_come_back_nobody_hangs_up(revision: str) -> None:
    server = Server("polls")

    @server.tool
    async def poll(ctx: Context) -> str:
        await ctx.close_stream(retry_ms=100)
        return "polled"

    async with surfing(server.asgi(), revision) as client:
        reply = await client.ask(client.speaker.call(1, "poll"))
    assert reply.json["result"]["content"][0]["text"] == "polled"


# --- the store ---


async def test_what_a_session_sent_is_forgotten_with_it() -> None:
    store = MemoryEventStore()
    app = Talker().server.asgi(event_store=store)
    session = await begin(app, OLD)
    await request(app, OLD.call(1, "say", words=["a"]), session)
    (id,) = session.values()
    assert await store.after(id, "r1", 0)
    await end(app, session)
    assert await store.after(id, "r1", 0) is None


async def test_answers_in_one_piece_are_not_kept() -> None:
    store = MemoryEventStore()
    async with surfing(Talker().server.asgi(event_store=store), HANDSHAKE) as client:
        await client.ask(OLD.call(1, "echo", text="a"))
        (id,) = client.session.values()
        assert await store.after(id, "r1", 0) is None


async def test_the_store_knows_what_came_behind_an_event() -> None:
    store = MemoryEventStore()
    for number in range(1, 4):
        store.append("s", "r1", number, b"%d" % number)
        store.append("s", "r2", number, b"other")
    assert await store.after("s", "r1", 1) == [(2, b"2"), (3, b"3")]
    assert await store.after("s", "r1", 3) == []
    assert await store.after("s", "r3", 0) is None
    assert await store.after("t", "r1", 0) is None


async def test_the_store_keeps_so_many_events_of_a_session() -> None:
    store = MemoryEventStore(session_events=2)
    for number in range(1, 5):
        store.append("s", "r1", number, b"")
    assert await store.after("s", "r1", 0) == [(3, b""), (4, b"")]


async def test_the_store_keeps_a_thousand_events_of_a_session() -> None:
    store = MemoryEventStore()
    for number in range(1, 1002):
        store.append("s", "r1", number, b"")
    kept = await store.after("s", "r1", 0) or []
    assert [event.number for event in kept] == list(range(2, 1002))


async def test_the_store_keeps_so_many_bytes_of_a_session_and_the_last_event_always() -> None:
    store = MemoryEventStore(session_bytes=10)
    for number, size in enumerate((6, 6, 3, 50), 1):
        store.append("s", "r1", number, b"x" * size)
        kept = await store.after("s", "r1", 0)
        assert kept
    assert [event.number for event in kept] == [4]


async def test_the_store_keeps_four_mebibytes_of_a_session() -> None:
    store = MemoryEventStore()
    store.append("s", "r1", 1, b"x")
    store.append("s", "r1", 2, b"x" * (4 * 1024 * 1024 - 1))
    assert await store.after("s", "r1", 1) is not None
    before = await store.after("s", "r1", 0) or []
    store.append("s", "r1", 3, b"x")
    after = await store.after("s", "r1", 0) or []
    assert [[event.number for event in kept] for kept in (before, after)] == [[1, 2], [2, 3]]


async def test_the_session_that_was_silent_for_longest_loses_its_events_first() -> None:
    store = MemoryEventStore(total_bytes=10)
    for session in ("a", "b", "a", "c"):
        store.append(session, "r1", 1, b"xxxx")
    assert [bool(await store.after(session, "r1", 0)) for session in "abc"] == [False, False, True]


async def test_what_was_forgotten_takes_no_room() -> None:
    store = MemoryEventStore(total_bytes=10)
    store.append("a", "r1", 1, b"x" * 8)
    store.forget("a")
    store.append("b", "r1", 1, b"x" * 5)
    store.append("c", "r1", 1, b"x" * 5)
    assert await store.after("b", "r1", 0)
