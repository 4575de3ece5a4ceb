"""The cluster in memory: bus, leases, gaps, and what its tests' methods make happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mcp_gen.cluster import MemoryCluster
from mcp_gen.core.errors import UsageError
from mcp_gen.core.stores.cluster import Cluster
from mcp_gen.core.stores.failures import BusDown, NodeGone, NodeSilent
from tests.support.loop import until

from .nodes import TOPIC, Received, started


@asynccontextmanager
async def two(max_messages: int = 100) -> AsyncGenerator[tuple[MemoryCluster, MemoryCluster]]:
    first = MemoryCluster(max_messages=max_messages)
    second = first.another_node()
    async with started([first, second]):
        yield first, second


async def echo(node: str, body: bytes) -> bytes:
    return body.upper()


def test_it_fits_the_contract() -> None:
    cluster: Cluster = MemoryCluster()
    assert not cluster.is_up


async def test_a_node_that_was_started_cannot_be_started_again() -> None:
    async with two() as (first, _):
        with pytest.raises(UsageError, match="started already"):
            await first.start()


async def test_the_nodes_share_what_they_store() -> None:
    async with two() as (first, second):
        await first.states.save("key", "name", b"1", expires_at=2.0, now=1.0, max_bytes=100)
        assert await second.states.load("key", "name", now=1.0) == b"1"
        assert first.request_state_keys() == second.request_state_keys() != ()


async def test_an_emptied_store_holds_nothing_and_every_node_is_told() -> None:
    async with two() as (first, second):
        told: list[str] = []
        received = Received(second.bus)
        second.on_emptied(lambda: told.append("emptied"))
        await first.states.save("key", "name", b"1", expires_at=2.0, now=1.0, max_bytes=100)
        first.empty()
        await until(lambda: received.all)
        assert (told, received.all) == (["emptied"], ["gap"])
        assert await second.states.load("key", "name", now=1.0) is None


async def test_a_node_that_missed_more_than_is_kept_has_a_gap_before_the_rest() -> None:
    async with two(max_messages=2) as (first, second):
        received = Received(second.bus)
        second.disconnect()
        for body in (b"1", b"2", b"3"):
            await first.bus.publish(TOPIC, body)
        second.reconnect()
        assert received.all == ["down", "gap", "2", "3", "up"]


async def test_a_node_that_was_disconnected_for_a_moment_gets_everything() -> None:
    async with two() as (first, second):
        received = Received(second.bus)
        second.disconnect()
        assert not second.is_up
        with pytest.raises(BusDown):
            await second.bus.publish(TOPIC, b"lost")
        with pytest.raises(BusDown):
            await second.is_alive(first.node)
        await first.bus.publish(TOPIC, b"1")
        second.reconnect()
        assert received.all == ["down", "1", "up"]


async def test_a_frozen_node_is_silent_until_its_lease_lapses() -> None:
    async with two() as (first, second):
        second.bus.answer(TOPIC, echo)
        second.freeze(lease_s=100.0)
        with pytest.raises(NodeSilent):
            await first.bus.ask(second.node, TOPIC, b"a", timeout_s=0.01)
        second.freeze(lease_s=0.0)
        assert not await first.is_alive(second.node)
        with pytest.raises(NodeGone):
            await first.bus.ask(second.node, TOPIC, b"a")


async def test_a_frozen_node_that_goes_on_in_time_is_the_same_and_gets_everything() -> None:
    async with two() as (first, second):
        lost: list[str] = []
        second.on_lost(lost.append)
        received, node = Received(second.bus), second.node
        second.freeze(lease_s=100.0)
        await first.bus.publish(TOPIC, b"1")
        second.thaw()
        await until(lambda: received.all)
        assert (received.all, second.node, lost) == (["1"], node, [])


async def test_a_frozen_node_that_goes_on_too_late_is_another_and_gets_everything() -> None:
    async with two() as (first, second):
        lost: list[str] = []
        second.on_lost(lost.append)
        second.bus.answer(TOPIC, echo)
        received, node = Received(second.bus), second.node
        second.freeze(lease_s=0.0)
        await first.bus.publish(TOPIC, b"1")
        second.thaw()
        await until(lambda: received.all)
        assert (received.all, lost) == (["1"], [node])
        assert second.node != node
        assert await first.bus.ask(second.node, TOPIC, b"a") == b"A"


async def test_a_dead_node_is_silent_while_its_lease_lasts_and_then_gone() -> None:
    async with two() as (first, second):
        node = second.node
        await second.die(lease_s=100.0)
        with pytest.raises(NodeSilent):
            await first.bus.ask(node, TOPIC, b"a", timeout_s=0.01)
        await second.die()
        with pytest.raises(NodeGone):
            await first.bus.ask(node, TOPIC, b"a")


async def test_a_node_that_dies_while_it_answers_is_silent() -> None:
    async with two() as (first, second):
        asked = asyncio.Event()

        async def never(node: str, body: bytes) -> bytes:
            asked.set()
            await asyncio.Event().wait()
            return body

        second.bus.answer(TOPIC, never)
        asking = asyncio.create_task(first.bus.ask(second.node, TOPIC, b"a", timeout_s=10.0))
        await asked.wait()
        await second.die()
        with pytest.raises(NodeSilent):
            await asking


async def test_the_hooks_run_with_each_heartbeat_and_one_that_fails_stops_no_other() -> None:
    first = MemoryCluster(heartbeat_s=0.001)
    beats: list[int] = []

    async def fails() -> None:
        raise ValueError("a hook")

    async def beat() -> None:
        beats.append(1)

    first.on_heartbeat(fails)
    first.on_heartbeat(beat)
    async with started([first]):
        await until(lambda: len(beats) > 1)
