"""What a server tells by itself: log messages, and changes to those who listen."""

from __future__ import annotations

import logging
from typing import Any

from mcp_gen import Context, Server
from tests.server.spec.servers import bare, rich
from tests.support.connect import Connect
from tests.support.conversation import Conversation
from tests.support.requirement import requirement

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
MESSAGE = "notifications/message"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def logging_server() -> Server:
    """One whose tools log, and change things."""
    server = rich()
    logger = logging.getLogger("tests.spec.logging")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.handlers = [server.logs.handler(max_per_s=10)]

    @server.tool
    async def say_all(ctx: Context) -> str:
        """Log once at every level."""
        for level in LEVELS:
            await ctx.log(level, {"said": level}, logger="spec")
        return "said"

    @server.tool
    async def flood() -> str:
        """Log a lot, with the standard library."""
        for number in range(200):
            logger.info("message %s", number)
        return "flooded"

    @server.tool
    async def say_nonsense(ctx: Context) -> str:
        """Log what no JSON can carry."""
        await ctx.log("info", {"a": object()})
        return "said"

    @server.tool
    async def change_tools() -> str:
        server.notify.tool_list_changed()
        server.notify.prompt_list_changed()
        server.notify.resource_list_changed()
        server.notify.resource_updated("test://text")
        server.notify.resource_updated("test://binary")
        return "changed"

    @server.tool
    async def end_listening() -> str:
        server.notify.end_listening()
        return "ended"

    return server


def levels(client: Conversation) -> list[str]:
    return [one["level"] for one in client.params_of(MESSAGE)]


# --- log messages ---


@requirement("logging:declared")
async def test_a_server_that_logs_declares_it(connect: Connect) -> None:
    async with connect(logging_server, log_level="debug") as client:
        declared = (await client.server())["capabilities"]
        await client.text("say_all")
        await client.settled()
    assert declared["logging"] == {}
    assert levels(client) == LEVELS
    async with connect(bare) as silent:
        assert "logging" not in (await silent.server())["capabilities"]


@requirement("logging:level:invalid")
async def test_a_level_that_there_is_none_of_is_refused(connect: Connect) -> None:
    wrong: list[Any] = ["loud", "", "DEBUG", 7, None, ["info"]]
    async with connect(logging_server) as client:
        for level in wrong:
            assert (await client.refusal("logging/setLevel", {"level": level})).code == -32602
        assert (await client.refusal("logging/setLevel")).code == -32602
        for level in LEVELS:
            assert await client.request("logging/setLevel", {"level": level}) == {}


@requirement("logging:level:opted-in")
async def test_a_request_that_names_no_level_gets_no_messages(connect: Connect) -> None:
    async with connect(logging_server, log_level="debug") as client:
        await client.text("say_all")
        heard = len(client.params_of(MESSAGE))
        client.log_level = None
        await client.text("say_all")
        await client.settled()
    assert heard == len(client.params_of(MESSAGE)) == len(LEVELS)


@requirement("logging:level:own-request")
async def test_messages_come_before_the_answer_of_their_own_request(connect: Connect) -> None:
    async with connect(logging_server, log_level="warning") as client:
        await client.listen(toolsListChanged=True)
        asked = client.begin("tools/call", {"name": "say_all"})
        await asked.result()
        said = [one for one in asked.notices if one["method"] == MESSAGE]
        await client.settled()
    assert [one["params"]["level"] for one in said] == LEVELS[3:] == levels(client)
    assert all(SUBSCRIPTION not in one["params"].get("_meta", {}) for one in said)


@requirement("logging:level:unknown")
async def test_a_request_that_names_an_unknown_level_is_refused(connect: Connect) -> None:
    async with connect(logging_server) as client:
        key = str(client.profile.log_level_key)
        for level in ("loud", "", "INFO", 7, ["info"]):
            frame = await client.begin("tools/list", meta={key: level}).answer
            assert frame["error"]["code"] == -32602


@requirement("logging:rate")
async def test_no_more_messages_are_sent_than_the_limit_allows(connect: Connect) -> None:
    async with connect(logging_server, log_level="debug") as client:
        await client.text("flood")
        await client.settled()
    assert 1 <= len(client.params_of(MESSAGE)) <= 11


@requirement("logging:validated")
async def test_what_no_json_can_carry_is_not_sent(connect: Connect) -> None:
    async with connect(logging_server, log_level="debug") as client:
        assert (await client.call("say_nonsense"))["isError"]
        assert await client.text("echo", text="a") == "a"
    assert client.params_of(MESSAGE) == []


# --- listening ---

CHANGES = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}


async def change(client: Conversation) -> None:
    await client.text("change_tools")
    await client.settled()


@requirement("subscriptions:asked-only")
async def test_a_client_is_told_nothing_that_it_did_not_ask_for(connect: Connect) -> None:
    for wanted, method in CHANGES.items():
        async with connect(logging_server) as client:
            await change(client)
            assert client.heard == []
            await client.listen(**{wanted: True})
            await change(client)
            await client.hears(method)
            told = [one["method"] for one in client.heard]
        assert told == ["notifications/subscriptions/acknowledged", method]
    async with connect(logging_server) as client:
        await client.listen(resourceSubscriptions=["test://text"])
        await change(client)
        await client.hears("notifications/resources/updated")
        told = [one["params"].get("uri") for one in client.heard]
    assert told == [None, "test://text"]


@requirement("subscriptions:acknowledged-first")
async def test_what_was_asked_for_is_acknowledged_before_anything_else(connect: Connect) -> None:
    async with connect(logging_server) as client:
        wanted = {**dict.fromkeys(CHANGES, True), "resourceSubscriptions": ["test://text"]}
        listening = client.begin("subscriptions/listen", {"notifications": wanted})
        await change(client)
        await client.hears("notifications/tools/list_changed")
    first = client.heard[0]
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"]["notifications"] == wanted
    assert first["params"]["_meta"] == {SUBSCRIPTION: listening.id}


@requirement("subscriptions:identified")
async def test_each_notification_names_its_listening_request(connect: Connect) -> None:
    async with connect(logging_server) as client:
        one = await client.listen(toolsListChanged=True)
        other = client.begin(
            "subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id="other"
        )
        await client.hears("notifications/subscriptions/acknowledged", 2)
        await change(client)
        told = await client.hears("notifications/tools/list_changed", 2)
    assert one
    ids = [params["_meta"][SUBSCRIPTION] for params in told]
    assert ids == [one.id, other.id]


@requirement("subscriptions:ends-gracefully")
async def test_a_listening_request_that_the_server_ends_is_answered(connect: Connect) -> None:
    async with connect(logging_server) as client:
        listening = await client.listen(toolsListChanged=True)
        assert listening
        await client.text("end_listening")
        result = await listening.result()
    assert result["resultType"] == "complete"
    assert result["_meta"][SUBSCRIPTION] == listening.id
