"""Stores in Redis: times to live, memory, commands per operation, and outages."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import Raw

from mcp_gen.cluster.redis.addresses import ServerAddress
from mcp_gen.cluster.redis.connection import RedisConnection
from mcp_gen.cluster.redis.events import RedisEvents
from mcp_gen.cluster.redis.keys import Keys
from mcp_gen.cluster.redis.once import RedisOnce
from mcp_gen.cluster.redis.sessions import RedisSessions
from mcp_gen.cluster.redis.states import RedisStates
from mcp_gen.cluster.redis.tasks import RedisTasks
from mcp_gen.core.stores.events import StoredEvent, StreamBeginning
from mcp_gen.core.stores.failures import StoreDown
from mcp_gen.core.stores.sessions import StoredSession
from mcp_gen.core.stores.tasks import StoredTask
from tests.cluster.stores.opening import connections
from tests.support.processes.redis_server import RedisServer

NOW = 1_800_000_000.0
KEYS = Keys("test")
CLIENT = Raw(
    b'{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{},"sampling":{}},'
    b'"clientInfo":{"name":"a client with a name","version":"1.2.3"}}'
)


class Stores:
    """All stores over one connection."""

    def __init__(self, connection: RedisConnection) -> None:
        self.sessions = RedisSessions(connection, KEYS)
        self.events = RedisEvents(connection, KEYS)
        self.tasks = RedisTasks(connection, KEYS)
        self.once = RedisOnce(connection, KEYS)
        self.states = RedisStates(connection, KEYS)


def a_session(id: str = "s") -> StoredSession:
    return StoredSession(id=id, client=CLIENT, revision="one", began_at=NOW, principal="ada")


def a_task(id: str = "t", **fields: Any) -> StoredTask:
    given: dict[str, Any] = {"created_at": NOW, "updated_at": NOW, "expires_at": NOW + 100}
    return StoredTask(id=id, principal="ada", revision="one", **{**given, **fields})


# --- times to live ---


async def test_a_session_lives_as_long_as_it_is_heard_of(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        stores = Stores(connection)
        assert await stores.sessions.create(a_session(), limit=9, keep_s=1000)
        assert await stores.events.begin("s", "r1", "node", [1])
        assert await stores.events.append("s", "r1", 1, b"x")
        names = KEYS.session("s")
        for key in names:
            assert redis_server.run("EXPIRE", key, 5) == 1
        assert await stores.sessions.touch({"s": NOW + 1}) == []
        assert [redis_server.run("TTL", key) > 900 for key in names] == [True] * 4


async def test_a_touch_does_not_shorten_the_life_of_streams(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        stores = Stores(connection)
        assert await stores.sessions.create(a_session(), limit=9, keep_s=10)
        assert await stores.events.begin("s", "r1", "node", [1])
        assert await stores.sessions.touch({"s": NOW + 1}) == []
        names = KEYS.session("s")
        assert redis_server.run("TTL", names.session) <= 70
        assert redis_server.run("TTL", names.streams) > 3000


async def test_a_message_makes_a_stream_live_longer(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        events = RedisEvents(connection, KEYS, ttl_s=1000)
        assert await events.begin("s", "r1", "node", [1])
        assert await events.append("s", "r1", 1, b"x")
        _, *names = KEYS.session("s")
        for key in names:
            assert redis_server.run("EXPIRE", key, 5) == 1
        assert await events.append("s", "r1", 2, b"x")
        assert [redis_server.run("TTL", key) > 900 for key in names] == [True] * 3


async def test_a_message_does_not_shorten_the_life_of_a_stream(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        events = RedisEvents(connection, KEYS, ttl_s=10)
        assert await events.begin("s", "r1", "node", [1])
        assert redis_server.run("EXPIRE", KEYS.session("s").streams, 1000) == 1
        assert await events.append("s", "r1", 1, b"x")
        assert redis_server.run("TTL", KEYS.session("s").streams) > 900


async def test_a_task_lives_a_little_longer_than_its_time(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        tasks = RedisTasks(connection, KEYS)
        assert await tasks.add(a_task(), NOW)
        assert 100 < redis_server.run("TTL", KEYS.task("t")) <= 160
        assert await tasks.save(a_task(updated_at=NOW + 80))
        assert 20 < redis_server.run("TTL", KEYS.task("t")) <= 80
        assert await tasks.save(a_task(expires_at=None))
        assert redis_server.run("TTL", KEYS.task("t")) > 1_000_000


async def test_state_lives_until_it_expires(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        states = RedisStates(connection, KEYS)
        assert await states.save("k", "a", b"1", expires_at=NOW + 50, now=NOW, max_bytes=9)
        assert 40 < redis_server.run("TTL", KEYS.state("k")) <= 50


async def test_values_of_once_live_so_long(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        await RedisOnce(connection, KEYS, ttl_s=50).put(None, {"a": 1}, "ada")
        lives_s = [redis_server.run("TTL", key) for key in KEYS.once("ada")]
    assert [ttl_s for ttl_s in lives_s if not 40 < ttl_s <= 50] == []


# --- memory ---


async def test_no_key_for_messages_is_there_before_a_message(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        events = RedisEvents(connection, KEYS)
        assert await events.begin("s", "r1", "node", [1])
        assert redis_server.run("KEYS", "*") == [KEYS.session("s").streams.encode()]


async def test_an_idle_session_with_an_open_stream_takes_less_than_3_kb(
    redis_server: RedisServer,
) -> None:
    async with connections(redis_server, 1) as (connection,):
        stores = Stores(connection)
        before = redis_server.run("INFO", "memory")["used_memory_dataset"]
        for number in range(200):
            id = f"{number:043}"
            assert await stores.sessions.create(a_session(id), limit=1000, keep_s=1800)
            assert await stores.sessions.enter(id, "0123456789abcdef") == 1
            assert await stores.events.begin(id, "g1048577", "0123456789abcdef", [])
        after = redis_server.run("INFO", "memory")["used_memory_dataset"]
        assert (after - before) / 200 < 3000


async def test_messages_that_are_dropped_take_no_room(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        events = RedisEvents(connection, KEYS, session_events=3)
        for stream in ("r1", "r2"):
            assert await events.begin("s", stream, "node", [1])
            for number in range(1, 20):
                assert await events.append("s", stream, number, b"12345")
        names = KEYS.session("s")
        assert redis_server.run("HLEN", names.events) == 3
        assert redis_server.run("LLEN", names.order) == 3
        assert redis_server.run("HGET", names.streams, "bytes") == b"15"


# --- commands ---


def slots_of(command: tuple[str | bytes | int | float, ...]) -> set[str]:
    """Return the hash tags of the keys of a command."""
    texts = [part.decode() if isinstance(part, bytes) else str(part) for part in command[1:]]
    return {text[1 : text.index("}")] for text in texts if text.startswith("{test:")}


async def test_operations_send_the_documented_commands_each_for_one_slot(
    redis_server: RedisServer,
) -> None:
    async with connections(redis_server, 1) as (connection,):
        stores = Stores(connection)
        sessions, events, tasks = stores.sessions, stores.events, stores.tasks
        sent = 0
        execute_all = connection.send

        async def count(commands: Any) -> Any:
            nonlocal sent
            sent += len(commands)
            for command in commands:
                assert len(slots_of(command)) <= 1, command
            return await execute_all(commands)

        connection.send = count  # type: ignore[method-assign]
        final = a_task(status="completed", attempt=1)
        operations: list[tuple[Callable[[], Awaitable[Any]], int]] = [
            (lambda: sessions.create(a_session(), limit=9, keep_s=60), 2),
            (lambda: sessions.load("s"), 1),
            (lambda: sessions.update("s", {"ready": True}, 0), 1),
            (lambda: sessions.enter("s", "node"), 1),
            (lambda: sessions.node_of("s", 1), 1),
            (lambda: sessions.touch({"s": NOW, "gone": NOW}), 5),
            (lambda: sessions.count(), 1),
            (lambda: sessions.expired(NOW - 1), 1),
            (lambda: events.begin("s", "r1", "node", [1]), 1),
            (lambda: events.append("s", "r1", 1, b"x"), 1),
            (lambda: events.after("s", "r1", 0), 1),
            (lambda: events.status("s", "r1"), 1),
            (lambda: events.end("s", "r1", 2, b"x"), 1),
            (
                lambda: events.write(
                    "s", "r2", [StoredEvent(1, b"x")], StreamBeginning("node", [2]), is_end=True
                ),
                1,
            ),
            (lambda: events.forget("s"), 1),
            (lambda: sessions.forget("s"), 2),
            (lambda: tasks.add(a_task(), NOW), 2),
            (lambda: tasks.claim("t", "w", 5.0, NOW), 1),
            (lambda: tasks.renew("t", "w", 5.0, NOW), 1),
            (lambda: tasks.load("t"), 1),
            (lambda: tasks.page("ada", None, None, 1), 2),
            (lambda: tasks.save(a_task(attempt=1)), 1),
            (lambda: tasks.save(final), 2),
            (lambda: tasks.forget("t"), 3),
            (lambda: stores.once.put("n", {"a": 1}), 1),
            (lambda: stores.once.get("n"), 1),
            (
                lambda: stores.states.save(
                    "k", "a", b"1", expires_at=NOW + 9, now=NOW, max_bytes=9
                ),
                1,
            ),
            (lambda: stores.states.load("k", "a", now=NOW), 1),
            (lambda: stores.states.forget("k", "a"), 1),
        ]
        await connection.load_scripts()
        counted: list[int] = []
        for operation, _ in operations:
            sent = 0
            await operation()
            # Commands that nobody waits for leave before this one is answered.
            await connection.execute("PING")
            counted.append(sent - 1)
        assert counted == [expected for _, expected in operations]


async def test_messages_of_many_calls_share_a_pipeline(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        events = RedisEvents(connection, KEYS)
        pipelines = 0

        def count() -> None:
            nonlocal pipelines
            pipelines += 1

        connection.before_flush = count
        await asyncio.gather(*(events.begin(f"s{n}", "r1", "node", [n]) for n in range(100)))
        await asyncio.gather(*(events.append(f"s{n}", "r1", 1, b"x") for n in range(100)))
        assert pipelines == 2


async def test_messages_that_nobody_waits_for_are_stored_in_order(
    redis_server: RedisServer,
) -> None:
    async with connections(redis_server, 1) as (connection,):
        events = RedisEvents(connection, KEYS)
        events.begin("s", "r1", "node", [1])
        for number in range(1, 50):
            events.append("s", "r1", number, b"%d" % number)
            if number % 7 == 0:
                await asyncio.sleep(0)
        assert await events.end("s", "r1", 50, b"50")
        found = await events.after("s", "r1", 0)
        assert [event.number for event in found or ()] == list(range(1, 51))


async def test_a_server_that_has_lost_its_scripts_gets_them_again(
    redis_server: RedisServer,
) -> None:
    async with connections(redis_server, 1) as (connection,):
        events = RedisEvents(connection, KEYS)
        assert await events.begin("s", "r1", "node", [1])
        redis_server.run("SCRIPT", "FLUSH")
        events.append("s", "r1", 1, b"1")
        assert await events.end("s", "r1", 2, b"2")
        found = await events.after("s", "r1", 0)
        assert [event.message for event in found or ()] == [b"1", b"2"]


async def test_a_stream_that_was_not_begun_takes_no_message(redis_server: RedisServer) -> None:
    async with connections(redis_server, 1) as (connection,):
        assert not await RedisEvents(connection, KEYS).append("s", "r1", 1, b"x")
        assert redis_server.run("KEYS", "*") == []


# --- outages ---


async def test_every_operation_tells_in_time_that_the_store_is_down(own_redis: RedisServer) -> None:
    operations: list[Callable[[Stores], Awaitable[Any]]] = [
        lambda stores: stores.sessions.create(a_session(), limit=9, keep_s=60),
        lambda stores: stores.sessions.load("s"),
        lambda stores: stores.sessions.touch({"s": NOW}),
        lambda stores: stores.events.append("s", "r1", 1, b"x"),
        lambda stores: stores.events.end("s", "r1", 1, b"x"),
        lambda stores: stores.events.after("s", "r1", 0),
        lambda stores: stores.tasks.claim("t", "w", 5.0, NOW),
        lambda stores: stores.tasks.page("ada", None, None, 5),
        lambda stores: stores.once.get("n"),
        lambda stores: stores.states.load("k", "a", now=NOW),
    ]
    own_redis.send(signal.SIGSTOP)
    for operation in operations:
        connection = RedisConnection(ServerAddress(own_redis.url), 0.05)
        connection.restored()
        with pytest.raises(StoreDown, match="no answer in time; try again later"):
            await operation(Stores(connection))
        await connection.aclose()
    own_redis.send(signal.SIGCONT)


async def test_a_message_that_nobody_waits_for_makes_no_noise_in_an_outage(
    own_redis: RedisServer,
) -> None:
    connection = RedisConnection(ServerAddress(own_redis.url), 0.05)
    connection.restored()
    own_redis.send(signal.SIGSTOP)
    events = RedisEvents(connection, KEYS)
    events.append("s", "r1", 1, b"x")
    events.forget("s")
    with pytest.raises(StoreDown):
        await events.status("s", "r1")
    await connection.aclose()
    own_redis.send(signal.SIGCONT)
