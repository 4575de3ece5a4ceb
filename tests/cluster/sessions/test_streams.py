"""Streams of calls in a cluster: acknowledged events, and resumption at other nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, Server
from mcp_gen.cluster import MemoryCluster
from mcp_gen.core.stores.events import MemoryEventStore, StoredEvent, StreamBeginning
from mcp_gen.core.stores.failures import StoreDown
from mcp_gen.session.cluster.session import ClusteredSession
from tests.cluster.sessions.nodes import (
    LAST,
    Nodes,
    RoamingClient,
    eventually,
    nodes_of,
    texts_of,
)
from tests.support.frames import HANDSHAKE
from tests.support.http.asgi import Open
from tests.support.peers.talker import Talker, soon

RESUMED = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).resumes_streams]
resumed = pytest.mark.parametrize("revision", RESUMED)


class Talkers:
    """A talker for each node."""

    def __init__(self) -> None:
        self.made: list[Talker] = []

    def __call__(self, at: int) -> Server:
        self.made.append(Talker())
        return self.made[-1].server


async def waiting(client: RoamingClient, talker: Talker, **arguments: str) -> tuple[Open, str]:
    """Open a call that has logged once; return it with the id of that event."""
    opened = client.post(client.speaker.call(1, "wait", say="now", **arguments))
    event = await opened.event()
    while not event.data:
        event = await opened.event()
    assert event.id is not None
    await soon(talker.began)
    return opened, event.id


async def said(opened: Open) -> list[str]:
    """Return the texts of a stream, once it has ended."""
    reply = await opened.whole()
    frames = [one.json for one in reply.events if one.data]
    return [
        frame["params"]["data"] if "params" in frame else texts_of(frame)[0] for frame in frames
    ]


@resumed
async def test_a_stream_goes_on_at_another_node_while_its_handler_runs(revision: str) -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client(revision)
        first, event_id = await waiting(client, talkers.made[0], then="later")
        second = await client.resumed(nodes.apps[1], event_id)
        talkers.made[0].go_on.set()
        assert await said(second) == ["later", "waited"]
        assert [one for one in first.messages if b"later" in one.data] == []


@resumed
async def test_a_stream_that_has_ended_is_replayed_at_another_node(revision: str) -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client(revision)
        first, event_id = await waiting(client, talkers.made[0], then="later")
        talkers.made[0].go_on.set()
        await first.whole()
        assert await said(await client.resumed(nodes.apps[1], event_id)) == ["later", "waited"]


async def test_a_stream_can_go_on_at_a_third_node_and_at_home_again() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 3) as nodes:
        client = await nodes.client()
        _, event_id = await waiting(client, talkers.made[0], then="later")
        second = await client.resumed(nodes.apps[1], event_id)
        third = await client.resumed(nodes.apps[2], event_id)
        await second.ended()
        home = await client.resumed(nodes.apps[0], event_id)
        await third.ended()
        talkers.made[0].go_on.set()
        assert await said(home) == ["later", "waited"]


@resumed
async def test_a_call_whose_node_is_gone_ends_with_an_error(revision: str) -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client(revision)
        _, event_id = await waiting(client, talkers.made[0])
        await nodes.clusters[0].die()
        resumed = await client.resumed(nodes.apps[1], event_id)
        (event,) = [one for one in (await resumed.whole()).events if one.data]
        error = event.json["error"]
        assert (event.json["id"], error["code"], error["data"]) == (
            1,
            -32603,
            {"reason": "node_lost"},
        )
        talkers.made[0].go_on.set()


async def test_a_call_whose_node_dies_while_it_is_followed_ends_with_an_error() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client()
        _, event_id = await waiting(client, talkers.made[0])
        resumed = await client.resumed(nodes.apps[1], event_id)
        await nodes.clusters[0].die()
        (event,) = [one for one in (await resumed.whole()).events if one.data]
        assert event.json["error"]["data"] == {"reason": "node_lost"}
        talkers.made[0].go_on.set()


async def test_a_node_that_was_silent_for_too_long_sends_no_second_answer() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client()
        first, event_id = await waiting(client, talkers.made[0], then="later")
        nodes.clusters[0].freeze(lease_s=0)
        resumed = await client.resumed(nodes.apps[1], event_id)
        await resumed.whole()
        talkers.made[0].go_on.set()
        await first.ended()
        assert [
            one for one in first.messages if b"later" in one.data or b"waited" in one.data
        ] == []
        again = await client.resumed(nodes.apps[1], event_id)
        (event,) = [one for one in (await again.whole()).events if one.data]
        assert event.json["error"]["data"] == {"reason": "node_lost"}


async def test_a_stream_that_others_have_ended_leaves_no_outbox_in_its_session() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client()
        first, event_id = await waiting(client, talkers.made[0], then="later")
        (session,) = nodes.servers[0].sessions()
        assert isinstance(session, ClusteredSession)
        assert len(session.streams._boxes) == 1
        nodes.clusters[0].freeze(lease_s=0)
        resumed = await client.resumed(nodes.apps[1], event_id)
        await resumed.whole()
        talkers.made[0].go_on.set()
        await first.ended()
        assert session.streams._boxes == {}


class SlowEvents(MemoryEventStore):
    """Store whose acknowledgements come when a test lets them."""

    def __init__(self) -> None:
        super().__init__()
        self.may_store = asyncio.Event()
        self.waiting = asyncio.Event()
        self.fails = 0
        self.loses_begin = False

    async def _lost(self) -> bool:
        self.waiting.set()
        await self.may_store.wait()
        raise StoreDown("the store has lost it")

    def write(
        self,
        session: str,
        stream: str,
        messages: Sequence[StoredEvent],
        beginning: StreamBeginning | None = None,
        *,
        is_end: bool = False,
    ) -> Awaitable[bool] | None:
        if self.loses_begin and beginning is not None:
            self.loses_begin = False
            return self._lost()
        return self._later(super().write, session, stream, messages, beginning, is_end=is_end)

    async def _later(self, store: Any, *given: Any, **named: Any) -> bool:
        self.waiting.set()
        await self.may_store.wait()
        stored = store(*given, **named)
        if self.fails:
            self.fails -= 1
            raise StoreDown("the store has fallen silent")
        return stored is None or await stored


class SlowCluster(MemoryCluster):
    """Cluster with such a store."""

    slow: SlowEvents

    @property
    def events(self) -> SlowEvents:
        """Store of the messages of streams."""
        return self.slow


async def slow_call(
    nodes: Nodes, talkers: Talkers, *, loses_begin: bool = False
) -> tuple[SlowEvents, Open]:
    """Begin a call that logs once, at a node whose store waits."""
    cluster = SlowCluster(heartbeat_s=30.0)
    cluster.slow = SlowEvents()
    cluster.slow.loses_begin = loses_begin
    app = nodes.add(cluster, talkers(0))
    await app.start()
    client = await nodes.client()
    opened = client.post(client.speaker.call(1, "wait", say="now"))
    await soon(talkers.made[0].began)
    await soon(cluster.slow.waiting)
    return cluster.slow, opened


async def test_an_event_leaves_only_when_the_store_has_acknowledged_it() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 0) as nodes:
        store, opened = await slow_call(nodes, talkers)
        await opened.head()
        talkers.made[0].go_on.set()
        await soon(talkers.made[0].ended)
        assert opened.messages == []
        store.may_store.set()
        assert await said(opened) == ["now", "waited"]


async def test_an_event_is_sent_once_where_the_store_fell_silent_after_storing_it() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 0) as nodes:
        store, opened = await slow_call(nodes, talkers)
        store.fails = 1
        store.may_store.set()
        talkers.made[0].go_on.set()
        assert await said(opened) == ["now", "waited"]
        ids = [one.id for one in opened.messages]
        assert len(set(ids)) == 2


async def test_a_stream_whose_beginning_the_store_has_lost_is_begun_again() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 0) as nodes:
        store, opened = await slow_call(nodes, talkers, loses_begin=True)
        store.may_store.set()
        talkers.made[0].go_on.set()
        assert await said(opened) == ["now", "waited"]
        name = str(opened.messages[0].id).split("-")[0]
        (kept,) = nodes.servers[0].sessions()
        status = await store.status(kept.id, name)
        assert status is not None
        assert status.request_ids == (1,)


@pytest.mark.parametrize("forged", ["r1-0", "r{k}9-0", "g{far}-1", "r-1", "x", "g99999999999999-0"])
async def test_a_forged_event_id_is_refused_at_every_node(forged: str) -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client()
        first, event_id = await waiting(client, talkers.made[0])
        name = event_id.split("-")[0]
        id = forged.format(k=name[1:], far=(1 << 20) * 40)
        for app in nodes.apps:
            refused = await client.at(app).get(**{LAST: id}).whole()
            assert refused.status == 400
        talkers.made[0].go_on.set()
        await first.whole()


async def test_an_event_id_of_another_session_reads_nothing() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        mine, other = await nodes.client(), await nodes.client()
        first, event_id = await waiting(mine, talkers.made[0])
        for app in nodes.apps:
            refused = await other.at(app).get(**{LAST: event_id}).whole()
            assert refused.status == 400
        talkers.made[0].go_on.set()
        await first.whole()


async def test_a_handler_that_closes_its_stream_is_polled_at_another_node() -> None:
    talkers = Talkers()

    def make(at: int) -> Server:
        server = talkers(at)

        @server.tool
        async def close(ctx: Context) -> str:
            await ctx.close_stream(retry_ms=10)
            return "closed"

        return server

    async with nodes_of(make, 2) as nodes:
        client = await nodes.client(HANDSHAKE)
        first = client.post(client.speaker.call(1, "close"))
        await first.ended()
        reply = first.so_far
        assert reply is not None
        assert reply.events[0].id is not None
        assert await said(await client.resumed(nodes.apps[1], reply.events[0].id)) == ["closed"]


async def test_a_cancellation_at_another_node_ends_the_call() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client()
        first, _ = await waiting(client, talkers.made[0])
        cancelled = await client.at(nodes.apps[1]).ask(client.speaker.cancel(1))
        assert cancelled.status == 202
        await eventually(lambda: isinstance(talkers.made[0].seen, asyncio.CancelledError))
        await first.ended()
        assert len(first.messages) == 1
