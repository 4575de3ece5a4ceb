"""Fail-over: what the replica has got is there, and compare-and-set holds as before."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec import Raw

from mcp_gen.cluster.redis.cluster import Redis
from mcp_gen.core.stores.events import StoredEvent, StreamStatus
from mcp_gen.core.stores.failures import StoreDown
from mcp_gen.core.stores.sessions import StoredSession
from mcp_gen.core.stores.tasks import StoredTask
from tests.support.processes.redis_failover import SERVICE, replica_in_cluster, sentinel_pair
from tests.support.processes.redis_server import RedisServer, redis_cluster

NOW = 1_800_000_000.0
LIMIT_S = 40.0

T = TypeVar("T")


async def goes_on(here: Redis, there: Redis, master: RedisServer) -> None:
    """Kill a master, and see that the stores have what was stored before."""
    session = StoredSession(id="s", client=Raw(b"{}"), revision="one", began_at=NOW)
    task = StoredTask(id="t", created_at=NOW, updated_at=NOW, expires_at=None, revision="one")
    async with asyncio.timeout(2 * LIMIT_S):
        await here.start()
        await there.start()
        assert await here.sessions.create(session, limit=5, keep_s=600)
        assert await here.sessions.update("s", {"ready": True}, 0) == 1
        assert await here.events.begin("s", "r1", "node", [1])
        assert await here.events.append("s", "r1", 1, b"1")
        assert await here.tasks.add(task, NOW)
        assert await here.tasks.claim("t", "w", 5.0, NOW)
        # Replication is asynchronous: what this has not reached may be lost.
        assert master.run("WAIT", 1, int(LIMIT_S * 1000)) >= 1
        master.stop(signal.SIGKILL)
        await until(lambda: not here.is_up and not there.is_up)
        assert await repeated(there, lambda: there.events.status("s", "r1")) == StreamStatus(
            "node", (1,), 1, False
        )
        assert await repeated(here, lambda: here.events.append("s", "r1", 2, b"2"))
        assert await repeated(there, lambda: there.events.end("s", "r1", 3, b"3"))
        assert not await repeated(here, lambda: here.events.append("s", "r1", 4, b"4"))
        found = await repeated(here, lambda: here.events.after("s", "r1", 0))
        assert list(found or ()) == [StoredEvent(n, b"%d" % n) for n in (1, 2, 3)]
        assert await repeated(there, lambda: there.sessions.update("s", {}, 0)) is None
        assert await repeated(here, lambda: here.sessions.update("s", {}, 1)) == 2
        assert not await repeated(there, lambda: there.tasks.claim("t", "x", 5.0, NOW))
        await here.aclose()
        await there.aclose()


async def repeated(node: Redis, operation: Callable[[], Awaitable[T]]) -> T:
    """Try until the server that has taken over is known and takes writes."""
    while True:
        await until(lambda: node.is_up)
        with suppress(StoreDown):
            return await operation()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that takes seconds."""
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110
            # Nothing tells of it.
            await asyncio.sleep(0.02)


async def test_stores_go_on_with_the_server_that_a_sentinel_promotes(tmp_path: Path) -> None:
    with sentinel_pair(tmp_path) as pair:
        nodes = [Redis.sentinel([("127.0.0.1", pair.port)], SERVICE) for _ in range(2)]
        await goes_on(nodes[0], nodes[1], pair.master)


# redis-py does not close servers of a Cluster that it was about to find out when it was given up:
# they close when they are collected, and complain.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_stores_go_on_when_a_replica_takes_over_in_a_cluster(tmp_path: Path) -> None:
    with (
        redis_cluster(tmp_path) as masters,
        replica_in_cluster(tmp_path / "replica", masters, "{mcp:session:s}") as number,
    ):
        others = [server for server in masters if server is not masters[number]]
        here, there = (Redis.cluster(others[0].url) for _ in range(2))
        await goes_on(here, there, masters[number])
        gc.collect()
