"""The suites of the contracts, over memory and over a Redis server."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp_gen.cluster.redis.events import RedisEvents
from mcp_gen.cluster.redis.once import RedisOnce
from mcp_gen.cluster.redis.sessions import RedisSessions
from mcp_gen.cluster.redis.states import RedisStates
from mcp_gen.cluster.redis.tasks import RedisTasks
from mcp_gen.core.stores.events import MemoryEventStore
from mcp_gen.core.stores.once import MemoryOnceStore
from mcp_gen.core.stores.sessions import MemorySessionStore
from mcp_gen.core.stores.state import MemoryStateStore
from mcp_gen.core.stores.tasks import MemoryTaskStore
from mcp_gen.testing.stores import (
    EventStoreSuite,
    OnceStoreSuite,
    SessionStoreSuite,
    StateStoreSuite,
    TaskStoreSuite,
)
from tests.cluster.stores.opening import OverRedis


@asynccontextmanager
async def in_memory(store: Any, count: int) -> AsyncGenerator[Sequence[Any]]:
    yield [store] * count


class TestMemoryEvents(EventStoreSuite):
    def open_stores(self, count: int) -> AbstractAsyncContextManager[Sequence[Any]]:
        return in_memory(MemoryEventStore(), count)


class TestMemorySessions(SessionStoreSuite):
    def open_stores(self, count: int) -> AbstractAsyncContextManager[Sequence[Any]]:
        return in_memory(MemorySessionStore(), count)


class TestMemoryTasks(TaskStoreSuite):
    def open_stores(self, count: int) -> AbstractAsyncContextManager[Sequence[Any]]:
        return in_memory(MemoryTaskStore(), count)


class TestMemoryOnce(OnceStoreSuite):
    def open_stores(self, count: int) -> AbstractAsyncContextManager[Sequence[Any]]:
        return in_memory(MemoryOnceStore(60.0, time.monotonic), count)


class TestMemoryStates(StateStoreSuite):
    def open_stores(self, count: int) -> AbstractAsyncContextManager[Sequence[Any]]:
        return in_memory(MemoryStateStore(), count)


class TestRedisEvents(OverRedis, EventStoreSuite):
    make = RedisEvents


class TestRedisSessions(OverRedis, SessionStoreSuite):
    make = RedisSessions


class TestRedisTasks(OverRedis, TaskStoreSuite):
    make = RedisTasks


class TestRedisOnce(OverRedis, OnceStoreSuite):
    make = RedisOnce


class TestRedisStates(OverRedis, StateStoreSuite):
    make = RedisStates
