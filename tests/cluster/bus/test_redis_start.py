"""Starting a node over Redis: addresses, users, errors without secrets, what is left behind."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from redis.asyncio import Redis as RedisClient
from redis.asyncio import RedisCluster

from mcp_gen.cluster import Redis
from mcp_gen.cluster.redis.addresses import ClientAddress
from mcp_gen.cluster.redis.nodes import NodeTimes
from mcp_gen.core.errors import UsageError
from mcp_gen.core.stores.cluster import Cluster
from mcp_gen.core.stores.failures import StoreDown
from tests.support.http.certificates import self_signed
from tests.support.loop import until
from tests.support.ports import free_port
from tests.support.processes.redis_server import RedisServer

from .nodes import TOPIC, Received, answer_upper, started

SECRET = "p@ss/w:rd"
QUOTED = "p%40ss%2Fw%3Ard"


async def error_of(node: Redis) -> str:
    """Return the one-line error of a node that cannot start."""
    with pytest.raises(UsageError) as caught:
        await node.start()
    assert "\n" not in str(caught.value)
    return str(caught.value)


async def test_a_server_that_is_not_there_is_named_by_host_and_port() -> None:
    port = free_port()
    assert await error_of(Redis(f"redis://user:{QUOTED}@127.0.0.1:{port}")) == (
        f"Redis at 127.0.0.1:{port}: Error 111 connecting to 127.0.0.1:{port}. Connect call failed "
        f"('127.0.0.1', {port}); see that it runs there, and that this machine reaches it"
    )


async def test_a_server_that_is_not_there_is_named_by_its_socket(tmp_path: Path) -> None:
    said = await error_of(Redis(f"unix://user:{QUOTED}@{tmp_path}/none.sock"))
    assert said.startswith(f"Redis at {tmp_path}/none.sock: Error 2 ")


async def test_a_node_that_could_not_start_can_be_started_later(redis_server: RedisServer) -> None:
    node = Redis(redis_server.url.replace(str(redis_server.port), str(free_port())))
    await error_of(node)
    await error_of(node)


async def test_a_node_cannot_be_started_twice(redis_server: RedisServer) -> None:
    node = redis_server.node()
    async with started([node]):
        assert "started already" in await error_of(node)


@asynccontextmanager
async def fake_server(replies: dict[bytes, bytes]) -> AsyncGenerator[str]:
    """Run a server that answers commands of these names so, and all others with OK."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while count := await reader.readline():
            words: list[bytes] = []
            for _ in range(int(count[1:])):
                size = int((await reader.readline())[1:])
                words.append((await reader.readexactly(size + 2))[:-2])
            writer.write(replies.get(words[0], b"+OK\r\n"))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_server_that_is_too_old_is_refused() -> None:
    info = b"redis_version:6.2.14\r\n"
    async with fake_server({b"INFO": b"$%d\r\n%s\r\n" % (len(info), info)}) as url:
        assert "is 6.2.14: 7.0 or later is needed" in await error_of(Redis(url))


async def test_a_server_that_never_answers_is_given_up() -> None:
    async with fake_server({b"INFO": b""}) as url:
        assert "no answer in time" in await error_of(Redis(url, timeout_s=0.1))


async def test_no_text_has_the_password(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    url = redis_server.url.replace("//", f"//someone:{QUOTED}@")
    nodes = [
        Redis(url),
        redis_server.node(username="someone", password=SECRET),
        Redis.cluster(url),
        Redis.sentinel(
            [("127.0.0.1", redis_server.port)], "name", sentinel_options={"password": SECRET}
        ),
    ]
    texts = [repr(node) for node in nodes] + [await error_of(node) for node in nodes]
    texts += [record.getMessage() + str(record.exc_text) for record in caplog.records]
    assert [text for text in texts if SECRET in text or QUOTED in text] == []
    assert "user or password refused" in texts[4]


async def test_a_user_with_a_password_and_rights_to_the_prefix_alone_suffices(
    redis_server: RedisServer,
) -> None:
    rules = ["on", f">{SECRET}", "resetkeys", "~{shop:*", "-@all", "+@read", "+@write"]
    rules += ["+@scripting", "+@connection", "+time", "+xinfo"]
    redis_server.run("ACL", "SETUSER", "shop", *rules)
    try:
        node = Redis(redis_server.url.replace("//", f"//shop:{QUOTED}@"), prefix="shop")
        async with started([node]):
            received = Received(node.bus)
            node.bus.answer(TOPIC, answer_upper)
            await node.bus.publish(TOPIC, b"1")
            assert await node.bus.ask(node.node, TOPIC, b"a", 10.0) == b"A"
            await until(lambda: received.all)
            assert received.all == ["1"]
    finally:
        redis_server.run("ACL", "DELUSER", "shop")


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://user:pa/ss@host:1", "percent-encoded"),
        ("http://host", "begins with one of redis, rediss, unix"),
        ("host:6379", "begins with one of"),
        ("redis://", "a host"),
    ],
)
def test_what_is_no_url_of_redis_is_refused_without_repeating_it(url: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        Redis(url)
    assert "pa/ss" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"prefix": "{mcp}"}, "prefix='{mcp}'"),
        ({"prefix": ""}, "prefix=''"),
        ({"timeout_s": 0}, "timeout_s=0: expected more than 0"),
        ({"lease_s": 1.5}, "at least two heartbeats"),
        ({"session_events": 0}, "session_events=0"),
        ({"max_tasks": -1}, "max_tasks=-1"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Redis("redis://host", **options)


def test_attempts_to_reconnect_become_rarer_up_to_a_limit() -> None:
    times = NodeTimes(lease_s=5, heartbeat_s=1, min_backoff_s=0.5, max_backoff_s=3, data_ttl_s=100)
    for attempt, longest in enumerate([0.5, 1.0, 2.0, 3.0, 3.0]):
        waits = [times.backoff_s(attempt) for _ in range(50)]
        assert longest / 2 <= min(waits) < max(waits) <= longest


async def test_what_the_nodes_share_lives_so_long_after_the_last_of_them(
    redis_server: RedisServer,
) -> None:
    node = redis_server.node(data_ttl_s=50, state_key_rotate_s=70, state_key_keep_s=30)
    async with started([node]):
        await node.bus.publish(TOPIC, b"1")
    times = {key: redis_server.run("TTL", key.decode()) for key in redis_server.run("KEYS", "*")}
    keys_of_state = times.pop(b"{mcp:bus}:state-keys")
    assert 90 < keys_of_state <= 100
    assert set(times) == {b"{mcp:bus}", b"{mcp:bus}:generation"}
    assert all(40 < ttl <= 50 for ttl in times.values())


async def test_nodes_with_other_prefixes_share_nothing(redis_server: RedisServer) -> None:
    first, second = redis_server.node(prefix="a"), redis_server.node(prefix="b")
    async with started([first, second]):
        received = [Received(first.bus), Received(second.bus)]
        await first.bus.publish(TOPIC, b"1")
        await second.bus.publish(TOPIC, b"2")
        await until(lambda: all(one.all for one in received))
        assert [one.all for one in received] == [["1"], ["2"]]
        assert not await first.is_alive(second.node)


async def test_every_key_has_a_time_to_live_and_none_of_a_node_outlives_it(
    redis_server: RedisServer,
) -> None:
    first, second = redis_server.node(), redis_server.node()
    async with started([first, second]):
        second.bus.answer(TOPIC, answer_upper)
        await first.bus.publish(TOPIC, b"1")
        await first.bus.ask(second.node, TOPIC, b"a", 10.0)
        keys = redis_server.run("KEYS", "*")
        assert [key for key in keys if redis_server.run("PTTL", key.decode()) < 0] == []
        assert {key for key in keys if b":node:" in key} == {
            f"{{mcp:node:{first.node}}}:lease".encode(),
            f"{{mcp:node:{first.node}}}:inbox".encode(),
            f"{{mcp:node:{second.node}}}:lease".encode(),
            f"{{mcp:node:{second.node}}}:inbox".encode(),
        }
    assert [key for key in redis_server.run("KEYS", "*") if b":node:" in key] == []


async def test_what_was_read_from_an_inbox_is_dropped(redis_server: RedisServer) -> None:
    node = redis_server.node(heartbeat_s=0.05)
    async with started([node]):
        node.bus.answer(TOPIC, answer_upper)
        for _ in range(10):
            await node.bus.ask(node.node, TOPIC, b"a", 10.0)
        inbox = f"{{mcp:node:{node.node}}}:inbox"
        # The last entry stays: it tells where reading goes on.
        await until(lambda: redis_server.run("XLEN", inbox) <= 1)


@pytest.mark.parametrize(("policy", "lines"), [("noeviction", 0), ("volatile-lru", 1)])
async def test_a_server_that_deletes_keys_when_memory_is_short_is_warned_of(
    policy: str, lines: int, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    redis_server.run("CONFIG", "SET", "maxmemory-policy", policy)
    try:
        async with started([redis_server.node()]):
            pass
    finally:
        redis_server.run("CONFIG", "SET", "maxmemory-policy", "noeviction")
    told = [one.getMessage() for one in caplog.records if "maxmemory-policy" in one.getMessage()]
    assert len(told) == lines
    assert all(policy in text and "set it to noeviction" in text for text in told)


@pytest.mark.parametrize("protocol", [2, 3])
async def test_a_client_of_the_user_is_used_and_stays_open(
    redis_server: RedisServer, protocol: int
) -> None:
    client = RedisClient(port=redis_server.port, protocol=protocol, client_name="ours")
    node = Redis(client)
    async with started([node]):
        received = Received(node.bus)
        await node.bus.publish(TOPIC, b"1")
        await until(lambda: received.all)
        assert b" name=ours " in redis_server.run("CLIENT", "LIST")
    await until(lambda: b" name=ours " not in redis_server.run("CLIENT", "LIST"))
    assert await client.get("{mcp:bus}:generation") is not None
    await client.aclose()


async def test_a_node_fits_the_contract_and_its_stores_are_shared(
    redis_server: RedisServer,
) -> None:
    first: Cluster = redis_server.node()
    second: Cluster = redis_server.node()
    await first.start()
    await second.start()
    try:
        name = await first.once.put(None, {"a": 1}, "ada")
        assert await second.once.get(name, "ada") == {"a": 1}
        assert await second.sessions.count() == 0
        assert await second.events.status("session", "stream") is None
        assert await second.tasks.load("task") is None
        assert await second.states.load("key", "name", now=0.0) is None
    finally:
        await first.aclose()
        await second.aclose()


async def test_the_limits_of_stores_are_options(redis_server: RedisServer) -> None:
    node = redis_server.node(session_events=2, once_ttl_s=7, events_ttl_s=5, max_once_names=1)
    async with started([node]):
        dropped, kept_name = [await node.once.put(None, {"a": 1}) for _ in range(2)]
        assert await node.once.get(dropped) == {}
        assert await node.once.get(kept_name) == {"a": 1}
        await node.events.begin("session", "stream", node.node, [1])
        for number in (1, 2, 3):
            await node.events.append("session", "stream", number, b"{}")
        kept = await node.events.after("session", "stream", 0)
        assert [event.number for event in kept or ()] == [2, 3]
        times = {
            key: redis_server.run("TTL", key.decode()) for key in redis_server.run("KEYS", "*")
        }
        assert {ttl for key, ttl in times.items() if b":once:" in key} == {7}
        assert {ttl for key, ttl in times.items() if b":session:" in key} == {5}


async def test_the_stores_of_a_node_are_down_with_it(redis_server: RedisServer) -> None:
    node = redis_server.node()
    with pytest.raises(StoreDown):
        await node.once.get("name")


async def test_a_server_is_spoken_to_over_tls_alone_if_its_certificate_is_known(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    pem, port = str(self_signed(tmp_path)), free_port()
    options = ["--tls-port", str(port), "--tls-auth-clients", "no"]
    options += ["--tls-cert-file", pem, "--tls-key-file", pem]
    with RedisServer(tmp_path, options) as server:
        server.run("CONFIG", "SET", "requirepass", SECRET)
        url = f"rediss://:{QUOTED}@127.0.0.1:{port}"
        node = Redis(url, ssl_ca_certs=pem, timeout_s=5.0)
        async with started([node]):
            received = Received(node.bus)
            await node.bus.publish(TOPIC, b"1")
            await until(lambda: received.all)
            assert received.all == ["1"]
        error = await error_of(Redis(url))
        assert "CERTIFICATE_VERIFY_FAILED" in error
        assert QUOTED not in error


async def test_a_cluster_client_of_the_user_is_closed_as_a_whole() -> None:
    nodes = mock.Mock(aclose=mock.AsyncMock())
    client = mock.Mock(spec=RedisCluster, aclose=mock.AsyncMock(), nodes_manager=nodes)
    address = ClientAddress(client)
    await address.close(client)
    client.aclose.assert_awaited_once_with()
    nodes.aclose.assert_awaited_once_with("startup_nodes")
