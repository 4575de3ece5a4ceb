"""Changes that a server sends without having been asked for them."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Change, ChangeWatch, Client, Violation
from tests.client.using import using
from tests.support.frames import ALL, every_revision
from tests.support.peers.scripted import MemoryPeer, opening

WAIT_S = 30.0
LISTENING = [one for one in ALL if mcp_wire.profile(one).listen]
SUBSCRIBING = [one for one in ALL if not mcp_wire.profile(one).listen]
listening = pytest.mark.parametrize("revision", LISTENING)
subscribing = pytest.mark.parametrize("revision", SUBSCRIBING)

LISTED = {
    "tools": "notifications/tools/list_changed",
    "prompts": "notifications/prompts/list_changed",
    "resources": "notifications/resources/list_changed",
}
UPDATED = "notifications/resources/updated"


class Notifier(MemoryPeer):
    """Server that takes any subscription, and sends the changes that a test names."""

    def __init__(self, revision: str, granted: dict[str, Any] | None = None) -> None:
        self.profile = mcp_wire.profile(revision)
        self.granted = granted
        answers = opening(revision)
        if self.profile.listen is None:
            features = {"tools", "prompts", "resources"}
            declared = {one: {"listChanged": True, "subscribe": True} for one in features}
            opened = answers["initialize"](None) | {"capabilities": declared}
            answers["initialize"] = lambda _: opened
        super().__init__(
            {
                **answers,
                "resources/subscribe": lambda _: {},
                "resources/unsubscribe": lambda _: {},
                "subscriptions/listen": self._acknowledge,
            }
        )

    def _acknowledge(self, params: Any) -> None:
        granted = params["notifications"] if self.granted is None else self.granted
        self.change("notifications/subscriptions/acknowledged", notifications=granted)

    def change(self, method: str, **params: Any) -> None:
        """Send a notification, of the last subscription where notifications name one."""
        key = self.profile.subscription_id_key
        if key is not None:
            params["_meta"] = {key: self.asked[-1]["id"]}
        self.say(msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params}))


async def heard(watch: ChangeWatch, until: Change) -> list[Change]:
    """Return the changes of a watch before the last one."""
    came: list[Change] = []
    async with asyncio.timeout(WAIT_S):
        async for change in watch:
            if change == until:
                return came
            came.append(change)
    raise AssertionError("the watch has ended")


def reporting() -> tuple[Client, list[Violation]]:
    """Return a client, and the list that its violations are added to."""
    client, reports = Client("c", validation="report"), list[Violation]()
    client.on_violation(reports.append)
    return client, reports


@every_revision
@pytest.mark.parametrize("uri", ["note://a/b", "note://a?x", "note://a#x", "note://a/b/c?d#e"])
async def test_the_news_of_a_sub_resource_is_heard_where_the_revision_has_them(
    revision: str, uri: str
) -> None:
    server, (client, reports) = Notifier(revision), reporting()
    async with (
        using(client, await server.start(), revision) as session,
        session.watch("note://a") as changes,
    ):
        server.change(UPDATED, uri=uri)
        server.change(UPDATED, uri="note://a")
        came = await heard(changes, Change("resource", "note://a"))
    has_them = mcp_wire.profile(revision).sub_resource_updates
    assert came == ([Change("resource", uri)] if has_them else [])
    assert len(reports) == (0 if has_them else 1)


@subscribing
async def test_below_a_folder_all_resources_are_parts_of_it(revision: str) -> None:
    server = Notifier(revision)
    async with (
        using(Client("c"), await server.start(), revision) as session,
        session.watch("file:///a/") as changes,
    ):
        server.change(UPDATED, uri="file:///a/b")
        server.change(UPDATED, uri="file:///a/")
        came = await heard(changes, Change("resource", "file:///a/"))
    assert came == [Change("resource", "file:///a/b")]


@every_revision
@pytest.mark.parametrize("uri", ["note://ab", "note://", "note://b", "note://A", "note://a%2fb"])
async def test_the_news_of_another_resource_is_not_heard(revision: str, uri: str) -> None:
    server = Notifier(revision)
    async with (
        using(Client("c"), await server.start(), revision) as session,
        session.watch("note://a") as changes,
    ):
        server.change(UPDATED, uri=uri)
        server.change(UPDATED, uri="note://a")
        assert await heard(changes, Change("resource", "note://a")) == []


@every_revision
@pytest.mark.parametrize("kind", LISTED)
async def test_a_list_that_is_not_watched_is_not_heard_of(revision: str, kind: str) -> None:
    server = Notifier(revision)
    async with (
        using(Client("c"), await server.start(), revision) as session,
        session.watch("note://a") as changes,
    ):
        server.change(LISTED[kind])
        server.change(UPDATED, uri="note://a")
        assert await heard(changes, Change("resource", "note://a")) == []


@listening
@pytest.mark.parametrize(
    ("method", "params"),
    [*((method, {}) for method in LISTED.values()), (UPDATED, {"uri": "note://b"})],
)
async def test_a_change_that_nobody_asked_for_is_a_violation(
    revision: str, method: str, params: dict[str, Any]
) -> None:
    server, (client, reports) = Notifier(revision), reporting()
    async with (
        using(client, await server.start(), revision) as session,
        session.watch("note://a") as changes,
    ):
        server.change(method, **params)
        server.change(UPDATED, uri="note://a")
        await heard(changes, Change("resource", "note://a"))
        assert reports == [Violation(session, method, "$.params", "not asked for by this client")]


@listening
async def test_a_list_may_change_for_one_watch_and_not_for_the_other(revision: str) -> None:
    server, (client, reports) = Notifier(revision), reporting()
    async with (
        using(client, await server.start(), revision) as session,
        session.watch(tools=True) as lists,
    ):
        server.change(LISTED["tools"])
        async with session.watch("note://a") as notes:
            server.change(LISTED["tools"])
            server.change(UPDATED, uri="note://a")
            assert await heard(notes, Change("resource", "note://a")) == []
        async with asyncio.timeout(WAIT_S):
            assert await anext(lists) == Change("tools")
    assert len(reports) == 1


@listening
@pytest.mark.parametrize(
    ("granted", "honoured"),
    [
        ({"toolsListChanged": True}, {}),
        ({"resourceSubscriptions": ["note://a", "note://b"]}, {"uris": ["note://a"]}),
        ({"resourceSubscriptions": ["note://b"], "promptsListChanged": True}, {}),
    ],
)
async def test_a_server_that_grants_more_than_was_asked_for_is_reported(
    revision: str, granted: dict[str, Any], honoured: dict[str, Any]
) -> None:
    server, (client, reports) = Notifier(revision, granted), reporting()
    async with (
        using(client, await server.start(), revision) as session,
        session.watch("note://a") as changes,
    ):
        given = msgspec.to_builtins(changes.honoured)
    assert given.get("resourceSubscriptions", []) == honoured.get("uris", [])
    assert given.keys() <= {"resourceSubscriptions"}
    assert [report.method for report in reports] == ["notifications/subscriptions/acknowledged"]


@listening
async def test_a_server_may_grant_less_than_was_asked_for(revision: str) -> None:
    server, (client, reports) = Notifier(revision, {"toolsListChanged": True}), reporting()
    async with (
        using(client, await server.start(), revision) as session,
        session.watch("note://a", tools=True) as changes,
    ):
        assert msgspec.to_builtins(changes.honoured) == {"toolsListChanged": True}
    assert reports == []
