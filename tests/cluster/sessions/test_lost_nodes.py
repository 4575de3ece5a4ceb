"""Calls of a node that loses its lease, or whose store loses its data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from mcp_gen import Server
from tests.cluster.sessions.nodes import Nodes, nodes_of, plain_server
from tests.support.frames import BATCHING, HANDSHAKE
from tests.support.peers.talker import Talker, soon


def lapse(nodes: Nodes) -> None:
    nodes.clusters[0].lapse()


def empty(nodes: Nodes) -> None:
    nodes.clusters[0].empty()


@pytest.mark.parametrize(
    ("fail", "status", "data"),
    [(lapse, 200, {"reason": "node_lost"}), (empty, 404, None)],
    ids=["lease", "data"],
)
@pytest.mark.parametrize("in_batch", [False, True], ids=["single", "batch"])
async def test_a_call_without_a_stream_is_answered_with_an_error(
    fail: Callable[[Nodes], None], status: int, data: Any, in_batch: bool
) -> None:
    talker = Talker()

    def make(_: int) -> Server:
        return talker.server

    async with nodes_of(make, 1) as nodes:
        client = await nodes.client(BATCHING[0] if in_batch else HANDSHAKE)
        call = client.speaker.call(1, "wait")
        opened = client.post_array(b"[%b]" % call) if in_batch else client.post(call)
        await soon(talker.began)
        fail(nodes)
        reply = await opened.whole()
        answer = reply.json[0] if in_batch else reply.json
        assert (reply.status, answer["id"], answer["error"].get("data")) == (status, 1, data)
        await soon(talker.ended)
        client.session = {}


async def test_a_stream_that_is_being_opened_when_its_node_is_lost_is_refused() -> None:
    async with nodes_of(plain_server, 1) as nodes:
        client = await nodes.client()
        bus, said, goes_on = nodes.clusters[0].bus, asyncio.Event(), asyncio.Event()
        publish = bus.publish

        async def slow(topic: str, body: bytes) -> Any:
            offset = await publish(topic, body)
            said.set()
            await goes_on.wait()
            return offset

        bus.publish = slow
        opened = client.get()
        await soon(said)
        nodes.clusters[0].lapse()
        goes_on.set()
        await opened.ended()
        bus.publish = publish
        found = opened.so_far
        assert found is not None
        assert (found.status, found.headers.get("retry-after")) == (503, "1")
        client.session = {}
