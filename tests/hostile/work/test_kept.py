"""Both ends keep a bounded number of what a peer sends unasked."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import msgspec
import pytest

from mcp_gen import Client, Server
from mcp_gen.client.subscriptions.elicitation_completions import ElicitationCompletions
from mcp_gen.client.subscriptions.watch import MAX_WAITING_BYTES
from mcp_gen.core.peer_values import MAX_ID_LENGTH
from mcp_gen.core.stores.sessions import MemorySessionStore, StoredSession
from mcp_gen.server.listing.cursors import MAX_CURSOR
from mcp_gen.server.mounting.mount import MAX_WARNED
from mcp_gen.server.relaying import suspended_calls
from mcp_gen.server.relaying.caller_relay import MAX_QUEUED, CallerRelay
from mcp_gen.session.duplex.held_messages import MAX_HELD
from mcp_gen.session.duplex.server import MAX_HELD as SERVER_MAX_HELD
from mcp_gen.session.http_server.streams import MAX_LISTENING
from tests.server.mounting.gateway import gateway, weather
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, each_lifecycle
from tests.support.http.asgi import request, surfing
from tests.support.loop import until
from tests.support.peers.raw import WAIT_S, talking
from tests.support.peers.scripted import MemoryPeer, opening

OLD, NEW = Speaker(HANDSHAKE), Speaker(PER_REQUEST)


def note(method: str, **params: Any) -> bytes:
    """Return a notification."""
    return msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params})


def _nothing(params: Any) -> dict[str, Any]:
    """Return an empty result."""
    return {}


# --- a client, of its server ---


async def test_ids_of_completed_elicitations_are_kept_if_they_are_short() -> None:
    completions = ElicitationCompletions()
    for id in ("a", "b" * MAX_ID_LENGTH, "c" * (MAX_ID_LENGTH + 1)):
        completions.complete(id)
    assert [len(id) for id in completions._done] == [1, MAX_ID_LENGTH]


def subscribable() -> MemoryPeer:
    """Return a server whose resources can be watched."""
    answers = opening(HANDSHAKE)
    answers["initialize"]({})["capabilities"] = {"resources": {"subscribe": True}}
    more = dict.fromkeys(("ping", "resources/subscribe", "resources/unsubscribe"), _nothing)
    return MemoryPeer({**answers, **more})


async def test_the_bytes_of_changes_that_nobody_takes_are_bounded() -> None:
    peer = subscribable()
    async with Client("c") as client:
        session = await client.connect(await peer.start(), revision=HANDSHAKE)
        async with session.watch("note://a") as changes:
            for number in range(20):
                uri = f"note://a/{number}/" + "x" * 1_000_000
                peer.say(note("notifications/resources/updated", uri=uri))
            peer.say(note("notifications/resources/updated", uri="note://a"))
            await session.ping()
            assert 3 <= len(changes._pending) <= 5
            assert changes._pending_bytes <= MAX_WAITING_BYTES
            for _ in list(changes._pending):
                await anext(changes)
            assert changes._pending_bytes == 0


async def test_a_change_that_is_told_many_times_is_kept_once() -> None:
    peer, uri = subscribable(), "note://a/" + "x" * 1_000_000
    async with Client("c") as client:
        session = await client.connect(await peer.start(), revision=HANDSHAKE)
        async with session.watch("note://a") as changes:
            for _ in range(20):
                peer.say(note("notifications/resources/updated", uri=uri))
            peer.say(note("notifications/resources/updated", uri="note://a"))
            await session.ping()
            assert [(await anext(changes)).uri for _ in range(2)] == [uri, "note://a"]
            assert changes._pending_bytes == 0


class Hasty(MemoryPeer):
    """Server that sends many notifications right behind the answer to the handshake."""

    def receive(self, message: bytes) -> None:
        super().receive(message)
        if b'"initialize"' in message:
            for _ in range(5 * MAX_HELD):
                self.say(note("notifications/tools/list_changed"))


async def test_messages_before_the_session_begins_are_bounded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    changes: list[Any] = []
    peer = Hasty({**opening(HANDSHAKE), "ping": _nothing})
    async with Client("c") as client:

        @client.hooks.on_tool_list_changed
        def changed(session: Any, params: Any) -> None:
            changes.append(params)

        session = await client.connect(await peer.start(), revision=HANDSHAKE)
        await session.ping()
    assert len(changes) <= MAX_HELD
    assert len([one for one in caplog.records if "too many" in one.message]) == 1


# --- a server, of its client ---


async def test_a_session_has_a_bounded_number_of_streams() -> None:
    async with surfing(Server("s").asgi(), HANDSHAKE) as client:
        opened = [client.get() for _ in range(MAX_LISTENING + 8)]
        for one in opened:
            await one.begun()
        await asyncio.wait_for(until(lambda: all(one.task.done() for one in opened[:8])), WAIT_S)
        assert not any(one.task.done() for one in opened[8:])


async def test_above_the_limit_of_a_handshake_only_what_wants_an_answer_gets_one() -> None:
    server, began, go_on = Server("s"), asyncio.Event(), asyncio.Event()

    @server.hooks.before_initialize
    async def wait(ctx: Any, params: Any) -> None:
        began.set()
        await go_on.wait()

    async with talking(server, HANDSHAKE, opened=False) as client:
        speaker = client.speaker
        client.send(speaker.initialize(0))
        client.send(*(speaker.request(id, "ping") for id in range(1, SERVER_MAX_HELD + 1)))
        await asyncio.wait_for(began.wait(), WAIT_S)
        client.send(b'{"jsonrpc":"2.0","method":"notifications/any"}')
        client.send(b'{"jsonrpc":"2.0","id":"malformed","method":5}')
        refused = await client.next()
        go_on.set()
        assert "result" in await client.answer(SERVER_MAX_HELD)
    assert refused["error"]["code"] == -32600


class CountingStore(MemorySessionStore):
    """Store that counts the ids it is asked for."""

    asked = 0

    async def load(self, id: str) -> StoredSession | None:
        self.asked += 1
        return await super().load(id)


@pytest.mark.parametrize(("length", "asked"), [(256, 1), (257, 0), (60_000, 0)])
async def test_a_long_session_id_is_not_looked_up(length: int, asked: int) -> None:
    store = CountingStore()
    app = Server("s").asgi(session_store=store)
    header = {str(OLD.profile.session_header): "x" * length}
    assert (await request(app, OLD.request(1, "ping"), header)).status == 404
    assert store.asked == asked
    await app.aclose()


@each_lifecycle
@pytest.mark.parametrize("length", [4, MAX_CURSOR, MAX_CURSOR + 4, 4_000_000])
async def test_a_cursor_of_any_length_is_refused(revision: str, length: int) -> None:
    server = Server("s")
    server.add_tool(lambda: "x", name="x")
    async with talking(server, revision) as client:
        cursor = base64.urlsafe_b64encode(b"[" * (length * 3 // 4)).decode()
        answer = await client.ask(client.speaker.request(1, "tools/list", {"cursor": cursor}))
    assert answer["error"]["code"] == -32602


async def test_a_mount_remembers_a_bounded_number_of_names() -> None:
    async with gateway(weather(), HANDSHAKE) as outer:
        mount: Any = outer.mounts[0]
        for number in range(2 * MAX_WARNED):
            mount.warn(f"note://{number}", "is not watched")
        assert len(mount._warned) == MAX_WARNED


async def test_messages_of_a_remote_server_for_a_slow_client_are_bounded() -> None:
    read, sent = asyncio.Event(), list[str]()

    class SlowContext:
        async def log(self, level: str, data: str, *, logger: str | None) -> None:
            await read.wait()
            sent.append(data)

    context: Any = SlowContext()
    caller = CallerRelay(context)
    for number in range(5 * MAX_QUEUED):
        caller.log("info", str(number), None)
    read.set()
    await caller.flush()
    assert sent == [str(number) for number in range(MAX_QUEUED)]


async def test_a_client_with_many_suspended_calls_does_not_end_those_of_others() -> None:
    ended: list[str] = []

    class Caller:
        ctx: Any = None
        held: Any = None

        def __init__(self, client: str) -> None:
            self.client = client

        async def call(self, name: str) -> msgspec.Raw:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(name)
            return msgspec.Raw(b"{}")

    calls = suspended_calls.SuspendedCalls(max_open=5)
    names = ["other", *map(str, range(10))]
    for name in names:
        caller = Caller("other" if name == "other" else "greedy")
        calls.put(suspended_calls.SuspendedCall(caller, caller.call(name)), 60)
        await asyncio.sleep(0)
    await asyncio.wait_for(until(lambda: len(ended) == 6), WAIT_S)
    assert ended == ["0", "1", "2", "3", "4", "5"]
    calls.clear()
    await asyncio.wait_for(until(lambda: len(ended) == len(names)), WAIT_S)


@each_lifecycle
@pytest.mark.parametrize(
    "message",
    [
        note("notifications/roots/list_changed"),
        note("notifications/cancelled", requestId="unknown"),
        note("notifications/progress", progressToken="unknown", progress=1),
        note("notifications/initialized"),
        note("notifications/unknown", data="x" * 100),
        msgspec.json.encode({"jsonrpc": "2.0", "id": "unknown", "result": {}}),
    ],
)
async def test_a_flood_of_messages_that_nobody_asked_for_leaves_nothing(
    revision: str, message: bytes
) -> None:
    server = Server("s")
    server.add_tool(lambda: "x", name="x")
    async with talking(server, revision) as client:
        await client.ask(client.speaker.request(1, "tools/list"))
        (connection,) = server.runtime.kernel.sessions
        tasks, before = len(asyncio.all_tasks()), _sizes(connection)
        for _ in range(2_000):
            client.send(message)
        await client.ask(client.speaker.request(2, "tools/list"))
        assert len(asyncio.all_tasks()) <= tasks + 1
        assert _sizes(connection) == before


def _sizes(connection: Any) -> dict[str, int]:
    """Return the lengths of all collections that a connection has."""
    state = connection._connection
    found = {**vars(connection), "in_flight": state.in_flight, "waiters": state._waiters}
    return {name: len(one) for name, one in found.items() if isinstance(one, dict | list | set)}
