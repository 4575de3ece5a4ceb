"""Fail-over: a replica takes over, and all nodes go on in one order."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_gen.cluster.redis.cluster import Redis
from mcp_gen.core.stores.failures import BusDown
from tests.support.processes.redis_failover import SERVICE, replica_in_cluster, sentinel_pair
from tests.support.processes.redis_server import RedisServer, redis_cluster

from .nodes import TOPIC, Received, answer_upper, started

LIMIT_S = 40.0


async def goes_on(nodes: Sequence[Redis], master: RedisServer) -> None:
    """Kill a master, and see that the nodes agree on what was sent before and after."""
    async with started(nodes), asyncio.timeout(2 * LIMIT_S):
        received = [Received(node.bus) for node in nodes]
        nodes[1].bus.answer(TOPIC, answer_upper)
        for number in range(20):
            await nodes[number % 2].bus.publish(TOPIC, f"before{number}".encode())
        await until(lambda: all("before19" in one.all for one in received))
        master.stop(signal.SIGKILL)
        await until(lambda: not any(node.is_up for node in nodes))
        await until(lambda: all(node.is_up for node in nodes))
        await publish(nodes[0], b"after")
        await until(lambda: all("after" in one.all for one in received))
        for one in received:
            bodies = [body for body in one.all if body not in ("down", "up", "gap")]
            assert bodies == [*(f"before{number}" for number in range(20)), "after"]
        assert await nodes[0].bus.ask(nodes[1].node, TOPIC, b"a", 10.0) == b"A"


async def publish(node: Redis, body: bytes) -> None:
    """Publish; the other servers may learn a moment later who took over."""
    while True:
        try:
            await node.bus.publish(TOPIC, body)
        except BusDown:
            await until(lambda: node.is_up)
        else:
            return


async def until(condition: object) -> None:
    """Wait for a condition that takes seconds."""
    assert callable(condition)
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110
            # Nothing tells of it.
            await asyncio.sleep(0.02)


async def test_nodes_go_on_with_the_server_that_a_sentinel_promotes(tmp_path: Path) -> None:
    with sentinel_pair(tmp_path) as pair:
        sentinels = [("127.0.0.1", pair.port)]
        await goes_on([Redis.sentinel(sentinels, SERVICE) for _ in range(2)], pair.master)


# redis-py does not close servers of a Cluster that it was about to find out when it was given up:
# they close when they are collected, and complain.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_nodes_go_on_when_a_replica_takes_over_in_a_cluster(tmp_path: Path) -> None:
    with (
        redis_cluster(tmp_path) as masters,
        replica_in_cluster(tmp_path / "replica", masters, "{mcp:bus}") as number,
    ):
        others = [server for server in masters if server is not masters[number]]
        nodes = [Redis.cluster(others[0].url) for _ in range(2)]
        await goes_on(nodes, masters[number])
        gc.collect()
