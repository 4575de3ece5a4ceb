"""Changes at any node: one GET stream of each session and every listen request get each once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_gen.cluster import MemoryCluster
from mcp_gen.core.stores.failures import BusDown
from mcp_gen.server.notifications import shared_changes
from mcp_gen.server.notifications.shared_changes import SharedChanges
from mcp_gen.server.notifications.topics import decode_topic, encode_topic, updated
from tests.cluster.sessions.changing import URI, changing_server, heard_one, methods, settled
from tests.cluster.sessions.nodes import Nodes, eventually, nodes_of
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, with_sessions
from tests.support.http.asgi import Open, WebClient


async def listening(nodes: Nodes, at: int) -> tuple[WebClient, Open]:
    """Open a listen request at a node, for the list of tools and one resource."""
    client = WebClient(nodes.apps[at], Speaker(PER_REQUEST))
    wanted = {"toolsListChanged": True, "resourceSubscriptions": [URI]}
    opened = client.post(
        client.speaker.request(1, "subscriptions/listen", {"notifications": wanted})
    )
    await opened.frame()
    return client, opened


def timers_of(kind: type[Any]) -> list[asyncio.TimerHandle]:
    """Return the timers of this loop that call a method of objects of a class."""
    loop: Any = asyncio.get_running_loop()
    return [
        one
        for one in loop._scheduled
        if not one.cancelled() and isinstance(getattr(one._callback, "__self__", None), kind)
    ]


@with_sessions
async def test_a_change_at_any_node_reaches_one_stream_of_a_session_once(revision: str) -> None:
    async with nodes_of(changing_server, 3) as nodes:
        client = await nodes.client(revision)
        streams = [await client.listening(app) for app in nodes.apps]
        for server in nodes.servers:
            server.notify.tool_list_changed()
            await settled(nodes)
        assert [methods(one) for one in streams] == [[], [], ["tools/list_changed"] * 3]


async def test_a_burst_is_one_notification() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        stream = await client.listening(nodes.apps[1])
        for _ in range(5):
            nodes.servers[0].notify.tool_list_changed()
        await settled(nodes)
        assert methods(stream) == ["tools/list_changed"]


async def test_an_update_reaches_only_sessions_that_subscribed_at_whatever_node() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client, other = await nodes.client(), await nodes.client()
        stream = await client.listening(nodes.apps[1])
        nothing = await other.listening(nodes.apps[1])
        subscribe = client.speaker.request(1, "resources/subscribe", {"uri": URI})
        await client.at(nodes.apps[0]).ask(subscribe)
        await settled(nodes)
        nodes.servers[0].notify.resource_updated(URI)
        await settled(nodes)
        assert methods(stream) == ["resources/updated"]
        assert methods(nothing) == []


async def test_a_change_reaches_listen_requests_at_every_node_once() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        listeners = [await listening(nodes, at) for at in (0, 1, 1)]
        nodes.servers[1].notify.tool_list_changed()
        nodes.servers[0].notify.resource_updated(URI)
        await settled(nodes)
        for client, opened in listeners:
            assert sorted(methods(opened)[1:]) == ["resources/updated", "tools/list_changed"]
            await client.aclose()


async def test_a_change_while_no_stream_was_open_comes_with_the_next_one_once() -> None:
    async with nodes_of(changing_server, 3) as nodes:
        client = await nodes.client()
        for number, app in enumerate(nodes.apps[:2]):
            await client.at(app).ask(client.speaker.call(number, "where"))
        nodes.servers[2].notify.tool_list_changed()
        await settled(nodes)
        stream = await client.listening(nodes.apps[2])
        await eventually(lambda: bool(stream.messages))
        await settled(nodes)
        assert methods(stream) == ["tools/list_changed"]


async def test_the_other_stream_gets_changes_when_the_newest_has_ended() -> None:
    async with nodes_of(changing_server, 3) as nodes:
        client = await nodes.client()
        streams = [await client.listening(app) for app in nodes.apps[:2]]
        streams[1].hang_up()
        await streams[1].ended()
        await settled(nodes)
        nodes.servers[2].notify.tool_list_changed()
        await settled(nodes)
        assert methods(streams[0]) == ["tools/list_changed"]


async def test_the_other_stream_tells_of_every_change_when_the_node_of_the_newest_is_gone() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        streams = [await client.listening(app) for app in nodes.apps]
        await nodes.clusters[1].die()
        nodes.servers[0].notify.tool_list_changed()
        await nodes.clusters[0].beat()
        await eventually(lambda: "tools/list_changed" in methods(streams[0]))


async def test_a_change_during_an_outage_of_a_node_reaches_all_after_it() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client, opened = await listening(nodes, 1)
        nodes.clusters[0].disconnect()
        nodes.servers[0].notify.tool_list_changed()
        for _ in range(5):
            await asyncio.sleep(0)
        assert methods(opened)[1:] == []
        nodes.clusters[0].reconnect()
        await eventually(lambda: methods(opened)[1:] == ["tools/list_changed"])
        await client.aclose()


@pytest.mark.parametrize("refusals", [1, 3])
async def test_a_change_that_a_full_bus_refuses_is_told_here_once_and_to_all_when_it_is_taken(
    refusals: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with nodes_of(changing_server, 2) as nodes:
        listeners = [await listening(nodes, at) for at in (0, 1)]
        here, there = (opened for _, opened in listeners)
        bus = nodes.clusters[0].bus
        publish, refused = bus.publish, list[str]()

        async def refuse(topic: str, body: bytes) -> str:
            if len(refused) < refusals:
                refused.append(topic)
                raise BusDown("used memory > 'maxmemory'")
            assert methods(here)[1:] == ["tools/list_changed"]
            assert methods(there)[1:] == []
            return await publish(topic, body)

        monkeypatch.setattr(bus, "publish", refuse)
        monkeypatch.setattr(shared_changes, "RETRY_S", 0.01)
        nodes.servers[0].notify.tool_list_changed()
        await eventually(lambda: methods(there)[1:] == ["tools/list_changed"])
        await eventually(lambda: methods(here)[1:] == ["tools/list_changed"] * 2)
        assert len(refused) == refusals
        for client, _ in listeners:
            await client.aclose()


async def test_changes_that_a_full_bus_refuses_are_tried_again_by_one_timer_that_ends_with_the_app(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused: list[str] = []

    async def refuse(topic: str, body: bytes) -> str:
        refused.append(topic)
        raise BusDown("used memory > 'maxmemory'")

    async with nodes_of(changing_server, 1) as nodes:
        monkeypatch.setattr(nodes.clusters[0].bus, "publish", refuse)
        for number in range(1, 4):
            nodes.servers[0].notify.resource_updated(f"{URI}/{number}")
            await eventually(lambda number=number: len(refused) == number)
        assert len(timers_of(SharedChanges)) == 1
    assert timers_of(SharedChanges) == []


@asynccontextmanager
async def two_that_can_miss() -> AsyncGenerator[Nodes]:
    """Start two nodes whose bus keeps two messages."""
    nodes = Nodes()
    first = MemoryCluster(max_messages=2, heartbeat_s=30.0)
    for cluster in (first, first.another_node()):
        nodes.add(cluster, changing_server(0))
    try:
        for app in nodes.apps:
            await app.start()
        yield nodes
    finally:
        await nodes.aclose()


async def make_gap(nodes: Nodes) -> None:
    """Let the second node miss more messages than the bus keeps."""
    nodes.clusters[1].disconnect()
    for _ in range(5):
        await nodes.clusters[0].bus.publish("noise", b"")
    nodes.clusters[1].reconnect()


async def test_a_gap_is_filled_with_every_list_and_each_subscribed_resource() -> None:
    async with two_that_can_miss() as nodes:
        client, opened = await listening(nodes, 1)
        session = await nodes.client()
        stream = await session.listening(nodes.apps[1])
        await make_gap(nodes)
        await eventually(lambda: "tools/list_changed" in methods(opened))
        await eventually(lambda: "resources/updated" in methods(opened))
        await eventually(lambda: "tools/list_changed" in methods(stream))
        await client.aclose()


async def test_a_gap_is_filled_also_with_what_the_client_has_been_told_before() -> None:
    async with two_that_can_miss() as nodes:
        client = await nodes.client()
        for number, app in enumerate(nodes.apps):
            await client.at(app).ask(client.speaker.call(number, "where"))
        nodes.servers[0].notify.tool_list_changed()
        await settled(nodes)
        stream = await client.listening(nodes.apps[1])
        await eventually(lambda: "tools/list_changed" in methods(stream))
        await make_gap(nodes)
        await eventually(lambda: methods(stream).count("tools/list_changed") == 2)


async def test_a_stream_that_is_resumed_at_another_node_is_the_one_that_goes_on() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        first = await client.listening(nodes.apps[0])
        nodes.servers[0].notify.tool_list_changed()
        await settled(nodes)
        second = await client.resumed(nodes.apps[1], first.messages[0].id)
        await first.ended()
        nodes.servers[0].notify.tool_list_changed()
        await settled(nodes)
        assert methods(second) == ["tools/list_changed"]
        first_id, second_id = (str(one.messages[-1].id) for one in (first, second))
        assert first_id.split("-")[0] == second_id.split("-")[0]
        assert int(second_id.split("-")[1]) == int(first_id.split("-")[1]) + 1


async def test_a_change_before_the_client_is_ready_waits_for_that() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        raw = WebClient(nodes.apps[0], Speaker(HANDSHAKE))
        begun = raw.post(raw.speaker.initialize(0))
        reply = await begun.whole()
        name = str(raw.speaker.profile.session_header)
        raw.session = {name: reply.headers[name.lower()]}
        raw.app = nodes.apps[1]
        stream = raw.get()
        await stream.head()
        nodes.servers[0].notify.tool_list_changed()
        await settled(nodes)
        assert methods(stream) == []
        raw.app = nodes.apps[0]
        await raw.ask(raw.speaker.initialized)
        await eventually(lambda: methods(stream) == ["tools/list_changed"])
        await raw.aclose()
        await client.aclose()


def test_topics_of_another_version_are_ignored() -> None:
    assert decode_topic(b"future_changed") is None
    assert decode_topic(b"future_updated a://b") is None
    assert decode_topic(encode_topic(updated("a b"))) == updated("a b")


async def test_a_resumed_stream_does_not_take_its_client_back() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        stream = await client.listening(nodes.apps[0])
        for _ in range(2):
            nodes.servers[0].notify.tool_list_changed()
            await settled(nodes)
        last = stream.messages[-1].id
        for app in (nodes.apps[1], nodes.apps[0], nodes.apps[0]):
            stream = await client.resumed(app, last)
            # Until the others know it, they may store a change: then the client has to come back.
            await settled(nodes)
            nodes.servers[0].notify.tool_list_changed()
            await stream.frame()
            reply = stream.so_far
            assert reply is not None
            numbers = [int(str(one.id).split("-")[1]) for one in reply.events if one.id]
            assert numbers == [int(str(last).split("-")[1]) + 1]
            last = reply.events[-1].id


async def test_a_change_that_a_silent_node_has_not_sent_comes_where_its_stream_goes_on() -> None:
    async with nodes_of(changing_server, 3) as nodes:
        client = await nodes.client()
        _, last = await heard_one(nodes, client)
        nodes.clusters[0].freeze()
        nodes.servers[1].notify.tool_list_changed()
        for _ in range(20):
            # Everybody else has heard of it, and the session is not at any of them yet.
            await asyncio.sleep(0)
        second = await client.resumed(nodes.apps[1], last)
        await eventually(lambda: "tools/list_changed" in methods(second))
        await nodes.clusters[0].die()


@pytest.mark.parametrize("dies", [False, True], ids=["silent", "dead"])
async def test_a_change_comes_where_a_stream_goes_on_that_a_lost_node_had_taken_over(
    dies: bool,
) -> None:
    async with nodes_of(changing_server, 3) as nodes:
        client = await nodes.client()
        _, last = await heard_one(nodes, client)
        await client.resumed(nodes.apps[1], last)
        await settled(nodes)
        lost = nodes.clusters[1]
        await lost.die() if dies else lost.freeze()
        nodes.servers[0].notify.tool_list_changed()
        for _ in range(20):
            await asyncio.sleep(0)
        # The third node has never heard of the session, and the first one is well.
        third = await client.resumed(nodes.apps[2], last)
        await eventually(lambda: "tools/list_changed" in methods(third))
        if not dies:
            await lost.die()


async def test_what_a_dead_node_owed_is_sent_however_late_the_new_claim_is_heard() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        await client.at(nodes.apps[1]).ask(client.speaker.request(1, "ping"))
        _, last = await heard_one(nodes, client)
        await nodes.clusters[0].die()
        bus: Any = nodes.clusters[1].bus
        publish = bus.publish

        async def late(topic: str, body: bytes) -> str:
            # The question whether the other node lives is answered first.
            for _ in range(20):
                await asyncio.sleep(0)
            return str(await publish(topic, body))

        bus.publish = late
        second = await client.resumed(nodes.apps[1], last)
        await eventually(lambda: "tools/list_changed" in methods(second))


async def test_a_stream_that_is_resumed_at_its_own_node_still_gets_changes() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        first = await client.listening(nodes.apps[0])
        nodes.servers[1].notify.tool_list_changed()
        await settled(nodes)
        second = await client.resumed(nodes.apps[0], first.messages[-1].id)
        await first.ended()
        await settled(nodes)
        nodes.servers[1].notify.tool_list_changed()
        await settled(nodes)
        assert methods(second) == ["tools/list_changed"]


async def test_a_node_that_drains_hands_its_streams_over_with_a_time_to_come_back() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        first = await client.listening(nodes.apps[0])
        nodes.servers[1].notify.tool_list_changed()
        await settled(nodes)
        await nodes.apps[0].drain()
        await first.ended()
        reply = first.so_far
        assert reply is not None
        assert reply.events[-1].retry is not None
        refused = await client.at(nodes.apps[0]).get().whole()
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        second = await client.resumed(nodes.apps[1], first.messages[-1].id)
        await settled(nodes)
        nodes.servers[1].notify.tool_list_changed()
        await settled(nodes)
        assert methods(second) == ["tools/list_changed"]
