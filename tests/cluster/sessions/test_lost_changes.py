"""Changes while streams move, nodes are cut off and the store fails: none is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_gen.cluster import MemoryCluster
from mcp_gen.core.stores.failures import StoreDown
from mcp_gen.session.cluster import bodies
from mcp_gen.session.cluster.session import ClusteredSession
from tests.cluster.sessions.changing import URI, changing_server, heard_one, methods, settled
from tests.cluster.sessions.nodes import LAST, Nodes, eventually, nodes_of
from tests.support.peers.raw import WAIT_S


class HeldReads:
    """Reads of a node's events that wait for `go_on`."""

    def __init__(self, events: Any) -> None:
        self._events = events
        self._after = events.after
        self._goes_on = asyncio.Event()
        self.waiting = 0
        events.after = self._read

    async def _read(self, *given: Any) -> Any:
        self.waiting += 1
        await self._goes_on.wait()
        return await self._after(*given)

    def go_on(self) -> None:
        """Let those that wait go on, and hold no more."""
        self._events.after = self._after
        self._goes_on.set()


async def test_a_stream_that_a_client_resumes_twice_at_once_still_gets_changes() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        _, last = await heard_one(nodes, client)
        reads = HeldReads(nodes.clusters[1].events)
        # The client has given the first of them up when the store answers.
        lost = client.at(nodes.apps[1]).get(**{LAST: last})
        await eventually(lambda: reads.waiting == 1)
        second = client.get(**{LAST: last})
        await eventually(lambda: reads.waiting == 2)
        reads.go_on()
        await second.head()
        lost.hang_up()
        await lost.ended()
        await settled(nodes)
        nodes.servers[0].notify.tool_list_changed()
        await eventually(lambda: methods(second) == ["tools/list_changed"])


async def test_a_change_that_comes_before_a_node_hears_that_its_stream_has_ended_is_kept() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        first, last = await heard_one(nodes, client)
        bus: Any = nodes.clusters[0].bus
        publish, goes_on = bus.publish, asyncio.Event()

        async def late(topic: str, body: bytes) -> str:
            if topic == bodies.LEAVES:
                await goes_on.wait()
            return str(await publish(topic, body))

        bus.publish = late
        first.hang_up()
        await first.ended()
        nodes.servers[1].notify.tool_list_changed()
        await settled(nodes)
        goes_on.set()
        second = await client.resumed(nodes.apps[1], last)
        await eventually(lambda: "tools/list_changed" in methods(second))


async def test_a_stream_that_ends_during_an_outage_of_its_node_is_known_to_have_ended() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        await client.at(nodes.apps[1]).ask(client.speaker.request(1, "ping"))
        first, last = await heard_one(nodes, client)
        nodes.clusters[0].disconnect()
        first.hang_up()
        await first.ended()
        nodes.clusters[0].reconnect()
        (copy,) = nodes.servers[1].sessions()
        assert isinstance(copy, ClusteredSession)
        await eventually(lambda: not copy.reachable)
        nodes.servers[1].notify.tool_list_changed()
        await settled(nodes)
        second = await client.resumed(nodes.apps[1], last)
        await eventually(lambda: "tools/list_changed" in methods(second))


async def test_an_event_that_a_former_node_stores_late_ends_the_stream_for_a_resume() -> None:
    async with nodes_of(changing_server, 2, heartbeat_s=0.02) as nodes:
        client = await nodes.client()
        _, last = await heard_one(nodes, client)
        events: Any = nodes.clusters[0].events
        write, goes_on, waiting = events.write, asyncio.Event(), asyncio.Event()

        async def slow(*given: Any, **named: Any) -> bool:
            waiting.set()
            await goes_on.wait()
            stored = write(*given, **named)
            return stored is None or bool(await stored)

        events.write = slow
        nodes.servers[0].notify.resource_list_changed()
        await asyncio.wait_for(waiting.wait(), WAIT_S)
        second = await client.resumed(nodes.apps[1], last)
        await settled(nodes)
        goes_on.set()
        await second.ended()
        third = await client.resumed(nodes.apps[1], last)
        await eventually(lambda: "resources/list_changed" in methods(third))


async def test_a_subscription_is_known_where_the_store_failed_when_it_was_to_be_read() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        stream = await client.listening(nodes.apps[1])
        sessions: Any = nodes.clusters[1].sessions
        load, failed = sessions.load, asyncio.Event()

        async def fail(id: str) -> Any:
            failed.set()
            sessions.load = load
            raise StoreDown("it is away for a moment")

        sessions.load = fail
        ask = client.speaker.request(1, "resources/subscribe", {"uri": URI})
        assert "result" in (await client.at(nodes.apps[0]).ask(ask)).json
        await asyncio.wait_for(failed.wait(), WAIT_S)
        (copy,) = nodes.servers[1].sessions()
        assert isinstance(copy, ClusteredSession)
        await eventually(lambda: URI in copy.subscribed)
        nodes.servers[0].notify.resource_updated(URI)
        await eventually(lambda: methods(stream) == ["resources/updated"])


class HeldLoads:
    """Loads of sessions at a node that wait for `go_on`."""

    def __init__(self, sessions: Any) -> None:
        self._load = sessions.load
        self._goes_on = asyncio.Event()
        self.begun = asyncio.Event()
        sessions.load = self._held

    async def _held(self, id: str) -> Any:
        self.begun.set()
        await self._goes_on.wait()
        return await self._load(id)

    def go_on(self) -> None:
        """Let all of them go on."""
        self._goes_on.set()


@pytest.mark.parametrize(("changed", "heard"), [([URI], 1), ([URI, URI], 1), (["shop://other"], 0)])
async def test_a_change_right_after_a_subscription_is_heard_while_the_subscription_is_read(
    changed: list[str], heard: int
) -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        stream = await client.listening(nodes.apps[1])
        loads = HeldLoads(nodes.clusters[1].sessions)
        ask = client.speaker.request(1, "resources/subscribe", {"uri": URI})
        assert "result" in (await client.at(nodes.apps[0]).ask(ask)).json
        await asyncio.wait_for(loads.begun.wait(), WAIT_S)
        for uri in changed:
            nodes.servers[0].notify.resource_updated(uri)
            await settled(nodes)
        loads.go_on()
        await settled(nodes)
        nodes.servers[0].notify.tool_list_changed()
        await eventually(lambda: "tools/list_changed" in methods(stream))
        assert methods(stream) == ["resources/updated"] * heard + ["tools/list_changed"]


async def test_far_more_changes_than_are_kept_while_a_subscription_is_read_lose_none() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        stream = await client.listening(nodes.apps[1])
        loads = HeldLoads(nodes.clusters[1].sessions)
        ask = client.speaker.request(1, "resources/subscribe", {"uri": URI})
        assert "result" in (await client.at(nodes.apps[0]).ask(ask)).json
        await asyncio.wait_for(loads.begun.wait(), WAIT_S)
        for number in range(300):
            nodes.servers[0].notify.resource_updated(f"shop://{number}")
        nodes.servers[0].notify.resource_updated(URI)
        await settled(nodes)
        loads.go_on()
        await eventually(lambda: methods(stream).count("resources/updated") == 1)


async def test_a_subscription_that_a_node_has_missed_is_known_after_the_gap() -> None:
    nodes = Nodes()
    first = MemoryCluster(max_messages=2, heartbeat_s=30.0)
    for cluster in (first, first.another_node()):
        nodes.add(cluster, changing_server(0))
    try:
        for app in nodes.apps:
            await app.start()
        client = await nodes.client()
        stream = await client.listening(nodes.apps[1])
        await settled(nodes)
        nodes.clusters[1].disconnect()
        ask = client.speaker.request(1, "resources/subscribe", {"uri": URI})
        assert "result" in (await client.at(nodes.apps[0]).ask(ask)).json
        nodes.servers[0].notify.resource_updated(URI)
        for _ in range(5):
            await nodes.clusters[0].bus.publish("noise", b"")
        nodes.clusters[1].reconnect()
        await eventually(lambda: "resources/updated" in methods(stream))
    finally:
        await nodes.aclose()


async def test_a_running_stream_that_a_client_resumes_twice_at_once_still_gets_changes() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        client = await nodes.client()
        _, last = await heard_one(nodes, client)
        reads = HeldReads(nodes.clusters[0].events)
        both = [client.at(nodes.apps[0]).get(**{LAST: last})]
        await eventually(lambda: reads.waiting == 1)
        both.append(client.get(**{LAST: last}))
        await eventually(lambda: reads.waiting == 2)
        reads.go_on()
        await both[1].head()
        await both[0].ended()
        await settled(nodes)
        (copy,) = nodes.servers[0].sessions()
        assert isinstance(copy, ClusteredSession)
        both[1].hang_up()
        await both[1].ended()
        assert not copy.streams.has_listeners_here
