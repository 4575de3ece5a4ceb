"""Exceptions of handlers become one response; requests do not wait for each other."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from typing import Any

import pytest

from mcp_gen import Context, McpError, Server, ToolError
from mcp_gen.core.errors import ProtocolError
from tests.support.frames import every_revision
from tests.support.peers.raw import talking

INTERNAL = ProtocolError.code


class Unusual(BaseException):
    """Exception that `except Exception` does not catch, like pytest's own outcomes."""


def raises(error: BaseException, *, sync: bool = False) -> Server:
    """Return a server whose tool `fail` raises this."""
    server = Server("raises")

    async def fail() -> str:
        raise error

    def fail_in_a_thread() -> str:
        raise error

    server.add_tool(fail_in_a_thread if sync else fail, name="fail")
    return server


async def answer_of(server: Server, revision: str) -> Any:
    """Return the response to a call of `fail`, after which the server still answers."""
    async with talking(server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "fail"))
        assert "result" in await client.ask(client.speaker.request(2, "tools/list"))
        return answer


def told(answer: Any) -> str:
    """Return the text of a tool error result."""
    assert answer["result"]["isError"] is True
    (block,) = answer["result"]["content"]
    return str(block["text"])


@every_revision
async def test_an_mcp_error_is_sent_as_it_is(revision: str) -> None:
    answer = await answer_of(raises(McpError(-31000, "no", {"why": ["this"]})), revision)
    assert answer["error"] == {"code": -31000, "message": "no", "data": {"why": ["this"]}}


@every_revision
async def test_a_tool_error_is_a_result_that_says_what_went_wrong(revision: str) -> None:
    assert told(await answer_of(raises(ToolError("the disk is full")), revision)) == (
        "the disk is full"
    )


@every_revision
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_what_else_a_tool_raises_is_a_result_and_a_line_in_the_log(
    revision: str, sync: bool, caplog: pytest.LogCaptureFixture
) -> None:
    assert told(await answer_of(raises(ValueError("wrong"), sync=sync), revision)) == "wrong"
    assert [record.message for record in caplog.records] == ["tool fail failed"]


@every_revision
async def test_an_error_without_a_text_is_named(revision: str) -> None:
    assert told(await answer_of(raises(KeyError()), revision)) == "KeyError"


@every_revision
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_tool_that_exits_fails_and_the_server_goes_on(revision: str, sync: bool) -> None:
    assert "SystemExit" in told(await answer_of(raises(SystemExit(3), sync=sync), revision))


@every_revision
@pytest.mark.parametrize("error", [Unusual(), GeneratorExit(), asyncio.CancelledError()])
async def test_whatever_else_is_raised_is_an_internal_error(
    revision: str, error: BaseException
) -> None:
    assert (await answer_of(raises(error), revision))["error"]["code"] == INTERNAL


@every_revision
async def test_an_internal_error_tells_no_details(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("secret")

    @server.hooks.before_list_tools
    def leak(ctx: Context, params: Any) -> None:
        raise ValueError("the password is 1234")

    async with talking(server, revision) as client:
        server.add_tool(max_of)
        answer = await client.ask(client.speaker.request(1, "tools/list"))
    assert answer["error"] == {"code": INTERNAL, "message": "internal error"}
    assert len(caplog.records) == 1


def max_of(numbers: list[int]) -> int:
    return max(numbers)


@every_revision
async def test_a_sync_tool_runs_off_the_loop(revision: str) -> None:
    server = Server("threads")
    seen: list[threading.Thread] = []

    @server.tool
    def where() -> None:
        seen.append(threading.current_thread())

    async with talking(server, revision) as client:
        await client.ask(client.speaker.call(1, "where"))
    assert seen != [threading.current_thread()]


@every_revision
async def test_an_async_tool_runs_on_the_loop(revision: str) -> None:
    server = Server("threads")
    seen: list[threading.Thread] = []

    @server.tool
    async def where() -> None:
        seen.append(threading.current_thread())

    async with talking(server, revision) as client:
        await client.ask(client.speaker.call(1, "where"))
    assert seen == [threading.current_thread()]


@every_revision
async def test_a_sync_tool_sees_the_context_variables_of_its_request(revision: str) -> None:
    server = Server("context")
    user = contextvars.ContextVar("user", default="nobody")

    @server.hooks.before_call_tool
    def know(ctx: Context, params: Any) -> None:
        user.set("somebody")

    @server.tool
    def who() -> str:
        return user.get()

    async with talking(server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "who"))
    assert answer["result"]["content"][0]["text"] == "somebody"


@every_revision
@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
async def test_a_slow_call_does_not_hold_up_a_fast_one(revision: str, sync: bool) -> None:
    server = Server("slow")
    in_loop, in_thread = asyncio.Event(), threading.Event()

    @server.tool
    async def slow() -> str:
        await in_loop.wait()
        return "slow"

    @server.tool
    def slow_in_a_thread() -> str:
        in_thread.wait(5)
        return "slow"

    @server.tool
    async def fast() -> str:
        return "fast"

    async with talking(server, revision) as client:
        client.send(client.speaker.call(1, "slow_in_a_thread" if sync else "slow"))
        client.send(client.speaker.call(2, "fast"))
        first = await client.next()
        in_loop.set()
        in_thread.set()
        second = await client.next()
    assert [first["id"], second["id"]] == [2, 1]


@every_revision
async def test_an_id_that_is_still_open_is_refused_and_the_first_is_answered(revision: str) -> None:
    server = Server("twice")
    release = asyncio.Event()

    @server.tool
    async def hold() -> str:
        await release.wait()
        return "held"

    async with talking(server, revision) as client:
        client.send(client.speaker.call(1, "hold"), client.speaker.call(1, "hold"))
        refusal = await client.next()
        release.set()
        answer = await client.next()
    assert refusal["error"]["code"] == -32600
    assert refusal["id"] == answer["id"] == 1
    assert "result" in answer


@every_revision
async def test_nothing_is_logged_of_a_call_that_succeeds(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("quiet")
    server.add_tool(max_of)
    with caplog.at_level(logging.INFO):
        async with talking(server, revision) as client:
            await client.ask(client.speaker.call(1, "max_of", numbers=[1, 2]))
    assert caplog.records == []
