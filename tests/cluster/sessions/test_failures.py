"""Failures of a node or of the store, and what comes of each kind of message."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from mcp_gen.cluster import Redis
from tests.cluster.sessions import nodes as nodes_module
from tests.cluster.sessions.belongings import (
    World,
    begun_task,
    code_of,
    extended,
    frame_of,
    next_round,
    order,
)
from tests.cluster.sessions.changing import changing_server
from tests.cluster.sessions.nodes import LAST, Nodes, nodes_of, texts_of
from tests.cluster.sessions.test_changes import listening
from tests.cluster.sessions.test_questions import answer_to, asked, asking_server, text_of
from tests.cluster.sessions.test_sse_pair import OLD, paired
from tests.cluster.sessions.test_streams import Talkers, said, waiting
from tests.support.frames import PER_REQUEST
from tests.support.http.asgi import open_request
from tests.support.loop import until
from tests.support.peers.talker import soon
from tests.support.processes.redis_server import RedisServer

INVALID_PARAMS = -32602


def over_redis(monkeypatch: pytest.MonkeyPatch, server: RedisServer, **options: Any) -> None:
    """Let `nodes_of` make nodes over a server, which notice its failures soon."""
    times: dict[str, Any] = {"heartbeat_s": 0.1, "min_backoff_s": 0.02, "max_backoff_s": 0.1}

    def clusters(number: int, heartbeat_s: float) -> list[Redis]:
        return [Redis(server.url, **{**times, **options}) for _ in range(number)]

    monkeypatch.setattr(nodes_module, "MAKE_CLUSTERS", clusters)


async def one_away(nodes: Nodes, message: bytes, session: dict[str, str], status: int) -> None:
    """Check that a message is refused at a node whose store is away, and what comes of it after."""
    nodes.clusters[1].disconnect()
    refused = await open_request(nodes.apps[1], message, session).whole()
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    nodes.clusters[1].reconnect()
    assert (await open_request(nodes.apps[1], message, session).whole()).status == status


# --- calls without a session ---


async def test_a_call_without_a_session_is_answered_by_the_others_when_a_node_is_gone() -> None:
    world = World()
    async with nodes_of(world.server) as nodes:
        client = await nodes.client(PER_REQUEST)
        await nodes.clusters[0].die()
        reply = await client.at(nodes.apps[1]).ask(client.speaker.call(1, "who"))
        assert texts_of(reply.json) == ["None"]


async def test_a_call_without_a_session_is_answered_late_by_a_node_that_stood_still() -> None:
    world = World()
    async with nodes_of(world.server) as nodes:
        client = await nodes.client(PER_REQUEST)
        opened = client.post(client.speaker.request(1, "tools/call", {"name": "wait"}))
        nodes.clusters[0].freeze(lease_s=0)
        nodes.clusters[0].thaw()
        world.gate.set()
        assert texts_of(frame_of(await opened.whole())) == ["waited"]
        assert world.cancelled == []


def knows_others(cluster: Redis, keys: Sequence[bytes]) -> bool:
    """Return True if a node is up with other keys of `requestState`."""
    return cluster.is_up and cluster.request_state_keys() != keys


async def test_a_store_that_comes_back_empty_knows_no_request_state_and_a_new_call_goes_on(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over Redis, which has the keys."""
    over_redis(monkeypatch, redis_server)
    world = World()
    async with nodes_of(world.server) as nodes:
        client = await nodes.client(PER_REQUEST)
        more = await next_round(client)
        keys = nodes.clusters[0].request_state_keys()
        redis_server.run("FLUSHALL")
        for cluster in nodes.clusters:
            await until(partial(knows_others, cluster, keys))
        for app in nodes.apps:
            refused = await client.at(app).ask(order(client, **more))
            assert code_of(refused) == INVALID_PARAMS
        more = await next_round(client)
        assert code_of(await client.at(nodes.apps[0]).ask(order(client, **more))) is None


NEEDED: dict[str, dict[str, Any]] = {
    "tasks/get": {},
    "tasks/cancel": {},
    "tasks/update": {"inputResponses": {}},
}


async def test_a_request_without_a_session_that_needs_redis_gets_503_while_it_is_away(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    over_redis(monkeypatch, own_redis, timeout_s=0.2)
    async with nodes_of(world.server, 1) as nodes:
        client = await nodes.client(PER_REQUEST)
        request, id = client.speaker.request, await begun_task(client)
        more = await next_round(client)
        own_redis.send(signal.SIGSTOP)
        needed = [
            request(1, method, {"taskId": id, **params, **extended(client)})
            for method, params in NEEDED.items()
        ]
        needed += [order(client), order(client, **more)]
        needed.append(request(1, "tools/call", {"name": "work", **extended(client)}))
        wanted = {"notifications": {"taskIds": [id]}, **extended(client)}
        needed.append(request(1, "subscriptions/listen", wanted))
        for message in needed:
            refused = await client.ask(message)
            assert (refused.status, refused.headers["retry-after"]) == (503, "1")
            assert refused.json["error"]["data"] == {"reason": "store_down"}
        reply = await client.ask(client.speaker.call(1, "who"))
        assert texts_of(reply.json) == ["None"]
        own_redis.send(signal.SIGCONT)
        await until(lambda: nodes.clusters[0].is_up)
        assert code_of(await client.ask(needed[0])) is None
        await world.aclose()


async def test_a_call_in_a_session_is_answered_when_redis_is_there_again(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    talkers = Talkers()
    over_redis(monkeypatch, own_redis, timeout_s=0.2)
    async with nodes_of(talkers, 1) as nodes:
        client = await nodes.client()
        opened, _ = await waiting(client, talkers.made[0], then="later")
        own_redis.send(signal.SIGSTOP)
        talkers.made[0].go_on.set()
        await soon(talkers.made[0].ended)
        await until(lambda: not nodes.clusters[0].is_up)
        assert (await client.ask(client.speaker.call(2, "echo", text="a"))).status == 503
        own_redis.send(signal.SIGCONT)
        assert await said(opened) == ["now", "later", "waited"]


# --- events and answers ---


async def test_events_of_a_node_that_is_gone_are_there_for_a_reconnect_and_none_twice() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client()
        _, event_id = await waiting(client, talkers.made[0])
        await nodes.clusters[0].die()
        first = f"{event_id.split('-')[0]}-0"
        resumed = await (await client.resumed(nodes.apps[1], first)).whole()
        told, error = [one.json for one in resumed.events if one.data]
        assert told["params"]["data"] == "now"
        assert error["error"]["data"] == {"reason": "node_lost"}
        talkers.made[0].go_on.set()


async def test_events_are_lost_with_the_session_when_the_store_comes_back_empty() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client()
        first, event_id = await waiting(client, talkers.made[0])
        nodes.clusters[0].empty()
        await first.ended()
        for app in nodes.apps:
            assert (await client.at(app).get(**{LAST: event_id}).whole()).status == 404
        talkers.made[0].go_on.set()


async def test_an_answer_to_a_question_is_taken_once_the_store_is_there_again() -> None:
    async with nodes_of(asking_server, 2) as nodes:
        client = await nodes.client()
        opened, question = await asked(client, nodes, 0)
        await one_away(nodes, answer_to(question), client.session, 202)
        assert await text_of(opened) == "pong at 0"


async def test_an_answer_to_a_question_is_of_no_session_when_the_store_comes_back_empty() -> None:
    async with nodes_of(asking_server, 2) as nodes:
        client = await nodes.client()
        opened, question = await asked(client, nodes, 0)
        nodes.clusters[0].empty()
        await opened.ended()
        for app in nodes.apps:
            assert (await client.at(app).ask(answer_to(question))).status == 404


# --- cancellations ---


async def test_a_cancellation_of_a_call_whose_node_is_gone_is_taken() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client()
        _, event_id = await waiting(client, talkers.made[0])
        await nodes.clusters[0].die()
        assert (await client.at(nodes.apps[1]).ask(client.speaker.cancel(1))).status == 202
        resumed = await (await client.resumed(nodes.apps[1], event_id)).whole()
        (error,) = [one.json for one in resumed.events if one.data]
        assert error["error"]["data"] == {"reason": "node_lost"}
        talkers.made[0].go_on.set()


async def test_a_cancellation_is_taken_once_the_store_is_there_again() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client()
        first, _ = await waiting(client, talkers.made[0])
        await one_away(nodes, client.speaker.cancel(1), client.session, 202)
        await first.ended()
        assert talkers.made[0].ended.is_set()


async def test_a_cancellation_is_of_no_session_when_the_store_comes_back_empty() -> None:
    talkers = Talkers()
    async with nodes_of(talkers, 2) as nodes:
        client = await nodes.client()
        first, _ = await waiting(client, talkers.made[0])
        nodes.clusters[0].empty()
        for app in nodes.apps:
            assert (await client.at(app).ask(client.speaker.cancel(1))).status == 404
        await first.ended()


# --- changes ---


async def test_listen_requests_hear_of_every_list_when_the_store_comes_back_empty() -> None:
    async with nodes_of(changing_server, 2) as nodes:
        streams = [(await listening(nodes, at))[1] for at in (0, 1)]
        nodes.clusters[0].empty()
        for stream in streams:
            told = {(await stream.frame())["method"] for _ in range(2)}
            assert told == {"notifications/tools/list_changed", "notifications/resources/updated"}


# --- HTTP+SSE ---


async def test_a_stream_of_http_sse_stays_open_while_the_store_is_away() -> None:
    async with nodes_of(asking_server, 2, legacy_sse_path="/sse") as nodes:
        client = await paired(nodes)
        for cluster in nodes.clusters:
            cluster.disconnect()
        assert (await client.ask(nodes.apps[0], OLD.call(1, "where")))["id"] == 1
        assert (await client.post(nodes.apps[1], OLD.call(2, "where"))).status == 503
        for cluster in nodes.clusters:
            cluster.reconnect()
        assert (await client.ask(nodes.apps[1], OLD.call(2, "where")))["id"] == 2
        await client.aclose()


async def test_a_stream_of_http_sse_stays_open_when_the_store_comes_back_empty() -> None:
    async with nodes_of(asking_server, 2, legacy_sse_path="/sse") as nodes:
        client = await paired(nodes)
        nodes.clusters[0].empty()
        for number, app in enumerate(nodes.apps):
            assert (await client.post(app, OLD.call(number, "where"))).status == 202
            # Changes that may have been missed come as well.
            while "id" not in (answered := (await client.stream.event()).json):
                pass
            assert answered["id"] == number
        await client.aclose()


# --- tasks ---


async def test_a_task_is_unknown_when_the_store_comes_back_empty() -> None:
    world = World()
    async with nodes_of(world.server) as nodes:
        client = await nodes.client(PER_REQUEST)
        made = await client.ask(
            client.speaker.request(1, "tools/call", {"name": "work", **extended(client)})
        )
        params: dict[str, Any] = {"taskId": made.json["result"]["taskId"], **extended(client)}
        nodes.clusters[0].empty()
        for app in nodes.apps:
            reply = await client.at(app).ask(client.speaker.request(2, "tasks/get", params))
            assert code_of(reply) == INVALID_PARAMS
        world.gate.set()
