"""Spec tests of logging."""

from __future__ import annotations

import logging
from typing import Any

from mcp_gen import Context, Server, UsageError
from tests.support.peers.asked import Asked
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

INVALID_PARAMS = -32602
NO_LEVELS = ["loud", "INFO", "", 3, ["info"]]


def logs() -> Server:
    """Return a server whose tools log."""
    server = Server("logs")
    logger = logging.Logger("logs")
    logger.addHandler(server.logs.handler(max_per_s=3))

    @server.tool
    async def say(ctx: Context, level: str = "info") -> str:
        """Log a message."""
        await ctx.log(level, f"at {level}")
        return "said"

    @server.tool
    async def chatter(count: int, text: str = "") -> str:
        """Log many messages with `logging`; escapes in `text` are resolved."""
        for number in range(count):
            logger.info("%s %d", text.encode().decode("unicode_escape"), number)
        return "said"

    @server.tool
    async def say_what_is_no_json(ctx: Context, kind: str) -> str:
        """Log a value that cannot be logged."""
        odd = {"object": object(), "half": "\ud800", "inside": {"deep": ["\udfff"]}}
        try:
            await ctx.log("error", odd[kind])
        except UsageError:
            return "refused"
        return "said"

    return server


def mute() -> Server:
    """Return a server without the logging capability, whose tool logs."""
    server = Server("mute", declare=())

    @server.tool
    async def say(ctx: Context) -> str:
        """Log a message without the logging capability."""
        await ctx.log("emergency", "fire")
        return "said"

    return server


def heard(client: Conversation) -> list[Any]:
    """Return the data of all log messages so far."""
    return [one["data"] for one in client.params_of("notifications/message")]


def say(client: Conversation, level: str | None) -> Asked:
    """Call the tool with a log level, or without."""
    meta = {str(client.profile.log_level_key): level} if level else {}
    return client.begin("tools/call", {"name": "say", "arguments": {}}, meta=meta)


@requirement("logging:declared")
async def test_a_server_that_logs_says_so(connect: Connect) -> None:
    async with connect(logs, log_level="debug") as client:
        assert "logging" in (await client.server())["capabilities"]
        await client.call("say")
    assert heard(client) == ["at info"]


@requirement("logging:declared")
async def test_a_server_that_does_not_say_so_sends_no_message(connect: Connect) -> None:
    async with connect(mute) as client:
        assert "logging" not in (await client.server())["capabilities"]
        key = client.profile.log_level_key
        meta = {key: "debug"} if key else {}
        await client.request("tools/call", {"name": "say", "arguments": {}}, meta=meta)
        await client.settled()
    assert heard(client) == []


@requirement("logging:level:invalid")
async def test_a_level_that_there_is_none_of_cannot_be_set(connect: Connect) -> None:
    async with connect(logs, log_level="error") as client:
        refused = [await client.refusal("logging/setLevel", {"level": one}) for one in NO_LEVELS]
        refused.append(await client.refusal("logging/setLevel", {"level": None}))
        refused.append(await client.refusal("logging/setLevel"))
        await client.call("say", level="warning")
        await client.call("say", level="error")
    assert {one.code for one in refused} == {INVALID_PARAMS}
    assert heard(client) == ["at error"], "the level that was set before is still in force"


@requirement("logging:level:unknown")
async def test_a_request_that_names_no_level_there_is_has_invalid_params(
    connect: Connect,
) -> None:
    async with connect(logs) as client:
        key = str(client.profile.log_level_key)
        params = {"name": "say", "arguments": {}}
        refused = [
            await client.refusal("tools/call", {**params, "_meta": {key: one}}) for one in NO_LEVELS
        ]
        await client.settled()
    assert {one.code for one in refused} == {INVALID_PARAMS}
    assert heard(client) == []


@requirement("logging:level:opted-in")
async def test_a_request_that_names_no_level_gets_no_messages(connect: Connect) -> None:
    async with connect(logs) as client:
        silent = say(client, None)
        await silent.result()
        assert heard(client) == []
        await say(client, "debug").result()
        assert heard(client) == ["at info"]
        await say(client, None).result()
        await say(client, "warning").result()
        await client.settled()
    assert heard(client) == ["at info"], "what one request names is nothing to another"


@requirement("logging:level:own-request")
async def test_messages_come_before_the_answer_and_belong_to_no_listening_request(
    connect: Connect,
) -> None:
    async with connect(logs) as client:
        await client.listen(toolsListChanged=True)
        first = len(client.frames)
        await say(client, "debug").result()
        await client.settled()
    message, answer, *_ = client.frames[first:]
    assert message["method"] == "notifications/message"
    assert str(client.profile.subscription_id_key) not in message["params"].get("_meta", {})
    assert "result" in answer
    assert len(heard(client)) == 1


@requirement("logging:rate")
async def test_the_number_of_messages_can_be_limited(connect: Connect) -> None:
    async with connect(logs, log_level="debug") as client:
        await client.call("chatter", count=50)
    assert heard(client) == [
        *(" 0", " 1", " 2"),
        "47 log messages left out: more than 3 per second",
    ]


@requirement("logging:validated")
async def test_data_that_no_json_can_carry_gets_into_no_message(connect: Connect) -> None:
    async with connect(logs, log_level="debug") as client:
        for kind in ("object", "half", "inside"):
            assert await client.text("say_what_is_no_json", kind=kind) == "refused"
        assert heard(client) == []
        await client.call("chatter", count=1, text="caf\\udce9")
    assert heard(client) == ["caf\\udce9 0"], "a record is not lost, but what is no text is escaped"
