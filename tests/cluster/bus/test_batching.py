"""Commands of many callers share a pipeline; the heartbeat shares it with its hooks."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence
from typing import Any

import pytest

from mcp_gen.cluster.redis.addresses import ServerAddress
from mcp_gen.cluster.redis.connection import RedisConnection, Script
from mcp_gen.core.stores.failures import StoreDown
from tests.support.loop import until
from tests.support.ports import free_port
from tests.support.processes.redis_server import WAIT_S, RedisServer

from .nodes import TOPIC, started

ECHO = Script("return ARGV[1]")


class CountedConnection(RedisConnection):
    """A connection that notes the sizes of its pipelines."""

    def __init__(self, server: RedisServer, timeout_s: float = 0.5) -> None:
        address = ServerAddress(server.url)
        address.limit(timeout_s)
        super().__init__(address, timeout_s)
        self.sizes: list[int] = []
        self.restored()

    async def send(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if commands:
            self.sizes.append(len(commands))
        return await super().send(commands)


async def test_what_is_asked_for_in_one_turn_leaves_in_one_pipeline(
    redis_server: RedisServer,
) -> None:
    connection = CountedConnection(redis_server)
    try:
        numbers = await asyncio.gather(*(connection.execute("INCR", "n") for _ in range(100)))
        assert numbers == list(range(1, 101))
        assert connection.sizes == [100]
    finally:
        await connection.aclose()


async def test_a_large_turn_leaves_in_parts(redis_server: RedisServer) -> None:
    connection = CountedConnection(redis_server)
    try:
        numbers = await asyncio.gather(*(connection.execute("INCR", "n") for _ in range(1200)))
        assert numbers == list(range(1, 1201))
        assert connection.sizes == [500, 500, 200]
    finally:
        await connection.aclose()


async def test_a_command_that_is_refused_fails_alone(redis_server: RedisServer) -> None:
    connection = CountedConnection(redis_server)
    try:
        replies = await asyncio.gather(
            connection.execute("SET", "text", "a"),
            connection.execute("INCR", "text"),
            connection.execute("GET", "text"),
            return_exceptions=True,
        )
        assert [type(reply).__name__ for reply in replies] == ["bool", "ResponseError", "bytes"]
        assert connection.is_up
    finally:
        await connection.aclose()


async def test_a_script_that_the_server_has_forgotten_is_sent_whole(
    redis_server: RedisServer,
) -> None:
    connection = CountedConnection(redis_server)
    try:
        await connection.load_scripts()
        assert await connection.run(ECHO, [], ["1"]) == b"1"
        redis_server.run("SCRIPT", "FLUSH")
        asked = [connection.run(ECHO, [], [text]) for text in ("2", "3")]
        assert await asyncio.gather(*asked) == [b"2", b"3"]
        assert connection.sizes == [1, 2, 2]
    finally:
        await connection.aclose()


async def test_a_caller_that_waits_no_more_harms_no_other(redis_server: RedisServer) -> None:
    connection = CountedConnection(redis_server)
    try:
        first, second = connection.execute("PING"), connection.execute("PING")
        first.cancel()
        assert await second
        assert connection.sizes == [1]
    finally:
        await connection.aclose()


async def test_a_loop_that_was_blocked_does_not_make_the_server_look_dead(
    own_redis: RedisServer,
) -> None:
    connection = CountedConnection(own_redis, timeout_s=0.2)
    try:
        await connection.execute("PING")
        own_redis.send(signal.SIGSTOP)
        asked = connection.execute("PING")
        await until(lambda: len(connection.sizes) == 2)
        own_redis.send(signal.SIGCONT)
        time.sleep(0.4)  # noqa: ASYNC251 - a handler blocks the loop beyond the time-out
        assert await asked
        assert connection.is_up
    finally:
        await connection.aclose()


async def test_a_reply_that_came_too_late_is_not_that_of_another_command(
    own_redis: RedisServer,
) -> None:
    connection = CountedConnection(own_redis)
    try:
        await connection.execute("ECHO", "before")
        own_redis.send(signal.SIGSTOP)
        with pytest.raises(StoreDown, match="no answer in time"):
            await connection.execute("ECHO", "late")
        own_redis.send(signal.SIGCONT)
        connection.restored()
        texts = [connection.execute("ECHO", text) for text in ("a", "b")]
        assert await asyncio.gather(*texts) == [b"a", b"b"]
    finally:
        await connection.aclose()


async def test_nobody_waits_for_ever_when_the_client_itself_fails(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = CountedConnection(redis_server)

    def fail(self: ServerAddress) -> None:
        raise ValueError("a client")

    monkeypatch.setattr(ServerAddress, "connect", fail)
    with pytest.raises(StoreDown, match="a client"):
        await connection.execute("PING")
    with pytest.raises(StoreDown, match="it is down"):
        await connection.execute("PING")


async def test_a_full_server_refuses_and_stays_up(redis_server: RedisServer) -> None:
    connection = CountedConnection(redis_server)
    redis_server.run("CONFIG", "SET", "maxmemory", 1)
    try:
        with pytest.raises(StoreDown, match="used memory"):
            await connection.execute("SET", "a", "b")
        assert connection.is_up
    finally:
        redis_server.run("CONFIG", "SET", "maxmemory", 0)
        await connection.aclose()


async def test_nobody_waits_for_a_server_that_has_become_a_replica(
    redis_server: RedisServer,
) -> None:
    connection = CountedConnection(redis_server)
    redis_server.run("REPLICAOF", "127.0.0.1", free_port())
    try:
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(StoreDown, match="read only replica"):
                await connection.execute("SET", "a", "b")
        assert not connection.is_up
    finally:
        redis_server.run("REPLICAOF", "NO", "ONE")
        await connection.aclose()


async def test_what_the_hooks_write_shares_the_pipeline_of_the_heartbeat(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipelines: list[list[Any]] = []
    send = RedisConnection.send

    async def noted(self: RedisConnection, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        if commands:
            pipelines.append([command[0] for command in commands])
        return await send(self, commands)

    node = redis_server.node(heartbeat_s=0.05)
    connection = node._connection

    async def touch() -> None:
        await connection.execute("SET", "touched", "1", "PX", 1000)

    async with started([node]):
        monkeypatch.setattr(RedisConnection, "send", noted)
        remove = node.on_heartbeat(touch)
        await until(lambda: any("SET" in one for one in pipelines))
        assert sorted(next(one for one in pipelines if "SET" in one)) == [*["EVALSHA"] * 2, "SET"]
        remove()
        pipelines.clear()
        await until(lambda: len(pipelines) == 2)
        assert pipelines == [["EVALSHA", "EVALSHA"]] * 2


async def test_a_question_and_its_answer_are_one_command_each(redis_server: RedisServer) -> None:
    first, second = redis_server.node(), redis_server.node()

    async def echo(node: str, body: bytes) -> bytes:
        return body

    async with started([first, second]):
        second.bus.answer(TOPIC, echo)
        await first.bus.ask(second.node, TOPIC, b"a", 10.0)
        before = _calls(redis_server, "evalsha")
        for _ in range(10):
            await first.bus.ask(second.node, TOPIC, b"a", 10.0)
        # Heartbeats of both nodes may come between.
        assert 20 <= _calls(redis_server, "evalsha") - before <= 24


def _calls(server: RedisServer, command: str) -> int:
    stats: Any = server.run("INFO", "commandstats")
    calls: int = stats[f"cmdstat_{command}"]["calls"]
    return calls
