"""Keys of requestState that nodes share: rotation, and the order that all nodes can open."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mcp_gen.cluster.redis import state_keys
from mcp_gen.cluster.redis.addresses import ServerAddress
from mcp_gen.cluster.redis.bus import BusKeys
from mcp_gen.cluster.redis.connection import RedisConnection
from mcp_gen.cluster.redis.state_keys import SPREAD_S, StateKeys
from tests.support.processes.redis_server import RedisServer

ROTATE_S = 1000.0
KEEP_S = 500.0


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(state_keys, "time", clock)
    return clock


@asynccontextmanager
async def two(server: RedisServer) -> AsyncGenerator[tuple[StateKeys, StateKeys]]:
    """Yield the keys of two nodes."""
    connections = [RedisConnection(ServerAddress(server.url), 5.0) for _ in range(2)]
    try:
        first, second = (
            StateKeys(connection, BusKeys("mcp"), rotate_s=ROTATE_S, keep_s=KEEP_S)
            for connection in connections
        )
        yield first, second
    finally:
        for connection in connections:
            await connection.aclose()


async def test_the_nodes_have_the_same_keys_and_a_new_cluster_has_one(
    redis_server: RedisServer, clock: Clock
) -> None:
    async with two(redis_server) as (first, second):
        assert first.current() == []
        await first.load()
        await second.load()
        assert first.current() == second.current()
        assert [len(key) for key in first.current()] == [32]


async def test_a_new_key_seals_when_all_nodes_know_it_and_the_old_one_opens_until_it_expires(
    redis_server: RedisServer, clock: Clock
) -> None:
    async with two(redis_server) as (first, second):
        await first.load()
        [old] = first.current()
        clock.now += ROTATE_S
        await first.load()
        await second.load()
        [sealing, new] = second.current()
        assert (sealing, first.current()) == (old, [old, new])
        clock.now += SPREAD_S
        assert first.current() == second.current() == [new, old]
        clock.now += KEEP_S - SPREAD_S
        await first.load()
        assert first.current() == [new]


async def test_two_nodes_that_rotate_at_once_make_one_key(
    redis_server: RedisServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two(redis_server) as (first, second):
        get = StateKeys._get
        others = [second]

        async def meanwhile(self: StateKeys) -> bytes:
            stored = await get(self)
            if others and self is first:
                await others.pop().load()
            return stored

        monkeypatch.setattr(StateKeys, "_get", meanwhile)
        await first.load()
        assert first.current() == second.current() != []
        assert len(first.current()) == 1


async def test_the_keys_are_looked_at_now_and_then(redis_server: RedisServer, clock: Clock) -> None:
    async with two(redis_server) as (first, second):
        await first.load()
        await second.load()
        redis_server.run("FLUSHALL")
        await first.load()
        await second.refresh()
        assert second.current() != first.current()
        clock.now += 31
        await second.refresh()
        assert second.current() == first.current()


async def test_the_keys_expire_when_nobody_needs_them(
    redis_server: RedisServer, clock: Clock
) -> None:
    async with two(redis_server) as (first, _):
        await first.load()
        ttl_ms = redis_server.run("PTTL", BusKeys("mcp").state_keys)
        assert 0 < ttl_ms <= (ROTATE_S + KEEP_S) * 1000
