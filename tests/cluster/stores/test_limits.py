"""Limits of stores, the same in memory and in Redis."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias
from unittest import mock

import pytest

from mcp_gen.cluster.redis.events import RedisEvents
from mcp_gen.cluster.redis.keys import Keys
from mcp_gen.cluster.redis.once import RedisOnce
from mcp_gen.cluster.redis.tasks import RedisTasks
from mcp_gen.core.stores.events import MemoryEventStore, SharedEventStore, StreamStatus
from mcp_gen.core.stores.tasks import MemoryTaskStore, SharedTaskStore, StoredTask
from mcp_gen.testing.stores.running import done
from tests.cluster.stores.opening import connections
from tests.support.processes.redis_server import RedisServer

NOW = 1_800_000_000.0

Events: TypeAlias = Callable[..., AbstractAsyncContextManager[SharedEventStore]]
Tasks: TypeAlias = Callable[..., AbstractAsyncContextManager[SharedTaskStore]]


def opener(request: pytest.FixtureRequest, in_memory: Any, in_redis: Any) -> Any:
    """Return a function that opens a store with limits."""

    @asynccontextmanager
    async def over_memory(**limits: int) -> AsyncGenerator[Any]:
        yield in_memory(**limits)

    @asynccontextmanager
    async def over_redis(**limits: int) -> AsyncGenerator[Any]:
        async with connections(server, 1) as (connection,):
            yield in_redis(connection, Keys("test"), **limits)

    if request.param == "memory":
        return over_memory
    server: RedisServer = request.getfixturevalue("redis_server")
    return over_redis


@pytest.fixture(params=["memory", "redis"])
def events(request: pytest.FixtureRequest) -> Events:
    opened: Events = opener(request, MemoryEventStore, RedisEvents)
    return opened


@pytest.fixture(params=["memory", "redis"])
def tasks(request: pytest.FixtureRequest) -> Tasks:
    opened: Tasks = opener(request, MemoryTaskStore, RedisTasks)
    return opened


async def numbers(store: SharedEventStore, stream: str) -> list[int] | None:
    found = await store.after("s", stream, 0)
    return None if found is None else [event.number for event in found]


# --- events ---


async def test_a_session_keeps_its_last_messages_over_all_streams(events: Events) -> None:
    async with events(session_events=3) as store:
        for stream in ("r1", "r2"):
            assert await done(store.begin("s", stream, "node", [1]))
        for number in (1, 2, 3):
            assert await done(store.append("s", "r1", number, b"x"))
        assert await done(store.append("s", "r2", 1, b"x"))
        assert await numbers(store, "r1") == [2, 3]
        assert await numbers(store, "r2") == [1]


async def test_a_session_keeps_so_many_bytes_and_the_newest_message_always(events: Events) -> None:
    async with events(session_bytes=10) as store:
        assert await done(store.begin("s", "r1", "node", [1]))
        assert await done(store.append("s", "r1", 1, b"x" * 6))
        assert await done(store.append("s", "r1", 2, b"x" * 4))
        assert await numbers(store, "r1") == [1, 2]
        assert await done(store.append("s", "r1", 3, b"x" * 5))
        assert await numbers(store, "r1") == [2, 3]
        assert await done(store.append("s", "r1", 4, b"x" * 50))
        assert await numbers(store, "r1") == [4]
        assert await done(store.append("s", "r1", 5, b"x"))
        assert await numbers(store, "r1") == [5]


async def test_a_stream_that_has_ended_is_forgotten_with_its_last_message(events: Events) -> None:
    async with events(session_events=2) as store:
        assert await done(store.begin("s", "r1", "node", [1]))
        assert await done(store.end("s", "r1", 1, b"x"))
        assert await done(store.begin("s", "r2", "node", [2]))
        assert await done(store.append("s", "r2", 1, b"x"))
        assert await numbers(store, "r1") == [1]
        assert await done(store.append("s", "r2", 2, b"x"))
        assert await numbers(store, "r1") is None
        assert await store.status("s", "r1") is None


async def test_a_call_that_runs_is_not_forgotten_however_much_others_send(events: Events) -> None:
    async with events(session_events=2) as store:
        for stream in ("r1", "r2", "r3"):
            assert await done(store.begin("s", stream, "node", [1]))
        assert await done(store.append("s", "r1", 1, b"x"))
        for number in range(1, 6):
            assert await done(store.append("s", "r3", number, b"x"))
        assert await store.status("s", "r1") == StreamStatus("node", (1,), 1, False)
        assert await numbers(store, "r1") == []
        assert await done(store.append("s", "r1", 2, b"x"))
        assert await done(store.end("s", "r2", 1, b"x"))


async def test_streams_of_no_request_do_not_pile_up(events: Events) -> None:
    async with events(session_events=3) as store:
        for number in range(10):
            assert await done(store.begin("s", f"g{number}", "node", []))
        known = [await store.status("s", f"g{number}") for number in range(10)]
        assert [status is not None for status in known] == [False] * 7 + [True] * 3


async def test_streams_that_end_without_a_message_do_not_pile_up(events: Events) -> None:
    async with events(session_events=3) as store:
        for number in range(10):
            assert await done(store.begin("s", f"r{number}", "node", [number]))
            assert await done(store.end("s", f"r{number}", 0, None))
        known = [await store.status("s", f"r{number}") for number in range(10)]
        assert [status is not None for status in known] == [False] * 7 + [True] * 3


async def test_one_session_does_not_take_the_room_of_another(events: Events) -> None:
    async with events(session_events=2) as store:
        for session in ("s", "other"):
            assert await done(store.begin(session, "r1", "node", [1]))
        assert await done(store.append("s", "r1", 1, b"x"))
        for number in range(1, 9):
            assert await done(store.append("other", "r1", number, b"x"))
        assert await numbers(store, "r1") == [1]


# --- tasks ---


def a_task(id: str, principal: str, **fields: Any) -> StoredTask:
    given: dict[str, Any] = {"created_at": NOW, "updated_at": NOW, "expires_at": NOW + 60}
    return StoredTask(id=id, principal=principal, revision="one", **{**given, **fields})


async def known(store: SharedTaskStore, *ids: str) -> list[str]:
    return [id for id in ids if await store.load(id) is not None]


async def test_a_full_store_refuses_a_task(tasks: Tasks) -> None:
    async with tasks(max_tasks=2) as store:
        assert await store.add(a_task("a", "ada"), NOW)
        assert await store.add(a_task("b", "ada"), NOW)
        assert not await store.add(a_task("c", "ada"), NOW)
        assert await known(store, "a", "b", "c") == ["a", "b"]


async def test_a_full_store_drops_what_has_expired_first(tasks: Tasks) -> None:
    async with tasks(max_tasks=3) as store:
        assert await store.add(a_task("a", "ada"), NOW)
        assert await store.save(a_task("a", "ada", status="completed"))
        assert await store.add(a_task("b", "ada", expires_at=NOW + 5), NOW)
        assert await store.add(a_task("c", "bob", expires_at=None), NOW)
        assert await store.add(a_task("d", "bob"), NOW + 10)
        assert await known(store, "a", "b", "c", "d") == ["a", "c", "d"]


async def test_a_new_task_replaces_the_oldest_final_one_of_its_owner(tasks: Tasks) -> None:
    async with tasks(max_tasks=3) as store:
        for number, id in enumerate(("a", "b", "c")):
            assert await store.add(a_task(id, "ada", created_at=NOW + number), NOW)
        for id in ("c", "b"):
            created_at = NOW + ("a", "b", "c").index(id)
            assert await store.save(a_task(id, "ada", status="failed", created_at=created_at))
        assert await store.add(a_task("d", "ada", created_at=NOW + 3), NOW)
        assert await known(store, "a", "b", "c", "d") == ["a", "c", "d"]


async def test_an_owner_with_many_tasks_gives_way_to_one_with_few(tasks: Tasks) -> None:
    async with tasks(max_tasks=5) as store:
        for number, id in enumerate(("a", "b", "c", "d")):
            assert await store.add(a_task(id, "ada", created_at=NOW + number), NOW)
        assert await store.save(a_task("b", "ada", status="completed", created_at=NOW + 1))
        assert await store.save(a_task("c", "ada", status="completed", created_at=NOW + 2))
        assert await store.add(a_task("e", "bob"), NOW)
        # Ada has four, and Bob would have two.
        assert await store.add(a_task("f", "bob", created_at=NOW + 1), NOW)
        assert await known(store, "a", "b", "c", "d", "e", "f") == ["a", "c", "d", "e", "f"]
        # Ada has three, and so would Bob.
        assert not await store.add(a_task("g", "bob", created_at=NOW + 2), NOW)


async def test_a_task_that_was_replaced_is_on_no_page(tasks: Tasks) -> None:
    async with tasks(max_tasks=1) as store:
        assert await store.add(a_task("a", "ada"), NOW)
        assert await store.save(a_task("a", "ada", status="completed"))
        assert await store.add(a_task("b", "ada", created_at=NOW + 1), NOW)
        assert [task.id for task in await store.page("ada", None, None, 9)] == ["b"]


@pytest.mark.parametrize(("ttl_s", "stored_s"), [(0.2, 1), (1.0, 1), (1.1, 2)])
async def test_values_of_once_are_stored_for_whole_seconds(
    redis_server: RedisServer, ttl_s: float, stored_s: int
) -> None:
    async with connections(redis_server, 1) as (connection,):
        with mock.patch.object(connection, "run", wraps=connection.run) as run:
            await RedisOnce(connection, Keys("test"), ttl_s=ttl_s).put(None, {})
    assert run.call_args.args[-1][-1] == stored_s


async def put_at(store: RedisOnce, now_s: float, name: str, principal: str | None = None) -> None:
    """Put values of that name, at a time of the node's clock."""
    with mock.patch.object(time, "time", return_value=now_s):
        await store.put(name, {"name": name}, principal)


async def named(store: RedisOnce, now_s: float, *names: str) -> list[str]:
    """Return those of the names that have values."""
    with mock.patch.object(time, "time", return_value=now_s):
        return [name for name in names if await store.get(name)]


async def test_the_name_of_once_values_that_was_put_longest_ago_gives_way(
    redis_server: RedisServer,
) -> None:
    async with connections(redis_server, 1) as (connection,):
        store = RedisOnce(connection, Keys("test"), max_names=2)
        for second, name in enumerate(("a", "b", "a", "c")):
            await put_at(store, NOW + second, name)
        assert await named(store, NOW + 4, "a", "b", "c") == ["a", "c"]


async def test_far_more_names_of_once_values_than_allowed_leave_as_many_as_allowed(
    redis_server: RedisServer,
) -> None:
    async with connections(redis_server, 1) as (connection,):
        store = RedisOnce(connection, Keys("test"), max_names=3)
        for number in range(300):
            await put_at(store, NOW + number, str(number))
        keys = Keys("test").once(None)
        assert redis_server.run("HLEN", keys.values) == redis_server.run("ZCARD", keys.ends) == 3


async def test_names_of_once_values_of_one_principal_take_no_room_of_another(
    redis_server: RedisServer,
) -> None:
    async with connections(redis_server, 1) as (connection,):
        store = RedisOnce(connection, Keys("test"), max_names=1)
        await store.put("a", {"of": "ada"}, "ada")
        for name in ("b", "c"):
            await store.put(name, {"of": "bob"}, "bob")
        assert await store.get("a", "ada") == {"of": "ada"}


async def test_once_values_expire_one_by_one(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        store = RedisOnce(connection, Keys("test"), ttl_s=100)
        await put_at(store, NOW, "early")
        await put_at(store, NOW + 60, "late")
        assert await named(store, NOW + 99.9, "early", "late") == ["early", "late"]
        assert await named(store, NOW + 100, "early", "late") == ["late"]
        await put_at(store, NOW + 101, "new")
        assert redis_server.run("HKEYS", Keys("test").once(None).values) == [b"late", b"new"]


async def test_a_task_that_never_expires_is_stored_for_thirty_days(
    redis_server: RedisServer,
) -> None:
    task = StoredTask(id="t", created_at=NOW, updated_at=NOW, expires_at=None, revision="any")
    async with connections(redis_server, 1) as (connection,):
        assert await RedisTasks(connection, Keys("test")).add(task, NOW)
        left_s = await connection.execute("TTL", Keys("test").task("t"))
    # With the margin of a minute; a slow machine may take some of it.
    assert 30 * 24 * 3600 < left_s <= 30 * 24 * 3600 + 60
