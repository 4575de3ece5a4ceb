"""Resource subscriptions of a session, at the revisions with sessions."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen import PeerLimits, Server
from tests.support.frames import PER_REQUEST, with_handshake
from tests.support.peers.raw import RawClient, talking


def serving(**options: Any) -> Server:
    server = Server("resources", **options)
    server.add_resource("config://app", "text")

    @server.resource("users://{id}")
    def user(id: int) -> str:
        return str(id)

    return server


async def say(client: RawClient, id: int, method: str, uri: str) -> Any:
    return await client.ask(client.speaker.request(id, f"resources/{method}", {"uri": uri}))


def subscribed(server: Server) -> set[str]:
    (session,) = server.sessions()
    return session.subscribed


@with_handshake
async def test_a_session_subscribes_to_what_can_be_read(revision: str) -> None:
    server = serving()
    async with talking(server, revision) as client:
        for id, uri in enumerate(["config://app", "users://7", "users://7"], 1):
            assert (await say(client, id, "subscribe", uri))["result"] == {}
        assert subscribed(server) == {"config://app", "users://7"}


@with_handshake
async def test_a_session_unsubscribes(revision: str) -> None:
    server = serving()
    async with talking(server, revision) as client:
        await say(client, 1, "subscribe", "config://app")
        await say(client, 2, "subscribe", "users://7")
        assert (await say(client, 3, "unsubscribe", "config://app"))["result"] == {}
        assert subscribed(server) == {"users://7"}


@with_handshake
async def test_unsubscribing_from_what_is_gone_is_no_error(revision: str) -> None:
    server = serving()
    async with talking(server, revision) as client:
        await say(client, 1, "subscribe", "config://app")
        server.remove_resource("config://app")
        for id in (2, 3):
            assert (await say(client, id, "unsubscribe", "config://app"))["result"] == {}
        assert subscribed(server) == set()


@with_handshake
@pytest.mark.parametrize("uri", ["config://other", "users://x", "users://7/8"])
async def test_there_is_no_subscribing_to_what_cannot_be_read(revision: str, uri: str) -> None:
    server = serving()
    async with talking(server, revision) as client:
        error = (await say(client, 1, "subscribe", uri))["error"]
        assert error["code"] == mcp_wire.profile(revision).resource_not_found_code
        assert error["data"] == {"uri": uri}
        assert subscribed(server) == set()


@with_handshake
async def test_there_is_no_subscribing_to_what_a_filter_hides(revision: str) -> None:
    server = serving()
    server.resources.listing.filters.append(lambda ctx, one: False)
    async with talking(server, revision) as client:
        assert "error" in await say(client, 1, "subscribe", "config://app")


@with_handshake
async def test_a_session_cannot_subscribe_without_end(revision: str) -> None:
    server = serving(peer_limits=PeerLimits(max_subscriptions=2))
    async with talking(server, revision) as client:
        for id in (1, 2, 1):
            assert "result" in await say(client, id + 10, "subscribe", f"users://{id}")
        error = (await say(client, 3, "subscribe", "users://3"))["error"]
        assert "unsubscribe" in error["message"]
        assert subscribed(server) == {"users://1", "users://2"}


@pytest.mark.parametrize("method", ["subscribe", "unsubscribe"])
async def test_where_requests_stand_for_themselves_there_is_no_such_method(method: str) -> None:
    async with talking(serving(), PER_REQUEST) as client:
        assert (await say(client, 1, method, "config://app"))["error"]["code"] == -32601
