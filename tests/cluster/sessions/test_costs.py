"""Calls and changes cost the store so many commands and pipelines, on any machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_gen import Context, Server
from mcp_gen.cluster import Redis
from mcp_gen.cluster.redis.bus import PUBLISH
from mcp_gen.server.context.context import origin_of
from tests.cluster.sessions import nodes as making
from tests.cluster.sessions.changing import methods, settled
from tests.cluster.sessions.nodes import Nodes, nodes_of
from tests.cluster.sessions.test_changes import listening
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import WebClient
from tests.support.processes.redis_server import RedisServer

EVENTS_ONLY = "text/event-stream"
LISTENERS = 8
"""Listeners of each node."""


def talking_server(at: int) -> Server:
    """Return a server with a tool that says a number of things before its answer."""
    server = Server("talking")

    @server.tool
    async def talk(times: int, ctx: Context) -> str:
        log = ctx.profile.log
        for number in range(times):
            if log is not None:
                origin_of(ctx).channel.notify(log, log.params(level="info", data=number))
        return "said"

    return server


class Pipelines:
    """Commands that nodes send, without those of each heartbeat."""

    def __init__(self) -> None:
        self.writes: list[int] = []
        """Numbers of commands for sessions, by pipeline."""
        self.published = 0

    def watch(self, cluster: Redis) -> None:
        """Count what a node sends from now on."""
        connection: Any = cluster._connection
        send = connection.send

        async def count(commands: Sequence[tuple[Any, ...]]) -> list[Any]:
            of_sessions = sum(b":session:" in _joined(command) for command in commands)
            if of_sessions:
                self.writes.append(of_sessions)
            self.published += sum(PUBLISH.sha in command for command in commands)
            replies: list[Any] = await send(commands)
            return replies

        connection.send = count


def _joined(command: tuple[Any, ...]) -> bytes:
    parts = (part if isinstance(part, bytes) else str(part).encode() for part in command)
    return b" ".join(parts)


@asynccontextmanager
async def counting(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, number: int
) -> AsyncGenerator[tuple[Nodes, Pipelines]]:
    """Yield nodes over Redis, and what they send to it once `watch` was called."""

    def clusters(count: int, heartbeat_s: float) -> list[Redis]:
        return [redis_server.node() for _ in range(count)]

    monkeypatch.setattr(making, "MAKE_CLUSTERS", clusters)
    async with nodes_of(talking_server, number) as nodes:
        yield nodes, Pipelines()


@pytest.mark.parametrize(
    ("times", "accept", "writes"),
    [(0, "application/json, text/event-stream", 0), (0, EVENTS_ONLY, 1), (3, EVENTS_ONLY, 1)],
    ids=["JSON", "one event", "four events at once"],
)
async def test_the_events_of_a_call_that_come_at_once_are_one_write(
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
    accept: str,
    writes: int,
) -> None:
    async with counting(redis_server, monkeypatch, 1) as (nodes, sent):
        client = await nodes.client()
        sent.watch(nodes.clusters[0])
        opened = client.post(client.speaker.call(1, "talk", times=times), accept=accept)
        assert (await opened.whole()).status == 200
        assert sum(sent.writes) == writes
        assert len(opened.messages) == (times + 1 if accept == EVENTS_ONLY else 0)


async def test_calls_at_once_share_a_pipeline(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with counting(redis_server, monkeypatch, 1) as (nodes, sent):
        clients = [await nodes.client() for _ in range(LISTENERS)]
        sent.watch(nodes.clusters[0])
        calls = [
            client.post(client.speaker.call(1, "talk", times=1), accept=EVENTS_ONLY)
            for client in clients
        ]
        await asyncio.gather(*(call.whole() for call in calls))
        assert sent.writes == [LISTENERS]


async def test_a_call_without_a_session_asks_the_store_for_nothing(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with counting(redis_server, monkeypatch, 1) as (nodes, sent):
        client = WebClient(nodes.apps[0], Speaker(PER_REQUEST))
        sent.watch(nodes.clusters[0])
        opened = client.post(client.speaker.call(1, "talk", times=1))
        assert (await opened.whole()).status == 200
        assert (sent.writes, sent.published) == ([], 0)


async def test_a_change_for_listen_requests_is_one_broadcast(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with counting(redis_server, monkeypatch, 2) as (nodes, sent):
        listeners = [await listening(nodes, number % 2) for number in range(2 * LISTENERS)]
        for cluster in nodes.clusters:
            sent.watch(cluster)
        nodes.servers[0].notify.tool_list_changed()
        for _, opened in listeners:
            assert (await opened.frame())["method"] == "notifications/tools/list_changed"
        assert (sent.writes, sent.published) == ([], 1)
        for client, _ in listeners:
            await client.aclose()


async def test_a_change_for_streams_of_sessions_is_one_pipeline_of_each_node(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with counting(redis_server, monkeypatch, 2) as (nodes, sent):
        clients = [await nodes.client(HANDSHAKE, number % 2) for number in range(2 * LISTENERS)]
        streams = [await client.listening(client.app) for client in clients]
        await settled(nodes)
        for cluster in nodes.clusters:
            sent.watch(cluster)
        for before in range(2):
            nodes.servers[0].notify.tool_list_changed()
            for stream in streams:
                assert (await stream.event()).data or (await stream.event()).data
            assert [methods(stream) for stream in streams] == [
                ["tools/list_changed"] * (before + 1)
            ] * len(streams)
        assert sent.writes == [LISTENERS] * 4
        assert sent.published == 2
