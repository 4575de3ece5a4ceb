"""Spec tests of subscriptions."""

from __future__ import annotations

from typing import Any

from mcp_gen import Server
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
TOOLS = "notifications/tools/list_changed"
PROMPTS = "notifications/prompts/list_changed"
RESOURCES = "notifications/resources/list_changed"
UPDATED = "notifications/resources/updated"


def changing() -> Server:
    """Return a server with tools that change its lists and end subscriptions."""
    server = Server("changing")

    @server.tool
    async def change() -> str:
        """Change every list."""
        server.notify.tool_list_changed()
        server.notify.prompt_list_changed()
        server.notify.resource_list_changed()
        server.notify.resource_updated("test://a")
        server.notify.resource_updated("test://b")
        return "changed"

    @server.tool
    async def end() -> str:
        """End all subscriptions."""
        server.notify.end_listening()
        return "ended"

    @server.resource("test://a")
    async def a() -> str:
        """A resource."""
        return "a"

    return server


def told(client: Conversation) -> list[tuple[str, Any, Any]]:
    """Return the notifications received: method, their request, and their URI."""
    key = client.profile.subscription_id_key
    return [
        (one["method"], one["params"].get("_meta", {}).get(key), one["params"].get("uri"))
        for one in client.heard
        if one["method"] != ACKNOWLEDGED
    ]


@requirement("subscriptions:asked-only")
async def test_nothing_is_told_that_nobody_asked_for(connect: Connect) -> None:
    wanted: list[tuple[dict[str, Any], list[tuple[str, Any]]]] = [
        ({}, []),
        ({"toolsListChanged": True}, [(TOOLS, None)]),
        ({"toolsListChanged": False, "resourcesListChanged": True}, [(RESOURCES, None)]),
        ({"resourceSubscriptions": ["test://b"]}, [(UPDATED, "test://b")]),
        ({"resourceSubscriptions": []}, []),
    ]
    async with connect(changing) as client:
        await client.call("change")
        await client.settled()
        assert client.heard == [], "nobody listens"
        for some, methods in wanted:
            asked = await client.listen(**some)
            assert asked
            await client.call("change")
            await client.settled()
            assert told(client) == [(method, asked.id, uri) for method, uri in methods]
            client.cancel(asked)
            await client.settled()
            client.heard.clear()


@requirement("subscriptions:acknowledged-first")
async def test_the_client_is_told_first_what_it_will_hear_of(connect: Connect) -> None:
    wanted = dict.fromkeys(("toolsListChanged", "promptsListChanged"), True)
    updates = {"resourceSubscriptions": ["x:y"]}
    async with connect(changing) as client:
        assert client.profile.listen
        asked = client.begin(client.profile.listen.name, {"notifications": {**wanted, **updates}})
        # The change is sent before the client has received anything.
        await client.call("change")
        await client.settled()
        first, *others = client.heard
    key = client.profile.subscription_id_key
    assert first["method"] == ACKNOWLEDGED
    assert first["params"]["_meta"] == {key: asked.id}
    # There are no prompts here.
    assert first["params"]["notifications"] == {
        "toolsListChanged": True,
        **updates,
    }
    assert [one["method"] for one in others] == [TOOLS]


@requirement("subscriptions:identified")
async def test_each_notification_names_its_request(connect: Connect) -> None:
    async with connect(changing) as client:
        assert client.profile.listen
        method = client.profile.listen.name
        everything = {"toolsListChanged": True, "resourceSubscriptions": ["test://a"]}
        client.begin(method, {"notifications": everything}, id=70)
        client.begin(method, {"notifications": {"toolsListChanged": True}}, id="70")
        await client.hears(ACKNOWLEDGED, 2)
        await client.call("change")
        await client.settled()
        heard = told(client)
    acknowledged = [one["_meta"] for one in client.params_of(ACKNOWLEDGED)]
    key = client.profile.subscription_id_key
    assert acknowledged == [{key: 70}, {key: "70"}]
    assert sorted(heard, key=repr) == sorted(
        [(TOOLS, 70, None), (TOOLS, "70", None), (UPDATED, 70, "test://a")], key=repr
    )


@requirement("subscriptions:ends-gracefully")
async def test_a_request_that_the_server_ends_is_answered(connect: Connect) -> None:
    async with connect(changing) as client:
        asked = await client.listen(toolsListChanged=True)
        assert asked
        await client.call("end")
        result = await asked.result()
        assert result["resultType"] == "complete"
        assert result["_meta"][client.profile.subscription_id_key] == asked.id
        before = len(told(client))
        await client.call("change")
        await client.settled()
        assert TOOLS not in [method for method, _, _ in told(client)[before:]]
