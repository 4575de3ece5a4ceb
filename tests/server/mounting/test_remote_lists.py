"""Lists of a remote server: fetched on demand, and cached while they are valid."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from mcp_gen import CacheHints, Client, Context, PeerLimits, Server, SessionLost
from mcp_gen.server.mounting.kinds import TOOLS
from mcp_gen.server.relaying import subscriptions
from tests.server.mounting.gateway import at_two, gateway, weather
from tests.support.frames import HANDSHAKE, PER_REQUEST, each_lifecycle, with_handshake
from tests.support.loop import until
from tests.support.peers.asked import WAIT_S
from tests.support.peers.connect import talk
from tests.support.peers.scripted import MemoryPeer, opening


def counted(server: Server) -> list[str]:
    """Return the list requests, as they arrive."""
    asked: list[str] = []

    @server.hooks.before_list_tools
    async def tools(ctx: Context, params: Any) -> None:
        asked.append("tools")

    return asked


@each_lifecycle
@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_a_list_is_asked_for_when_somebody_wants_it_and_then_kept(
    revision: str, inside: str
) -> None:
    inner = weather()
    asked = counted(inner)
    async with gateway(inner, inside) as server, talk(lambda: server, revision) as client:
        assert await client.text("far_forecast", city="x")
        assert asked == []
        await client.names("tools/list", "tools")
        await until(lambda: server.mounts[0].is_static(None, TOOLS))
        await client.names("tools/list", "tools")
        before = len(asked)
        await client.names("tools/list", "tools")
        assert len(asked) == before
    assert before <= 2


@at_two
async def test_changes_are_told_and_seen(revision: str, inside: str) -> None:
    inner = weather()
    async with gateway(inner, inside) as server, talk(lambda: server, revision) as client:
        await client.listen(toolsListChanged=True)
        before = await client.names("tools/list", "tools")
        await until(lambda: server.mounts[0].is_static(None, TOOLS))
        inner.add_tool(lambda: "1", name="one")
        inner.remove_tool("ask")
        await client.hears("notifications/tools/list_changed")
        after = await client.names("tools/list", "tools")
        assert set(before) ^ set(after) == {"far_one", "far_ask"}
        assert await client.text("far_one") == "1"
        assert len(client.params_of("notifications/tools/list_changed")) == 1


@with_handshake
async def test_changes_of_a_server_that_is_not_mounted_any_more_are_not_told(revision: str) -> None:
    inner, server = weather(), Server("outer")
    async with Client("gateway") as between:
        session = await between.connect(inner, revision=HANDSHAKE)
        server.mount("far", session)
        async with talk(lambda: server, revision) as client:
            # The program may keep what it has mounted.
            (mount,) = server.mounts
            server.unmount(session)
            await client.hears("notifications/tools/list_changed")
            inner.add_tool(lambda: "1", name="one")
            await session.ping()
            await client.settled()
            assert len(client.params_of("notifications/tools/list_changed")) == 1
            del mount


@at_two
async def test_updates_of_a_resource_are_told_to_those_who_subscribed(
    revision: str, inside: str
) -> None:
    inner = weather()
    async with (
        gateway(inner, inside) as server,
        talk(lambda: server, revision) as client,
        talk(lambda: server, revision) as other,
    ):
        await client.listen(resourceSubscriptions=["weather:///today"])
        await other.settled()
        inner.notify.resource_updated("weather:///today")
        (told,) = await client.hears("notifications/resources/updated")
        assert told["uri"] == "weather:///today"
        await other.settled()
        assert other.params_of("notifications/resources/updated") == []


@with_handshake
@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_the_remote_server_is_subscribed_to_once_and_until_nobody_is_left(
    revision: str, inside: str
) -> None:
    inner = weather()
    uri = "weather:///today"
    async with (
        gateway(inner, inside) as server,
        talk(lambda: server, revision) as one,
        talk(lambda: server, revision) as other,
    ):
        news = server.mounts[0]._notifications
        await one.listen(resourceSubscriptions=[uri])
        await other.listen(resourceSubscriptions=[uri])
        assert len(news._watches) == 1
        await one.request("resources/unsubscribe", {"uri": uri})
        assert len(news._watches) == 1
        await other.request("resources/unsubscribe", {"uri": uri})
        assert len(news._watches) == 0
        refused = await one.refusal("resources/subscribe", {"uri": "nothing:///x"})
        assert "not found" in str(refused)


@each_lifecycle
async def test_a_list_without_news_is_kept_for_as_long_as_the_server_says(revision: str) -> None:
    inner = Server("inner", cache_hints=CacheHints(ttl_ms=60_000))
    inner.add_tool(lambda: "x", name="x")
    asked = counted(inner)
    async with gateway(inner, PER_REQUEST) as server, talk(lambda: server, revision) as client:
        mount: Any = server.mounts[0]
        mount._notifications.close()  # no notifications arrive
        for _ in range(3):
            assert "far_x" in await client.names("tools/list", "tools")
    assert asked == ["tools"]


@each_lifecycle
async def test_a_list_of_which_nothing_is_known_is_asked_for_each_time(revision: str) -> None:
    inner = Server("inner", cache_hints=CacheHints(ttl_ms=0))
    inner.add_tool(lambda: "x", name="x")
    asked = counted(inner)
    async with gateway(inner, PER_REQUEST) as server, talk(lambda: server, revision) as client:
        mount: Any = server.mounts[0]
        mount._notifications.close()
        for _ in range(3):
            await client.names("tools/list", "tools")
    assert len(asked) == 3


@each_lifecycle
async def test_many_who_want_a_list_ask_for_it_once(revision: str) -> None:
    inner = weather()
    asked = counted(inner)
    async with gateway(inner, HANDSHAKE) as server, talk(lambda: server, revision) as client:
        await asyncio.gather(*(client.names("tools/list", "tools") for _ in range(20)))
    assert asked == ["tools"]


async def test_pages_of_the_remote_server_are_all_fetched() -> None:
    inner = Server("inner", page_size=2)
    for number in range(5):
        inner.add_tool(lambda: "x", name=f"t{number}")
    async with gateway(inner, PER_REQUEST) as server, talk(lambda: server, PER_REQUEST) as client:
        names = await client.names("tools/list", "tools")
    assert names == ["own", *(f"far_t{number}" for number in range(5))]


@each_lifecycle
async def test_a_server_that_goes_keeps_the_others_as_they_are(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    inner, other = weather(), Server("other")
    other.add_tool(lambda: "x", name="x")
    async with gateway(inner, HANDSHAKE) as server, Client("second") as second:
        session = await second.connect(other, reconnect=False)
        server.mount("gone", session)
        async with talk(lambda: server, revision) as client:
            before = await client.names("tools/list", "tools")
            await session.aclose()
            assert await client.names("tools/list", "tools") == before
            refused = await client.refusal("tools/call", {"name": "gone_x"})
            assert "mount 'gone': its server cannot be reached" in str(refused)
            assert await client.text("far_forecast", city="A")
            assert await client.text("own") == "mine"
        server.unmount("gone")


@each_lifecycle
@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_a_server_that_comes_back_is_used_again_with_what_it_has_then(
    revision: str, inside: str
) -> None:
    inner = weather()
    async with gateway(inner, inside) as server, talk(lambda: server, revision) as client:
        await client.listen(toolsListChanged=True)
        await client.names("tools/list", "tools")
        for session in inner.sessions():
            session.end()
        mount: Any = server.mounts[0]
        await until(lambda: mount.relay.is_lost)
        inner.add_tool(lambda: "new", name="new")
        assert await client.text("far_forecast", city="A") == "A: sun, says weather"
        await client.hears("notifications/tools/list_changed")
        assert "far_new" in await client.names("tools/list", "tools")
        await asyncio.wait_for(until(lambda: mount.is_static(None, TOOLS)), WAIT_S)
        inner.remove_tool("new")
        await client.hears("notifications/tools/list_changed", 2)
        assert "far_new" not in await client.names("tools/list", "tools")


async def test_a_server_that_has_no_subscriptions_says_so() -> None:
    far = MemoryPeer(
        {
            **opening(HANDSHAKE),
            "resources/list": lambda _: {"resources": [{"uri": "a:///b", "name": "b"}]},
            "resources/templates/list": lambda _: {"resourceTemplates": []},
        }
    )
    result = far._answers["initialize"]({})
    result["capabilities"] = {"resources": {}}
    server = Server("outer")
    async with Client("gateway") as between:
        server.mount("far", await between.connect(await far.start(), revision=HANDSHAKE))
        async with talk(lambda: server, HANDSHAKE) as client:
            refused = await client.refusal("resources/subscribe", {"uri": "a:///b"})
            assert "tells of no changes of resources" in str(refused)
        server.unmount("far")


def without_list_changes(inside: str) -> MemoryPeer:
    """Return a server with one tool that declares no `listChanged`."""
    page: dict[str, Any] = {"tools": [{"name": "x", "inputSchema": {"type": "object"}}]}
    if inside == PER_REQUEST:
        page |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
    return MemoryPeer({**opening(inside), "tools/list": lambda _: page})


@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_a_remote_server_without_list_changes_is_not_listened_to_and_asked_each_time(
    inside: str,
) -> None:
    far, server = without_list_changes(inside), Server("outer")
    async with Client("gateway") as between:
        server.mount("far", await between.connect(await far.start(), revision=inside))
        mount: Any = server.mounts[0]
        async with talk(lambda: server, PER_REQUEST) as client:
            for _ in range(2):
                assert await client.names("tools/list", "tools") == ["far_x"]
            assert not mount.is_static(None, TOOLS)
            assert mount._notifications._lists is None
        server.unmount("far")
    asked = [frame["method"] for frame in far.asked]
    assert asked.count("tools/list") == 2
    assert "subscriptions/listen" not in asked


async def test_a_listener_hears_of_the_gateways_own_lists_where_the_remote_tells_of_none() -> None:
    far, server = without_list_changes(PER_REQUEST), Server("outer")
    async with Client("gateway") as between:
        server.mount("far", await between.connect(await far.start(), revision=PER_REQUEST))
        async with talk(lambda: server, PER_REQUEST) as client:
            await client.listen(toolsListChanged=True, promptsListChanged=True)
            (agreed,) = client.params_of("notifications/subscriptions/acknowledged")
            # The gateway has tools, whose list changes with each mount; and it has no prompts.
            assert agreed["notifications"] == {"toolsListChanged": True}
            server.unmount("far")
            await client.hears("notifications/tools/list_changed")


@with_handshake
@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_a_resource_is_watched_again_when_the_server_comes_back(
    revision: str, inside: str
) -> None:
    inner = weather()
    async with gateway(inner, inside) as server, talk(lambda: server, revision) as client:
        await client.listen(resourceSubscriptions=["weather:///today"])
        mount: Any = server.mounts[0]
        for session in inner.sessions():
            session.end()
        await until(lambda: mount.relay.is_lost)
        assert await client.text("far_forecast", city="A")
        await asyncio.sleep(0)
        updated = "notifications/resources/updated"
        for _ in range(1000):
            inner.notify.resource_updated("weather:///today")
            await asyncio.sleep(0)
            if client.params_of(updated):
                break
        assert client.params_of(updated)


async def test_a_server_that_is_away_is_asked_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    @asynccontextmanager
    async def at_once(wait_s: float) -> AsyncIterator[None]:
        waits.append(wait_s)
        await asyncio.sleep(0)
        raise TimeoutError
        yield

    async with gateway(weather(), HANDSHAKE) as server, talk(lambda: server, HANDSHAKE) as client:
        mount: Any = server.mounts[0]
        await client.listen(resourceSubscriptions=["weather:///today"])

        async def away() -> None:
            raise SessionLost("it is away")

        with monkeypatch.context() as patch:
            patch.setattr(mount.relay, "ready", away)
            patch.setattr(subscriptions, "asyncio", SimpleNamespace(timeout=at_once))
            group = subscriptions._Group(["weather:///now"], asyncio.get_running_loop())
            group.started.set_result(None)
            watching = asyncio.create_task(mount._notifications._run(group, ()))
            await until(lambda: len(waits) == 8)
            watching.cancel()
            await asyncio.wait([watching])
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


@each_lifecycle
async def test_what_a_remote_server_reads_without_listing_it_can_be_read(revision: str) -> None:
    far = MemoryPeer(
        {
            **opening(HANDSHAKE),
            "resources/list": lambda _: {"resources": []},
            "resources/templates/list": lambda _: {"resourceTemplates": []},
            "resources/read": lambda asked: {
                "contents": [{"uri": asked["uri"], "text": "hidden", "mimeType": "text/plain"}]
            },
        }
    )
    far._answers["initialize"]({})["capabilities"] = {"resources": {}}
    middle, server = Server("middle"), Server("outer")
    server.mount("m", middle)
    async with Client("gateway") as between:
        middle.mount("far", await between.connect(await far.start(), revision=HANDSHAKE))
        async with talk(lambda: server, revision) as client:
            read = await client.request("resources/read", {"uri": "secret:///x"})
            assert read["contents"][0]["text"] == "hidden"
        middle.unmount("far")


async def test_when_nobody_is_served_nothing_is_listened_to() -> None:
    inner = weather()
    async with gateway(inner, PER_REQUEST) as server:
        mount: Any = server.mounts[0]
        for _ in range(2):
            async with talk(lambda: server, HANDSHAKE) as client:
                await client.names("tools/list", "tools")
                await client.listen(resourceSubscriptions=["weather:///today"])
                assert mount._notifications._lists is not None
            assert mount._notifications._lists is None
            assert mount._notifications._watches == {}


def hidden() -> MemoryPeer:
    """Return a server with a readable resource that it does not list."""
    far = MemoryPeer(
        {
            **opening(HANDSHAKE),
            "resources/list": lambda _: {"resources": []},
            "resources/templates/list": lambda _: {"resourceTemplates": []},
            "resources/read": lambda asked: {"contents": [{"uri": asked["uri"], "text": "hidden"}]},
        }
    )
    far._answers["initialize"]({})["capabilities"] = {"resources": {"subscribe": True}}
    return far


@each_lifecycle
@pytest.mark.parametrize("first", ["down", "has tools alone"])
async def test_what_is_not_listed_is_asked_of_the_others_too(revision: str, first: str) -> None:
    before, server = Server("before"), Server("outer")
    if first == "down":
        before.add_resource("a:///b", lambda: "b")
    else:
        before.add_tool(lambda: "x", name="x")
    async with Client("gateway") as between:
        session = await between.connect(before, reconnect=False)
        server.mount("before", session)
        server.mount("far", await between.connect(await hidden().start(), revision=HANDSHAKE))
        async with talk(lambda: server, revision) as client:
            if first == "down":
                await session.aclose()
            read = await client.request("resources/read", {"uri": "secret:///x"})
            assert read["contents"][0]["text"] == "hidden"


@each_lifecycle
async def test_of_a_server_that_is_down_it_is_not_said_that_it_has_no_such_resource(
    revision: str,
) -> None:
    before, server = Server("before"), Server("outer")
    before.add_resource("a:///b", lambda: "b")
    async with Client("gateway") as between:
        session = await between.connect(before, reconnect=False)
        server.mount("before", session)
        server.mount("other", await between.connect(weather()))
        async with talk(lambda: server, revision) as client:
            await session.aclose()
            refused = await client.refusal("resources/read", {"uri": "secret:///x"})
            assert "mount 'before': its server cannot be reached" in str(refused)


async def test_a_subscription_that_is_on_its_way_ends_when_its_server_is_unmounted() -> None:
    far, server = hidden(), Server("outer")
    far._answers["resources/list"] = lambda _: {"resources": [{"uri": "a:///b", "name": "b"}]}
    async with Client("gateway") as between:
        server.mount("far", await between.connect(await far.start(), revision=HANDSHAKE))
        async with (
            talk(lambda: server, HANDSHAKE) as client,
            asyncio.TaskGroup() as group,
        ):
            asked = group.create_task(client.refusal("resources/subscribe", {"uri": "a:///b"}))
            await far.heard("resources/subscribe")
            server.unmount("far")
            assert "not mounted any more" in str(await asyncio.wait_for(asked, WAIT_S))


@each_lifecycle
async def test_what_changed_while_nobody_listened_is_seen_and_told(revision: str) -> None:
    inner = Server("inner", cache_hints=CacheHints(ttl_ms=60_000))
    inner.add_tool(lambda: "x", name="x")
    async with gateway(inner, PER_REQUEST) as server, talk(lambda: server, revision) as client:
        mount: Any = server.mounts[0]
        await client.listen(toolsListChanged=True)
        await client.names("tools/list", "tools")
        await asyncio.wait_for(until(lambda: mount._notifications._listens), WAIT_S)
        inner.notify.end_listening()
        await asyncio.wait_for(until(lambda: not mount._notifications._listens), WAIT_S)
        inner.add_tool(lambda: "new", name="new")
        await client.text("own")
        await client.names("tools/list", "tools")
        await client.hears("notifications/tools/list_changed")
        assert "far_new" in await client.names("tools/list", "tools")


@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_of_what_is_gone_a_client_can_unsubscribe(inside: str) -> None:
    inner, uri = weather(), "gone:///x"
    inner.add_resource(uri, lambda: "x")
    async with gateway(inner, inside) as server, talk(lambda: server, HANDSHAKE) as client:
        mount: Any = server.mounts[0]
        await client.names("resources/list", "resources")
        await client.request("resources/subscribe", {"uri": uri})
        assert uri in mount._notifications._watches
        inner.remove_resource(uri)
        await client.hears("notifications/resources/list_changed")
        assert uri not in await client.names("resources/list", "resources", by="uri")
        await client.request("resources/unsubscribe", {"uri": uri})
        assert uri not in mount._notifications._watches


async def test_subscribing_at_a_server_that_is_down_says_which_it_is() -> None:
    server = Server("outer")
    async with Client("gateway") as between:
        session = await between.connect(weather(), reconnect=False)
        server.mount("far", session)
        async with talk(lambda: server, HANDSHAKE) as client:
            await client.names("resources/list", "resources")
            await session.aclose()
            refused = await client.refusal("resources/subscribe", {"uri": "weather:///today"})
            assert "mount 'far': its server cannot be reached" in str(refused)


@pytest.mark.parametrize("inside", [HANDSHAKE, PER_REQUEST])
async def test_a_session_cannot_subscribe_without_end_at_a_remote_server(inside: str) -> None:
    limits = PeerLimits(max_subscriptions=2)
    async with (
        gateway(weather(), inside, peer_limits=limits) as server,
        talk(lambda: server, HANDSHAKE) as client,
    ):
        for city in ("Oslo", "Rome", "Oslo"):
            await client.request("resources/subscribe", {"uri": f"weather://{city}/now"})
        refused = await client.refusal("resources/subscribe", {"uri": "weather://Bern/now"})
        (session,) = server.sessions()
        assert "may subscribe to 2 resources" in str(refused)
        assert session.subscribed == {"weather://Oslo/now", "weather://Rome/now"}


async def test_a_subscription_that_is_refused_is_refused_to_all_who_wait_for_it() -> None:
    far, server = hidden(), Server("outer")
    far._answers["resources/list"] = lambda _: {"resources": [{"uri": "a:///b", "name": "b"}]}
    async with Client("gateway") as between:
        server.mount("far", await between.connect(await far.start(), revision=HANDSHAKE))
        mount: Any = server.mounts[0]
        async with (
            talk(lambda: server, HANDSHAKE) as one,
            talk(lambda: server, HANDSHAKE) as other,
            asyncio.TaskGroup() as group,
        ):
            asked = [
                group.create_task(client.refusal("resources/subscribe", {"uri": "a:///b"}))
                for client in (one, other)
            ]
            id = (await far.heard("resources/subscribe"))["id"]
            await until(lambda: len(mount._notifications._holders.get("a:///b", ())) == 2)
            error = {"code": -32050, "message": "no more"}
            far.say(msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": error}))
            refused = await asyncio.wait_for(asyncio.gather(*asked), WAIT_S)
            assert [one.code for one in refused] == [-32050, -32050]
            assert mount._notifications._holders == {}
