"""Session store: another process continues a stored session."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from mcp_gen import Context, Server
from mcp_gen.core.stores.events import MemoryEventStore
from mcp_gen.core.stores.sessions import MemorySessionStore, StoredSession
from mcp_gen.session.peer.session import Session
from mcp_gen.transports.http_server.asgi import Scope
from tests.support.frames import HANDSHAKE, Speaker, with_sessions
from tests.support.http.asgi import Open, WebClient, end, surfing
from tests.support.peers.raw import WAIT_S

ROOTS = {"roots": [{"uri": "file:///a"}]}


class Elsewhere:
    """Store like one on another machine: it keeps bytes alone."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.forgotten = asyncio.Event()
        self.saved: list[StoredSession] = []
        """What was to be saved, in its order."""

    async def save(self, session: StoredSession) -> None:
        self.saved.append(session)
        await asyncio.sleep(0)
        self.kept[session.id] = msgspec.json.encode(session)

    async def load(self, id: str) -> StoredSession | None:
        await asyncio.sleep(0)
        found = self.kept.get(id)
        return msgspec.json.decode(found, type=StoredSession) if found else None

    async def forget(self, id: str) -> None:
        self.kept.pop(id, None)
        self.forgotten.set()


def a_server() -> Server:
    """Return the server of every process."""
    server = Server("moving")

    @server.tool
    async def who(ctx: Context) -> str:
        return f"{ctx.client_info.name} at {ctx.revision}"

    @server.tool
    async def roots(ctx: Context) -> list[str]:
        return [root.uri for root in (await ctx.client.list_roots()).roots]

    @server.resource("a://b")
    async def resource() -> str:
        return "b"

    return server


def text(reply: Any) -> str:
    return str(reply.json["result"]["content"][0]["text"])


@asynccontextmanager
async def moved(revision: str, **options: Any) -> AsyncGenerator[tuple[WebClient, Server]]:
    """Open a client whose session moved from one process to another."""
    options.setdefault("session_store", Elsewhere())
    first, second = a_server(), a_server()
    app = first.asgi(**options)
    async with surfing(app, revision) as client:
        await client.ask(client.speaker.request("s", "resources/subscribe", {"uri": "a://b"}))
        await client.ask(client.speaker.request("l", "logging/setLevel", {"level": "error"}))
        await app.aclose()
        client.app = second.asgi(**options)
        yield client, second
        # The session can be ended there.
        await client.ask(client.speaker.request("p", "ping"))


@with_sessions
async def test_another_process_goes_on_with_a_session(revision: str) -> None:
    async with moved(revision) as (client, _):
        reply = await client.ask(client.speaker.call(1, "who"))
    assert text(reply) == f"raw at {revision}"


@with_sessions
async def test_a_store_has_when_a_session_began_and_how_often_it_has_moved(revision: str) -> None:
    store, began_s = Elsewhere(), time.time()
    async with moved(revision, session_store=store) as (client, _):
        before = len(store.saved)
        await client.ask(client.speaker.request("l", "logging/setLevel", {"level": "info"}))
    assert [one.moves for one in store.saved] == [0] * before + [1] * (len(store.saved) - before)
    assert 0 < before < len(store.saved)
    # Two clocks are compared, so nearly.
    assert [one for one in store.saved if abs(one.began_at - began_s) > WAIT_S] == []


@with_sessions
async def test_a_session_that_was_stored_without_its_moves_has_none(revision: str) -> None:
    store = Elsewhere()
    async with moved(revision, session_store=store) as (client, second):
        ((id, kept),) = store.kept.items()
        session = msgspec.json.decode(kept)
        del session["moves"]
        store.kept[id] = msgspec.json.encode(session)
        await client.ask(client.speaker.call(1, "who"))
        (one,) = second.sessions()
        found = getattr(one, "moves", None)
    assert found == 1


@with_sessions
async def test_what_the_client_wants_to_hear_goes_with_it(revision: str) -> None:
    async with moved(revision) as (client, second):
        await client.ask(client.speaker.call(1, "who"))
        (session,) = second.sessions()
        kept = session.log_level, session.subscribed, session.initialized
    assert kept == ("error", {"a://b"}, True)


@with_sessions
async def test_a_client_is_told_of_updates_by_the_process_that_went_on(revision: str) -> None:
    async with moved(revision) as (client, second):
        listening = client.get()
        await listening.head()
        second.notify.resource_updated("a://b")
        frame = await listening.frame()
    assert frame["params"]["uri"] == "a://b"


@with_sessions
async def test_a_client_can_be_asked_by_the_process_that_went_on(revision: str) -> None:
    async with moved(revision) as (client, _):
        opened = client.post(client.speaker.call(1, "roots"))
        await client.answer(await opened.frame(), ROOTS)
        answer = await opened.frame()
    assert answer["result"]["content"][0]["text"] == "file:///a"


@with_sessions
async def test_events_of_both_processes_are_told_apart(revision: str) -> None:
    events = MemoryEventStore()
    async with moved(revision, event_store=events) as (client, _):
        opened = client.post(client.speaker.call(1, "roots"))
        await client.answer(await opened.frame(), ROOTS)
        await opened.whole()
        (session,) = (await opened.whole()).events[-1:]
    assert session.id is not None
    assert int(session.id[1:].split("-")[0]) > 1000


@with_sessions
async def test_sessions_open_hooks_run_where_a_session_goes_on(revision: str) -> None:
    opened: list[str] = []
    async with moved(revision) as (client, second):

        @second.hooks.session_opened
        def hear(session: Session) -> None:
            opened.append(str(session.revision))

        await client.ask(client.speaker.call(1, "who"))
    assert opened == [revision]


@with_sessions
async def test_a_session_is_saved_as_ready_when_its_client_is(revision: str) -> None:
    store = Elsewhere()
    async with surfing(a_server().asgi(session_store=store), revision):
        (kept,) = store.kept.values()
    assert msgspec.json.decode(kept, type=StoredSession).ready


@with_sessions
async def test_a_session_is_saved_when_it_has_changed_and_not_at_each_message(
    revision: str,
) -> None:
    store = Elsewhere()
    async with surfing(a_server().asgi(session_store=store), revision) as client:
        assert [saved.ready for saved in store.saved] == [False, True]
        await client.ask(client.speaker.call(1, "who"))
        await client.ask(client.speaker.cancel(1))
        assert len(store.saved) == 2


class Slow(Elsewhere):
    """Store that keeps subscriptions only when it is told to `go_on`."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def save(self, session: StoredSession) -> None:
        if session.subscribed and session.log_level is None:
            self.begun.set()
            await self.go_on.wait()
        await super().save(session)

    async def is_saving(self) -> None:
        async with asyncio.timeout(WAIT_S):
            await self.begun.wait()

    def state(self) -> StoredSession:
        """Return the only session that is kept."""
        (kept,) = self.kept.values()
        return msgspec.json.decode(kept, type=StoredSession)


def subscribe(client: WebClient) -> Open:
    return client.post(client.speaker.request("s", "resources/subscribe", {"uri": "a://b"}))


def set_level(client: WebClient, id: Any = "l") -> Open:
    return client.post(client.speaker.request(id, "logging/setLevel", {"level": "error"}))


async def test_an_older_state_of_a_session_does_not_replace_a_newer_one() -> None:
    store = Slow()
    async with surfing(a_server().asgi(session_store=store), HANDSHAKE) as client:
        subscribing = subscribe(client)
        await store.is_saving()
        setting = set_level(client)
        for _ in range(20):  # turns in which a second save could overtake the first
            await asyncio.sleep(0)
        store.go_on.set()
        await subscribing.whole()
        await setting.whole()
        assert (store.state().subscribed, store.state().log_level) == (("a://b",), "error")


async def test_changes_that_wait_for_a_save_are_saved_together() -> None:
    store = Slow()
    async with surfing(a_server().asgi(session_store=store), HANDSHAKE) as client:
        waiting = [subscribe(client)]
        await store.is_saving()
        store.saved.clear()
        waiting += [set_level(client, id) for id in (1, 2, 3)]
        for _ in range(20):  # turns in which all three are handled
            await asyncio.sleep(0)
        store.go_on.set()
        for one in waiting:
            await one.whole()
        assert [saved.log_level for saved in store.saved] == [None, "error"]


async def test_a_call_that_changes_nothing_does_not_wait_for_a_save() -> None:
    store = Slow()
    async with surfing(a_server().asgi(session_store=store), HANDSHAKE) as client:
        subscribing = subscribe(client)
        await store.is_saving()
        assert text(await client.ask(client.speaker.call(1, "who"))).startswith("raw")
        store.go_on.set()
        await subscribing.whole()


async def test_a_session_is_saved_before_the_response_on_a_stream() -> None:
    server, store = a_server(), Slow()

    @server.middleware
    async def tell(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        if method == "resources/subscribe":
            await ctx.log("error", "soon")
        return await call_next(params)

    async with surfing(server.asgi(session_store=store), HANDSHAKE) as client:
        subscribing = subscribe(client)
        await store.is_saving()
        assert (await subscribing.frame())["method"] == "notifications/message"
        for _ in range(20):  # turns in which the response could come
            await asyncio.sleep(0)
        before = subscribing.so_far
        store.go_on.set()
        assert (await subscribing.frame())["result"] == {}
    assert before is not None
    assert b'"result"' not in before.body


async def test_a_change_that_a_save_is_over_for_is_saved_too() -> None:
    server, store, handled = a_server(), Slow(), asyncio.Event()
    during: list[Open] = []

    @server.middleware
    async def wait(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        result = await call_next(params)
        if method == "logging/setLevel":
            handled.set()
            await during[0].whole()
        return result

    async with surfing(server.asgi(session_store=store), HANDSHAKE) as client:
        during.append(subscribe(client))
        await store.is_saving()
        setting = set_level(client)
        async with asyncio.timeout(WAIT_S):
            await handled.wait()
        store.go_on.set()
        await setting.whole()
        assert store.state().log_level == "error"


async def test_a_session_that_ends_during_a_save_is_not_kept() -> None:
    store = Slow()
    app = a_server().asgi(session_store=store)
    async with surfing(app, HANDSHAKE) as client:
        subscribing = subscribe(client)
        await store.is_saving()
        await end(app, client.session)
        for _ in range(20):  # turns in which the removal could overtake the save
            await asyncio.sleep(0)
        store.go_on.set()
        await subscribing.ended()
        async with asyncio.timeout(WAIT_S):
            await store.forgotten.wait()
        assert store.kept == {}


async def test_what_a_cancelled_request_has_changed_is_saved_with_the_next() -> None:
    store = Slow()
    async with surfing(a_server().asgi(session_store=store), HANDSHAKE) as client:
        subscribe(client)
        await store.is_saving()
        await client.ask(client.speaker.cancel("s"))
        store.go_on.set()
        await client.ask(client.speaker.call(1, "who"))
        assert store.state().subscribed == ("a://b",)


async def test_a_session_that_its_client_has_ended_is_gone_everywhere() -> None:
    store, speaker = Elsewhere(), Speaker(HANDSHAKE)
    app, other = a_server().asgi(session_store=store), a_server().asgi(session_store=store)
    async with surfing(app, HANDSHAKE) as client:
        session = client.session
    await asyncio.sleep(0)
    again = WebClient(other, speaker)
    again.session = session
    assert (await again.ask(speaker.call(1, "who"))).status == 404
    assert store.kept == {}


async def test_a_session_is_not_found_by_anybody_else() -> None:
    store = Elsewhere()
    who = ["one"]

    def principal(scope: Scope) -> str:
        return who[0]

    app, other = (a_server().asgi(session_store=store, principal=principal) for _ in range(2))
    async with surfing(app, HANDSHAKE) as client:
        client.app = other
        who[0] = "two"
        assert (await client.ask(client.speaker.call(1, "who"))).status == 404
        who[0] = "one"
        assert (await client.ask(client.speaker.call(2, "who"))).status == 200


async def test_two_requests_at_once_open_one_session() -> None:
    async with moved(HANDSHAKE) as (client, second):
        replies = [client.post(client.speaker.call(id, "who")) for id in (1, 2, 3)]
        assert [(await one.whole()).status for one in replies] == [200] * 3
        assert len(list(second.sessions())) == 1


async def test_a_session_that_goes_on_keeps_one_server_of_its_own() -> None:
    alive: list[Server] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncGenerator[None]:
        alive.append(server)
        yield
        alive.remove(server)

    store = Elsewhere()
    each = Server.per_connection(lambda: Server("moving", declare=["tools"], lifespan=lifespan))
    there = each.asgi(session_store=store)
    async with surfing(a_server().asgi(session_store=store), HANDSHAKE) as client:
        first, client.app = client.app, there
        requests = [client.post(client.speaker.request(id, "ping")) for id in (1, 2, 3)]
        assert [(await one.whole()).status for one in requests] == [200] * 3
        # The other one serves the revisions without sessions.
        assert len(alive) == 2
        await end(there, client.session)
        await there.aclose()
        client.app = first


async def test_a_session_whose_time_is_over_is_not_gone_on_with() -> None:
    store = Elsewhere()
    async with surfing(a_server().asgi(session_store=store), HANDSHAKE) as client:
        (id,) = store.kept
        kept = msgspec.json.decode(store.kept[id], type=StoredSession)
        long_ago = msgspec.structs.replace(kept, began_at=kept.began_at - 100)
        store.kept[id] = msgspec.json.encode(long_ago)
        other = WebClient(
            a_server().asgi(session_store=store, session_lifetime_s=50), Speaker(HANDSHAKE)
        )
        other.session = client.session
        assert (await other.ask(client.speaker.call(1, "who"))).status == 404
        assert store.kept == {}


async def test_a_revision_that_is_not_offered_there_is_not_gone_on_with() -> None:
    store = Elsewhere()
    other = Server("newer", revisions=["2025-11-25", "2026-07-28"])
    async with surfing(a_server().asgi(session_store=store), "2025-06-18") as client:
        first, client.app = client.app, other.asgi(session_store=store)
        assert (await client.ask(client.speaker.call(1, "who"))).status in (400, 404)
        client.app = first


async def test_a_store_that_fails_costs_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        async def save(self, session: StoredSession) -> None:
            raise OSError("away")

        async def load(self, id: str) -> StoredSession | None:
            raise OSError("away")

        async def forget(self, id: str) -> None:
            raise OSError("away")

    with caplog.at_level(logging.CRITICAL + 1, "mcp_gen.server"):
        async with surfing(a_server().asgi(session_store=Broken()), HANDSHAKE) as client:
            assert text(await client.ask(client.speaker.call(1, "who"))).startswith("raw")


async def test_without_a_store_sessions_end_with_their_process() -> None:
    app = a_server().asgi()
    async with surfing(app, HANDSHAKE) as client:
        await app.aclose()
        assert (await client.ask(client.speaker.call(1, "who"))).status == 404


def test_a_session_that_a_program_has_stored_has_moved_nowhere() -> None:
    stored = StoredSession(id="a", client=msgspec.Raw(b"{}"), revision=HANDSHAKE, began_at=0)
    assert stored.moves == 0


async def test_a_stored_session_tells_when_it_began() -> None:
    store, before = Elsewhere(), time.time()
    async with surfing(a_server().asgi(session_store=store), HANDSHAKE):
        (began_at,) = {round(one.began_at) for one in store.saved}
    assert round(before) <= began_at <= round(time.time())


async def test_a_stored_session_tells_how_many_processes_have_gone_on_with_it() -> None:
    store = Elsewhere()
    async with moved(HANDSHAKE, session_store=store) as (client, _):
        await client.ask(client.speaker.request("m", "logging/setLevel", {"level": "info"}))
        moves = [one.moves for one in store.saved]
    assert (moves[0], moves[-1]) == (0, 1)


async def saved(names: str) -> MemorySessionStore:
    """Return a store of two sessions in which these were saved, one after another."""
    store = MemorySessionStore(max_sessions=2)
    for name in names:
        await store.save(
            StoredSession(id=name, client=msgspec.Raw(b"{}"), revision=HANDSHAKE, began_at=0)
        )
    return store


async def test_the_memory_forgets_the_oldest() -> None:
    store = await saved("abc")
    assert [await store.load(name) is None for name in "abc"] == [True, False, False]
    await store.forget("b")
    assert len(store) == 1


async def test_the_memory_keeps_what_was_saved_again() -> None:
    store = await saved("abac")
    assert [await store.load(name) is None for name in "abc"] == [False, True, False]
