"""Redis that is frozen, killed, emptied or trimmed, and what its nodes do then."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_gen.cluster.redis.addresses import ServerAddress
from mcp_gen.cluster.redis.cluster import Redis
from mcp_gen.cluster.redis.connection import RedisConnection
from mcp_gen.core.stores.failures import BusDown, NodeGone, StoreDown
from tests.support.loop import until
from tests.support.processes.redis_server import RedisServer

from .nodes import TOPIC, Received, answer_upper, started

BUS = "{mcp:bus}"
TIMEOUT_S = 0.5
EPSILON_S = 0.4
"""Seconds that a busy machine may add to this time-out."""


@pytest.fixture
def own_server(redis_server: RedisServer, tmp_path: Path) -> Iterator[RedisServer]:
    """Start a server of the test's own, which keeps its data."""
    with RedisServer(tmp_path, ["--appendonly", "yes", "--appendfsync", "always"]) as server:
        yield server


def node_of(server: RedisServer, **options: Any) -> Redis:
    """Return a node that beats and recovers sooner than usual, and gives a busy machine time."""
    times = {"heartbeat_s": 0.1, "min_backoff_s": 0.02, "max_backoff_s": 0.1, "timeout_s": 10.0}
    return Redis(server.url, **{**times, **options})


async def test_a_frozen_server_holds_nobody_for_longer_than_the_time_out(
    own_server: RedisServer,
) -> None:
    times = {"heartbeat_s": 2.5, "timeout_s": TIMEOUT_S}
    first, second = node_of(own_server, **times), node_of(own_server, **times)
    async with started([first, second]):
        received = Received(second.bus)
        second.bus.answer(TOPIC, answer_upper)
        own_server.send(signal.SIGSTOP)
        began = time.monotonic()
        errors = await asyncio.gather(
            first.bus.publish(TOPIC, b"a"),
            first.bus.ask(second.node, TOPIC, b"a", 10.0),
            first.is_alive(second.node),
            return_exceptions=True,
        )
        assert time.monotonic() - began < TIMEOUT_S + EPSILON_S
        assert [type(error) for error in errors] == [BusDown] * 3
        # Whoever comes later does not even wait that long.
        began = time.monotonic()
        with pytest.raises(BusDown):
            await first.bus.publish(TOPIC, b"b")
        assert time.monotonic() - began < 0.1
        await until(lambda: not second.is_up)
        own_server.send(signal.SIGCONT)
        await until(lambda: first.is_up and second.is_up)
        await first.bus.publish(TOPIC, b"c")
        await until(lambda: "c" in received.all)
        # The first message was taken or not: nobody knows. Nothing came twice, and none is missing.
        assert received.all in (["down", "a", "up", "c"], ["down", "up", "c"])
        assert await first.bus.ask(second.node, TOPIC, b"a", 10.0) == b"A"


async def test_a_question_that_waits_for_its_answer_fails_when_the_server_is_frozen(
    own_server: RedisServer,
) -> None:
    first, second = (node_of(own_server, timeout_s=TIMEOUT_S) for _ in range(2))
    asked = asyncio.Event()

    async def never(node: str, body: bytes) -> bytes:
        asked.set()
        await asyncio.Event().wait()
        return body

    async with started([first, second]):
        second.bus.answer(TOPIC, never)
        asking = asyncio.create_task(first.bus.ask(second.node, TOPIC, b"a", 600.0))
        await asked.wait()
        own_server.send(signal.SIGSTOP)
        with pytest.raises(BusDown):
            await asking
        own_server.send(signal.SIGCONT)


async def test_a_node_that_cannot_read_for_an_unknown_reason_is_down_and_reads_on(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    node = node_of(redis_server)
    read, fails = RedisConnection.read_stream, [RuntimeError("a strange reply")]

    async def strange(connection: RedisConnection, *given: Any) -> Any:
        if fails:
            raise fails.pop()
        return await read(connection, *given)

    async with started([node]):
        received = Received(node.bus)
        monkeypatch.setattr(RedisConnection, "read_stream", strange)
        await until(lambda: received.all == ["down", "up"])
        await node.bus.publish(TOPIC, b"a")
        await until(lambda: received.all == ["down", "up", "a"])
    assert "reading a stream failed" in caplog.text


async def test_a_killed_server_that_kept_its_data_costs_no_message_and_no_lease(
    own_server: RedisServer,
) -> None:
    first, second = node_of(own_server), node_of(own_server)
    told: list[str] = []
    async with started([first, second]):
        received = Received(second.bus)
        for node in (first, second):
            node.on_lost(told.append)
            node.on_emptied(lambda: told.append("emptied"))
        await first.bus.publish(TOPIC, b"1")
        await until(lambda: received.all)
        own_server.stop(signal.SIGKILL)
        await until(lambda: not first.is_up and not second.is_up)
        own_server.start()
        await until(lambda: first.is_up and second.is_up)
        await first.bus.publish(TOPIC, b"2")
        await until(lambda: "2" in received.all)
        assert received.all == ["1", "down", "up", "2"]
        assert told == []


def test_an_error_that_says_what_is_down_is_not_put_into_another() -> None:
    connection = RedisConnection(ServerAddress("redis://127.0.0.1:1"), 0.1)
    known = connection.down_error()
    assert str(known) == "Redis at 127.0.0.1:1: it is down; try again later"
    assert connection.down_error(known) is known


async def test_a_server_that_comes_back_empty_is_recognised(own_redis: RedisServer) -> None:
    first, second = node_of(own_redis), node_of(own_redis)
    told: list[str] = []
    async with started([first, second]):
        received, keys, node = Received(second.bus), first.request_state_keys(), second.node
        second.on_lost(told.append)
        second.on_emptied(lambda: told.append("emptied"))
        await first.bus.publish(TOPIC, b"1")
        await until(lambda: received.all)
        own_redis.stop(signal.SIGKILL)
        await until(lambda: not first.is_up and not second.is_up)
        own_redis.start()
        await until(lambda: first.is_up and second.is_up)
        await first.bus.publish(TOPIC, b"2")
        await until(lambda: "2" in received.all)
        assert received.all == ["1", "down", "gap", "up", "2"]
        assert (told, second.node) == (["emptied"], node)
        assert first.request_state_keys() == second.request_state_keys() != keys
        second.bus.answer(TOPIC, answer_upper)
        assert await first.bus.ask(node, TOPIC, b"a", 10.0) == b"A"


@pytest.mark.parametrize("publishes", [True, False], ids=["by a publisher", "by a heartbeat"])
async def test_a_server_that_was_emptied_while_it_ran_is_recognised(
    redis_server: RedisServer, publishes: bool
) -> None:
    heartbeat_s = 2.0 if publishes else 0.05
    node = node_of(redis_server, heartbeat_s=heartbeat_s)
    told: list[str] = []
    async with started([node]):
        received = Received(node.bus)
        node.on_emptied(lambda: told.append("emptied"))
        await node.bus.publish(TOPIC, b"1")
        await until(lambda: received.all)
        redis_server.run("FLUSHALL")
        if publishes:
            with pytest.raises(BusDown):
                await node.bus.publish(TOPIC, b"2")
        await until(lambda: told and node.is_up)
        await node.bus.publish(TOPIC, b"3")
        await until(lambda: "3" in received.all)
        assert received.all == ["1", "down", "gap", "up", "3"]
        assert told == ["emptied"]


async def test_a_node_that_missed_trimmed_messages_has_a_gap_before_the_rest(
    redis_server: RedisServer,
) -> None:
    node = node_of(redis_server)
    async with started([node]):
        received = Received(node.bus)
        offset = await node.bus.publish(TOPIC, b"1")
        await until(lambda: received.all)
        epoch = offset.partition("-")[0]
        [[_, fields]] = redis_server.run("XREVRANGE", BUS, "+", "-", "COUNT", 1)
        # While the loop stands still, this node reads nothing.
        for _ in range(3):
            redis_server.run("XADD", BUS, f"{epoch}-*", "m", fields[b"m"])
            redis_server.run("XTRIM", BUS, "MAXLEN", 1)
        await until(lambda: "gap" in received.all and received.all[-1] == "1")
        # The server may hand the first one to a read that waits.
        assert received.all in (["1", "gap", "1"], ["1", "1", "gap", "1"])


async def test_the_stream_of_messages_is_trimmed(redis_server: RedisServer) -> None:
    node = node_of(redis_server, bus_messages=10)
    async with started([node]):
        await asyncio.gather(*(node.bus.publish(TOPIC, b"x") for _ in range(500)))
        # Redis trims whole blocks of 100 entries.
        assert 10 <= redis_server.run("XLEN", BUS) <= 200


async def test_an_inbox_that_nobody_reads_is_trimmed(redis_server: RedisServer) -> None:
    asking, deaf = Redis(redis_server.url), Redis(redis_server.url)
    async with started([asking, deaf]):
        await deaf.bus.pause()
        questions = [
            asyncio.create_task(asking.bus.ask(deaf.node, TOPIC, b"x", 60.0)) for _ in range(1500)
        ]
        await asyncio.sleep(0)
        # Its turn comes after the questions.
        assert await asking.is_alive(deaf.node)
        for question in questions:
            question.cancel()
        # Redis trims whole blocks of 100 entries.
        assert 1000 <= redis_server.run("XLEN", f"{{mcp:node:{deaf.node}}}:inbox") <= 1200


async def test_a_server_that_lost_its_last_messages_is_recognised(
    redis_server: RedisServer,
) -> None:
    """As after a fail-over to a replica that was behind."""
    node = node_of(redis_server)
    async with started([node]):
        received = Received(node.bus)
        offsets = [await node.bus.publish(TOPIC, body) for body in (b"1", b"2", b"3")]
        await until(lambda: len(received.all) == 3)
        epoch, _, number = offsets[-1].partition("-")
        [[_, fields]] = redis_server.run("XRANGE", BUS, "-", "+", "COUNT", 1)
        redis_server.run("DEL", BUS)
        redis_server.run("XADD", BUS, f"{epoch}-{int(number) - 1}", "m", fields[b"m"])
        await until(lambda: "up" in received.all)
        await node.bus.publish(TOPIC, b"4")
        await until(lambda: "4" in received.all)
        assert received.all == ["1", "2", "3", "down", "gap", "up", "4"]


async def test_a_cut_connection_costs_no_message(redis_server: RedisServer) -> None:
    first, second = node_of(redis_server), node_of(redis_server)
    async with started([first, second]):
        received = Received(second.bus)
        for number in range(5):
            redis_server.run("CLIENT", "KILL", "TYPE", "normal")
            await until(lambda: not first.is_up or not second.is_up)
            await until(lambda: first.is_up and second.is_up)
            await first.bus.publish(TOPIC, str(number).encode())
        await until(lambda: "4" in received.all)
        bodies = [one for one in received.all if one not in ("down", "up")]
        assert bodies == ["0", "1", "2", "3", "4"]


async def test_a_node_whose_lease_is_gone_becomes_another(redis_server: RedisServer) -> None:
    first, second = node_of(redis_server), node_of(redis_server)
    lost: list[tuple[str, str]] = []
    async with started([first, second]):
        received, node = Received(second.bus), second.node
        second.bus.answer(TOPIC, answer_upper)
        second.on_lost(lambda old: lost.append((old, second.node)))
        redis_server.run("DEL", f"{{mcp:node:{node}}}:lease")
        with pytest.raises(NodeGone):
            await first.bus.ask(node, TOPIC, b"a", 10.0)
        await until(lambda: lost and second.is_up)
        assert lost == [(node, second.node)]
        assert second.node != node
        assert await first.bus.ask(second.node, TOPIC, b"a", 10.0) == b"A"
        await first.bus.publish(TOPIC, b"1")
        await until(lambda: "1" in received.all)
        assert received.all == ["down", "up", "1"]


async def test_a_node_that_cannot_reach_the_server_loses_its_lease_by_itself(
    own_server: RedisServer,
) -> None:
    node = node_of(own_server, lease_s=0.6, timeout_s=0.2)
    lost: list[str] = []
    async with started([node]):
        node.on_lost(lost.append)
        old = node.node
        own_server.send(signal.SIGSTOP)
        await until(lambda: lost)
        assert (lost, node.node != old, node.is_up) == ([old], True, False)
        own_server.send(signal.SIGCONT)
        await until(lambda: node.is_up)
        assert (lost, await node.is_alive(old), await node.is_alive(node.node)) == (
            [old],
            False,
            True,
        )


async def test_a_process_that_stood_still_writes_nothing_under_its_lapsed_lease(
    redis_server: RedisServer,
) -> None:
    node = node_of(redis_server, lease_s=0.2, heartbeat_s=0.05)
    lost: list[str] = []
    async with started([node]):
        node.on_lost(lost.append)
        old = node.node
        time.sleep(0.3)  # noqa: ASYNC251 - the whole process stands still
        with pytest.raises(StoreDown):
            await node.bus.publish(TOPIC, b"a")
        assert lost == [old]
        assert redis_server.run("XLEN", BUS) == 0


async def test_a_question_that_is_too_old_is_not_acted_on(redis_server: RedisServer) -> None:
    first, second = node_of(redis_server), node_of(redis_server)
    acted: list[bytes] = []

    async def act(node: str, body: bytes) -> bytes:
        acted.append(body)
        return body

    async with started([first, second]):
        # It may be late itself, on a busy machine.
        second.bus.answer(TOPIC, answer_upper)
        asking = asyncio.create_task(first.bus.ask(second.node, TOPIC, b"old", 0.1))
        inbox = f"{{mcp:node:{second.node}}}:inbox"
        question = await _question_in(redis_server, inbox)
        # The question once more, as it would be read by a process that stood still until now.
        redis_server.run("DEL", inbox)
        await asyncio.gather(asking, return_exceptions=True)
        sent_ms = int(redis_server.run("TIME")[0]) * 1000 - 2000
        other = node_of(redis_server)
        async with started([other]):
            other.bus.answer(TOPIC, act)
            other_inbox = f"{{mcp:node:{other.node}}}:inbox"
            redis_server.run("XADD", other_inbox, f"{sent_ms}-0", "m", question)
            assert await first.bus.ask(other.node, TOPIC, b"new", 10.0) == b"new"
            assert acted == [b"new"]


async def _question_in(server: RedisServer, inbox: str) -> Any:
    """Return the first message of an inbox."""
    while True:
        found = server.run("XRANGE", inbox, "-", "+")
        if found:
            return found[0][1][b"m"]
        await asyncio.sleep(0)


async def test_a_node_that_has_recovered_beats_no_more_often_than_before(
    redis_server: RedisServer,
) -> None:
    def calls() -> int:
        stats: dict[str, Any] = redis_server.run("INFO", "commandstats")["cmdstat_evalsha"]
        return int(stats["calls"])

    node = node_of(redis_server, heartbeat_s=60.0, lease_s=180.0)
    async with started([node]):
        received = Received(node.bus)
        redis_server.run("FLUSHALL")
        with pytest.raises(BusDown):
            await node.bus.publish(TOPIC, b"1")
        await until(lambda: "up" in received.all and node.is_up)
        before = await asyncio.to_thread(calls)
        assert {await asyncio.to_thread(calls) for _ in range(20)} == {before}


async def test_a_message_of_another_node_tells_that_the_server_was_emptied(
    redis_server: RedisServer,
) -> None:
    slow, other = node_of(redis_server, heartbeat_s=60.0, lease_s=180.0), node_of(redis_server)
    told: list[str] = []
    async with started([slow]):
        slow.on_emptied(lambda: told.append("emptied"))
        received = Received(slow.bus)
        redis_server.run("FLUSHALL")
        async with started([other]):
            await other.bus.publish(TOPIC, b"1")
            await until(lambda: "1" in received.all)
        assert told == ["emptied"]
        assert received.all == ["down", "gap", "1", "up"]
