"""Requests that need a store that cannot be reached: 503, and no word of where the store is."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from mcp_gen import Server
from mcp_gen.core.stores.failures import StoreDown
from tests.cluster.sessions.nodes import LAST, eventually, nodes_of, plain_server
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker
from tests.support.http.asgi import WebClient, request

SECRET = "Redis at 10.1.2.3:6379"


def failing_server(_: int) -> Server:
    """Return a server with a tool whose store is down."""
    server = Server("failing")

    @server.tool
    async def fail() -> str:
        raise StoreDown(f"{SECRET}: it is down")

    return server


async def test_a_handler_that_needs_a_store_is_answered_with_503_and_one_log_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with nodes_of(failing_server, 1) as nodes:
        client: WebClient = await nodes.client(PER_REQUEST)
        with caplog.at_level(logging.WARNING, "mcp_gen.server"):
            reply = await client.ask(client.speaker.call(1, "fail"))
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert reply.json["error"]["data"] == {"reason": "store_down"}
    assert SECRET.encode() not in reply.body
    (line,) = caplog.records
    assert line.exc_info is None
    assert SECRET in line.getMessage()


async def test_a_session_request_does_not_say_where_the_store_is() -> None:
    async with nodes_of(failing_server, 1) as nodes:
        client = await nodes.client()

        async def load(id: str) -> None:
            raise StoreDown(f"{SECRET}: it is down")

        nodes.clusters[0].sessions.load = load
        client.session = dict.fromkeys(client.session, "other")
        reply = await client.ask(client.speaker.call(1, "fail"))
        assert (reply.status, SECRET.encode() in reply.body) == (503, False)
        client.session = {}


async def down(*_: Any, **__: Any) -> Any:
    """Fail as a store does that does not answer in time."""
    raise StoreDown("no answer in time")


async def test_requests_that_wait_for_the_same_session_are_all_refused_if_it_cannot_be_loaded() -> (
    None
):
    async with nodes_of(plain_server, 2) as nodes:
        client = await nodes.client()
        asked, goes_on = asyncio.Event(), asyncio.Event()

        async def load(id: str) -> Any:
            asked.set()
            await goes_on.wait()
            return await down()

        nodes.clusters[1].sessions.load = load
        client.at(nodes.apps[1])
        first = client.post(client.speaker.call(1, "where"))
        await asked.wait()
        others = [client.post(client.speaker.call(2, "where")), client.get()]
        await asyncio.sleep(0)
        goes_on.set()
        replies = [await one.whole() for one in (first, *others)]
        assert [reply.status for reply in replies] == [503, 503, 503]


async def test_a_request_of_another_client_does_not_hide_a_session_from_its_own() -> None:
    who = "ann"

    def principal(_scope: dict[str, object]) -> str:
        return who

    async with nodes_of(plain_server, 2, principal=principal) as nodes:
        client = await nodes.client()
        cluster = nodes.clusters[1]
        asked, goes_on, load = asyncio.Event(), asyncio.Event(), cluster.sessions.load

        async def slow(id: str) -> Any:
            asked.set()
            await goes_on.wait()
            return await load(id)

        cluster.sessions.load = slow
        client.at(nodes.apps[1])
        who = "bob"
        foreign = client.post(client.speaker.call(1, "where"))
        await asked.wait()
        who = "ann"
        own = client.post(client.speaker.call(2, "where"))
        await asyncio.sleep(0)
        goes_on.set()
        assert ((await foreign.whole()).status, (await own.whole()).status) == (404, 200)


async def test_a_session_that_cannot_be_stored_does_not_begin_where_its_answer_is_a_stream() -> (
    None
):
    async with nodes_of(plain_server, 1) as nodes:
        nodes.clusters[0].sessions.create = down
        frame = Speaker(HANDSHAKE).initialize(0)
        reply = await request(nodes.apps[0], frame, {"accept": "text/event-stream"})
    (event,) = reply.events
    assert event.json["error"]["data"] == {"reason": "store_down"}


async def test_a_stream_that_is_resumed_while_the_store_fails_ends_without_a_message() -> None:
    async with nodes_of(plain_server, 1) as nodes:
        client = await nodes.client()
        listening = await client.listening(nodes.apps[0])
        nodes.servers[0].notify.tool_list_changed()
        await eventually(lambda: bool(listening.messages))
        bus = nodes.clusters[0].bus
        publish, bus.publish = bus.publish, down
        resumed = client.get(**{LAST: str(listening.messages[0].id)})
        reply = await resumed.whole()
        bus.publish = publish
        assert (reply.status, reply.events) == (200, [])
