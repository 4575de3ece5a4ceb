"""The costs of listening, for a server, its mounts and the servers behind them."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from typing import Any

import pytest

from mcp_gen import Context, PeerLimits, Server
from mcp_gen.core.errors import InvalidParams
from tests.hostile.work.limits.listening import holding, listen, subscribe, uris
from tests.server.mounting.gateway import gateway
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.loop import until
from tests.support.peers.raw import WAIT_S, talking

KEPT_BYTES = 100_000
"""More than a refused request may leave behind; its URIs take 15 times as much."""


def open_listens(server: Server) -> int:
    """Return the number of `subscriptions/listen` requests that a server keeps open."""
    listeners: Any = server.notify.listeners
    return sum(len(one) for one in listeners._by_channel.values())


def is_empty(server: Server) -> bool:
    """Return True if a server keeps nothing for subscriptions."""
    listeners: Any = server.notify.listeners
    return not (listeners._by_topic or listeners._by_channel or len(listeners._counter))


async def test_a_listen_that_is_refused_leaves_no_memory() -> None:
    async with talking(holding(), PER_REQUEST) as client:
        await listen(client, 1, resourceSubscriptions=uris(2_000))
        client.transport.frames.clear()
        gc.collect()
        tracemalloc.start()
        try:
            await listen(client, 2, resourceSubscriptions=uris(20_000))
            client.transport.frames.clear()
            gc.collect()
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert kept < KEPT_BYTES


async def test_what_was_listened_to_is_forgotten_at_the_end() -> None:
    server = holding()
    async with talking(server, PER_REQUEST) as client:
        await listen(client, 1, resourceSubscriptions=uris(500))
        await listen(client, 2, resourceSubscriptions=uris(5_000))
    assert is_empty(server)


async def test_after_the_end_of_a_listen_there_is_room_for_another() -> None:
    server = holding(max_listens=1)
    async with talking(server, PER_REQUEST) as client:
        assert await listen(client, 1, resourceSubscriptions=["note://1"]) == "taken"
        client.send(client.speaker.cancel(1))
        await asyncio.wait_for(until(lambda: is_empty(server)), WAIT_S)
        assert await listen(client, 2, resourceSubscriptions=["note://1"]) == "taken"


async def test_a_remote_server_is_asked_once_for_all_uris_of_a_listen() -> None:
    remote = holding()
    async with (
        gateway(remote, PER_REQUEST) as outer,
        talking(outer, PER_REQUEST) as client,
    ):
        tasks = len(asyncio.all_tasks())
        assert await listen(client, 1, resourceSubscriptions=uris(400)) == "taken"
        assert open_listens(remote) <= len(["the lists", "the URIs"])
        assert len(asyncio.all_tasks()) < tasks + 20


@pytest.mark.parametrize(("number", "listens"), [(500, 1), (501, 2)])
async def test_one_listen_at_a_remote_server_has_500_resources(number: int, listens: int) -> None:
    remote = holding()
    async with (
        gateway(remote, PER_REQUEST) as outer,
        talking(outer, PER_REQUEST) as client,
    ):
        assert await listen(client, 1, resourceSubscriptions=uris(number)) == "taken"
        assert open_listens(remote) == listens + len(["the lists"])


@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_many_subscriptions_one_by_one_become_few_at_a_remote_server(inside: str) -> None:
    remote = holding()
    async with (
        gateway(remote, inside, peer_limits=PeerLimits()) as outer,
        talking(outer, HANDSHAKE) as client,
    ):
        tasks = len(asyncio.all_tasks())
        assert await subscribe(client, uris(200)) == "taken"
        await asyncio.wait_for(until(lambda: len(asyncio.all_tasks()) < tasks + 60), WAIT_S)
        assert open_listens(remote) < 20


@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_each_of_many_subscriptions_at_a_remote_server_hears_of_changes(inside: str) -> None:
    remote = holding()
    async with (
        gateway(remote, inside) as outer,
        talking(outer, HANDSHAKE) as client,
    ):
        all_uris = uris(30)
        await subscribe(client, all_uris)
        mount: Any = outer.mounts[0]
        await asyncio.wait_for(until(lambda: mount._notifications._merged is None), WAIT_S)
        for uri in all_uris:
            remote.notify.resource_updated(uri)
        told = [(await client.next())["params"]["uri"] for _ in all_uris]
    assert sorted(told) == all_uris


@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_what_a_client_left_is_ended_at_a_remote_server(inside: str) -> None:
    remote = holding()
    async with gateway(remote, inside) as outer, talking(outer, HANDSHAKE) as other:
        await subscribe(other, ["note://x"])
        async with talking(outer, HANDSHAKE) as client:
            await subscribe(client, uris(30))
        mount: Any = outer.mounts[0]
        await asyncio.wait_for(
            until(lambda: set(mount._notifications._watches) == {"note://x"}), WAIT_S
        )
        assert set(mount._notifications._holders) == {"note://x"}
        assert len(mount._notifications._held) == 1


@pytest.mark.parametrize(("wanted", "kept"), [(3, 4), (2, 2)])
async def test_a_remote_server_is_asked_for_less_when_half_of_a_listen_is_wanted(
    wanted: int, kept: int
) -> None:
    remote = holding()
    topics: Any = remote.notify.listeners
    async with gateway(remote, PER_REQUEST) as outer, talking(outer, PER_REQUEST) as other:
        async with talking(outer, PER_REQUEST) as client:
            assert await listen(client, 1, resourceSubscriptions=uris(4)) == "taken"
            assert await listen(other, 1, resourceSubscriptions=uris(wanted)) == "taken"
            before = len(topics._by_topic)
        mount: Any = outer.mounts[0]
        of_all = mount._notifications
        await asyncio.wait_for(until(lambda: len(of_all._watches) == wanted), WAIT_S)
        await asyncio.wait_for(until(lambda: of_all._merged is None), WAIT_S)
        await asyncio.wait_for(until(lambda: len(of_all._groups) == 1), WAIT_S)
        await asyncio.wait_for(until(lambda: len(topics._by_topic) == before - (4 - kept)), WAIT_S)


async def test_of_many_resources_a_remote_server_of_an_older_date_may_refuse_some() -> None:
    remote = Server("remote")

    @remote.resource("note://{name}")
    def note(name: str) -> str:
        return name

    @remote.hooks.before_subscribe
    async def refuse(ctx: Context, params: Any) -> None:
        if params.uri.endswith("3"):
            raise InvalidParams("no")

    async with (
        gateway(remote, HANDSHAKE) as outer,
        talking(outer, PER_REQUEST) as client,
    ):
        await listen(client, 1, resourceSubscriptions=["note://1", "note://3", "note://5"])
        for name in "135":
            remote.notify.resource_updated(f"note://{name}")
        told = [(await client.next())["params"]["uri"] for _ in range(2)]
    assert told == ["note://1", "note://5"]
