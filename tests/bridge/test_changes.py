"""Subscriptions, changes of lists and log levels through a bridge."""

from __future__ import annotations

from typing import Any

import mcp_wire
from mcp_gen import Context, Server
from tests.bridge.behind import at_any, at_differing, shop, through
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.loop import until
from tests.support.peers.asked import Asked
from tests.support.peers.conversation import Conversation

UPDATED, TOOLS_CHANGED = "notifications/resources/updated", "notifications/tools/list_changed"
HOURS = "shop:///hours"


async def subscribed(client: Conversation, revision: str) -> Asked | None:
    """Subscribe to a resource as the revision does it."""
    if mcp_wire.profile(revision).listen is None:
        await client.request("resources/subscribe", {"uri": HOURS})
        return None
    wanted = {"resourceSubscriptions": [HOURS], "toolsListChanged": True}
    asked = client.begin("subscriptions/listen", {"notifications": wanted})
    await until(lambda: asked.notices)
    return asked


@at_any
async def test_a_change_of_a_resource_reaches_who_subscribed(revision: str, inside: str) -> None:
    server = shop(inside)
    async with through(server, revision) as client:
        await subscribed(client, revision)
        server.notify.resource_updated("shop:///other")
        server.notify.resource_updated(HOURS)
        await until(lambda: client.params_of(UPDATED))
        assert [one["uri"] for one in client.params_of(UPDATED)] == [HOURS]


@at_any
async def test_a_change_of_a_list_reaches_the_client(revision: str, inside: str) -> None:
    server = shop(inside)
    async with through(server, revision) as client:
        await subscribed(client, revision)
        server.add_tool(lambda: "x", name="new")
        await until(lambda: client.params_of(TOOLS_CHANGED))
        listed = await client.request("tools/list")
        assert listed["tools"][-1]["name"] == "new"


@at_differing
async def test_nothing_comes_after_a_subscription_has_ended(revision: str, inside: str) -> None:
    server = shop(inside)
    async with through(server, revision) as client:
        asked = await subscribed(client, revision)
        if asked is None:
            await client.request("resources/unsubscribe", {"uri": HOURS})
        else:
            client.cancel(asked)
        await until(lambda: not watched(server))
        server.notify.resource_updated(HOURS)
        await client.request("tools/list")
        assert client.params_of(UPDATED) == []


def watched(server: Server) -> bool:
    """Return True if a client of a server is subscribed to a resource."""
    sessions = any(one.__dict__.get("subscribed") for one in server.sessions())
    topics = server.notify.listeners._by_topic
    return sessions or any(getattr(topic, "uri", None) for topic in topics)


async def test_an_end_of_an_elicitation_reaches_the_client_of_a_session() -> None:
    server = Server("s", revisions=[HANDSHAKE])

    @server.tool
    async def sign(ctx: Context) -> str:
        await ctx.elicit_url("Sign", "https://example.org", elicitation_id="e1")
        await ctx.elicitation_complete("e1")
        return "signed"

    answers = {"elicitation/create": lambda asked: {"action": "accept"}}
    async with through(server, HANDSHAKE, over="http", answers=answers) as client:
        assert await client.text("sign") == "signed"
        await until(lambda: client.params_of("notifications/elicitation/complete"))
        (told,) = client.params_of("notifications/elicitation/complete")
    assert told == {"elicitationId": "e1"}


async def test_an_end_of_an_elicitation_is_not_told_where_no_revision_has_it() -> None:
    server = Server("s", revisions=[HANDSHAKE])

    @server.tool
    async def sign(ctx: Context) -> str:
        await ctx.elicit_url("Sign", "https://example.org", elicitation_id="e1")
        await ctx.elicitation_complete("e1")
        return "signed"

    answers = {"elicitation/create": lambda asked: {"action": "accept"}}
    async with through(server, PER_REQUEST, answers=answers) as client:
        assert await client.text("sign") == "signed"
        assert client.params_of("notifications/elicitation/complete") == []


# --- log levels ---


def talking(inside: str) -> Server:
    server = Server("s", revisions=[inside])

    @server.tool
    async def talk(ctx: Context) -> str:
        await ctx.log("debug", "few")
        await ctx.log("error", "all")
        return "said"

    return server


def data_of(client: Conversation) -> list[Any]:
    return [one["data"] for one in client.params_of("notifications/message")]


@at_differing
async def test_the_log_level_of_the_client_holds(revision: str, inside: str) -> None:
    key = mcp_wire.profile(revision).log_level_key
    async with through(talking(inside), revision) as client:
        for level, told in (("error", ["all"]), ("debug", ["all", "few", "all"])):
            meta = {key: level} if key else None
            if key is None:
                await client.request("logging/setLevel", {"level": level})
            await client.request("tools/call", {"name": "talk"}, meta=meta)
            assert data_of(client) == told


async def test_a_request_without_a_log_level_gets_no_log_messages() -> None:
    key = mcp_wire.profile(PER_REQUEST).log_level_key or ""
    async with through(talking(HANDSHAKE), PER_REQUEST) as client:
        await client.request("tools/call", {"name": "talk"}, meta={key: "debug"})
        told = len(data_of(client))
        await client.request("tools/call", {"name": "talk"})
        assert len(data_of(client)) == told == 2


async def test_a_message_outside_of_calls_reaches_the_client_of_a_session() -> None:
    server = talking(HANDSHAKE)
    async with through(server, mcp_wire.REVISIONS[0]) as client:
        await client.request("logging/setLevel", {"level": "info"})
        (session,) = server.sessions()
        await session.log("info", "from nowhere")
        await until(lambda: data_of(client))
        assert data_of(client) == ["from nowhere"]


async def test_a_message_outside_of_calls_is_dropped_without_a_session() -> None:
    server = talking(HANDSHAKE)
    key = mcp_wire.profile(PER_REQUEST).log_level_key or ""
    async with through(server, PER_REQUEST) as client:
        await client.request("tools/call", {"name": "talk"}, meta={key: "debug"})
        (session,) = server.sessions()
        await session.log("error", "from nowhere")
        await client.request("tools/call", {"name": "talk"}, meta={key: "debug"})
        assert data_of(client) == ["few", "all", "few", "all"]
