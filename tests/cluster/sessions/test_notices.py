"""Notifications of extensions and completed elicitations: each reaches its client at any node."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, Server, UrlElicitation, UrlElicitationRequired
from mcp_gen.server.notifications import shared_changes
from tests.cluster.sessions.changing import settled
from tests.cluster.sessions.nodes import Nodes, RoamingClient, nodes_of
from tests.extensions.invented import parcels
from tests.extensions.shop import DECLARED, shop
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.http.asgi import Open
from tests.support.peers.answering import EVERYTHING, Capable

each_store = pytest.mark.usefixtures("each_store")
MOVED: Any = parcels.methods.NOTIFICATIONS_PARCELS_MOVED
COMPLETE = "notifications/elicitation/complete"


async def listening(nodes: Nodes, at: int, parcel: str) -> tuple[RoamingClient, Open]:
    """Listen to a parcel at a node."""
    client = await nodes.client(PER_REQUEST, at)
    wanted: dict[str, Any] = {"notifications": {"parcelIds": [parcel]}, "_meta": DECLARED}
    opened = client.post(client.speaker.request(1, "subscriptions/listen", wanted))
    await opened.frame()
    return client, opened


def move(server: Server, parcel: str, place: str) -> None:
    params = parcels.ParcelMovedNotificationParams(parcel_id=parcel, place=place)
    server.notify.extension_listeners(parcel_ids=parcel).publish(MOVED, params)


def places(opened: Open) -> list[str]:
    """Return the places that a stream has told of."""
    found = [one.json for one in opened.messages[1:]]
    assert {one["method"] for one in found} <= {MOVED.name}
    return [one["params"]["place"] for one in found]


@each_store
async def test_a_notification_of_an_extension_reaches_its_listeners_at_every_node_once() -> None:
    async with nodes_of(lambda _: shop(), 2) as nodes:
        opened = [(await listening(nodes, at, "p1"))[1] for at in (0, 1)]
        _, other = await listening(nodes, 1, "p2")
        for place in ("Oslo", "Oslo", "Rome"):
            move(nodes.servers[0], "p1", place)
        await settled(nodes)
        assert [places(one) for one in (*opened, other)] == [["Oslo", "Oslo", "Rome"]] * 2 + [[]]


async def test_a_node_without_the_extension_takes_no_notice_of_it() -> None:
    async with nodes_of(lambda at: shop() if at else Server("plain"), 2) as nodes:
        _, opened = await listening(nodes, 1, "p1")
        move(nodes.servers[1], "p1", "Oslo")
        await settled(nodes)
        assert places(opened) == ["Oslo"]


async def test_a_notification_of_an_extension_during_an_outage_reaches_all_after_it() -> None:
    async with nodes_of(lambda _: shop(), 2) as nodes:
        (_, here), (_, there) = [await listening(nodes, at, "p1") for at in (0, 1)]
        nodes.clusters[0].disconnect()
        move(nodes.servers[0], "p1", "Oslo")
        assert (await here.frame())["params"]["place"] == "Oslo"
        assert places(there) == []
        nodes.clusters[0].reconnect()
        await settled(nodes)
        assert places(there) == ["Oslo"]
        # At least once.
        assert set(places(here)) == {"Oslo"}


async def test_a_notification_of_an_extension_that_a_node_has_missed_is_lost_for_it() -> None:
    """Nobody keeps the content of a notification: a gap cannot be filled."""
    async with nodes_of(lambda _: shop(), 2) as nodes:
        (_, here), (_, there) = [await listening(nodes, at, "p1") for at in (0, 1)]
        nodes.clusters[1].disconnect()
        move(nodes.servers[0], "p1", "Oslo")
        await here.frame()
        nodes.clusters[0].empty()
        nodes.clusters[1].reconnect()
        move(nodes.servers[0], "p1", "Rome")
        await settled(nodes)
        assert [places(one) for one in (here, there)] == [["Oslo", "Rome"], ["Rome"]]


async def test_only_so_many_notifications_wait_for_the_bus(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared_changes, "MAX_UNSENT", 2)
    async with nodes_of(lambda _: shop(), 2) as nodes:
        (_, here), (_, there) = [await listening(nodes, at, "p1") for at in (0, 1)]
        nodes.clusters[0].disconnect()
        for place in ("1", "2", "3"):
            move(nodes.servers[0], "p1", place)
            await here.frame()
        nodes.clusters[0].reconnect()
        for _ in "12":
            await there.frame()
        await settled(nodes)
        assert places(there) == ["1", "2"]
        assert "too many wait for the bus" in caplog.text


def connecting(_: int) -> Server:
    """Return a server with a tool that sends the user to a page."""
    server = Server("connecting")

    @server.tool
    async def connect(ctx: Context) -> str:
        page = UrlElicitation("Connect first", "https://example.org/connect", "visit-1")
        raise UrlElicitationRequired([page])

    return server


@each_store
async def test_a_completed_elicitation_is_told_to_its_session_from_any_node_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.cluster.sessions.nodes.Speaker", capable)
    async with nodes_of(connecting, 3) as nodes:
        client, other = await nodes.client(), await nodes.client()
        streams = [await one.listening(nodes.apps[1]) for one in (client, other)]
        reply = await client.at(nodes.apps[0]).ask(client.speaker.call(1, "connect"))
        expected = mcp_wire.profile(HANDSHAKE).errors.url_elicitation_required
        assert reply.json["error"]["code"] == expected
        for _ in range(2):
            await nodes.servers[2].notify.elicitation_complete("visit-1")
        told = await streams[0].frame()
        assert (told["method"], told["params"]) == (COMPLETE, {"elicitationId": "visit-1"})
        await settled(nodes)
        assert [len(one.messages) for one in streams] == [1, 0]


def capable(revision: str) -> Capable:
    return Capable(revision, EVERYTHING)
