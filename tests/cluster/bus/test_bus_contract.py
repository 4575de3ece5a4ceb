"""The suite of the bus, over memory, a Redis server, a Sentinel pair and a Redis Cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mcp_gen.core.stores.failures import BusDown
from mcp_gen.testing.stores import BusSuite
from tests.support.loop import until
from tests.support.processes.redis_server import WAIT_S

from .conftest import MakeNodes
from .nodes import TOPIC, AnyNode, Received, started


class TestBus(BusSuite):
    @pytest.fixture(autouse=True)
    def _nodes_of(self, nodes_of: MakeNodes) -> None:
        self._make = nodes_of

    @asynccontextmanager
    async def open_nodes(self, count: int) -> AsyncGenerator[list[AnyNode]]:
        nodes = self._make(count)
        async with started(nodes):
            yield nodes


async def test_a_node_gets_nothing_from_before_it_joined(nodes_of: MakeNodes) -> None:
    first, second = nodes_of(2)
    received = Received(second.bus)
    async with started([first]):
        await first.bus.publish(TOPIC, b"before")
        async with started([second]):
            await first.bus.publish(TOPIC, b"after")
            await until(lambda: received.all)
            assert received.all == ["after"]


async def test_a_node_that_was_not_started_is_down(nodes_of: MakeNodes) -> None:
    [node] = nodes_of(1)
    assert not node.is_up
    with pytest.raises(BusDown):
        await node.bus.publish(TOPIC, b"a")
    with pytest.raises(BusDown):
        await node.bus.ask("nobody", TOPIC, b"a")


async def test_a_node_that_is_closed_waits_for_the_ends_of_its_handlers(
    nodes_of: MakeNodes,
) -> None:
    first, second = nodes_of(2)
    began, ended = asyncio.Event(), asyncio.Event()

    async def never(node: str, body: bytes) -> bytes:
        began.set()
        try:
            return await asyncio.Future()
        finally:
            # What it does in the end takes many turns of the loop.
            for _ in range(500):
                await asyncio.sleep(0)
            ended.set()

    async with asyncio.timeout(WAIT_S), started([first]):
        async with started([second]):
            second.bus.answer(TOPIC, never)
            asking = asyncio.create_task(first.bus.ask(second.node, TOPIC, b"a", 2 * WAIT_S))
            await began.wait()
        assert ended.is_set()
        asking.cancel()
        await asyncio.wait([asking])
