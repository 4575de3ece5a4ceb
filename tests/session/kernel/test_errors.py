"""Errors of a server: reported in one sentence, without internals."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from mcp_gen import InvalidParams, McpError, Server, SessionLost, ToolError, UsageError
from mcp_gen.core.error_groups import describe, flatten, primary_error
from tests.support.frames import every_revision, with_handshake
from tests.support.peers.raw import RawClient, talking

SECRET = "password=hunter2"


def failing(error: BaseException) -> Server:
    """Return a server with a tool and an outer middleware that raise this error."""
    server = Server("fails")

    @server.tool
    async def fail() -> None:
        raise error

    @server.middleware
    async def refuse(ctx: Any, method: str, params: Any, call_next: Any) -> Any:
        if method == "tools/list":
            raise error
        return await call_next(params)

    return server


async def ask(client: RawClient, *, tool: bool) -> Any:
    """Return the response to a call of the tool, or to a request outside of it."""
    speaker = client.speaker
    return await client.ask(speaker.call(1, "fail") if tool else speaker.request(1, "tools/list"))


INTERNAL = {"code": -32603, "message": "internal error"}


@every_revision
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(SECRET),
        KeyError(SECRET),
        SystemExit(SECRET),
        UsageError(SECRET),
        asyncio.CancelledError(SECRET),
        GeneratorExit(SECRET),
        ExceptionGroup(SECRET, [RuntimeError(SECRET), KeyError(SECRET)]),
        BaseExceptionGroup(SECRET, [SystemExit(SECRET)]),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_a_handler_raises_stays_in_the_log(
    revision: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking(failing(error), revision) as client:
        assert (await ask(client, tool=False))["error"] == INTERNAL
    assert [one.message for one in caplog.records][:1] == ["tools/list failed"]
    assert SECRET in caplog.text


@every_revision
async def test_a_json_rpc_error_goes_to_the_client_as_it_was_raised(revision: str) -> None:
    raised = McpError(-31000, "no", {"why": [1]})
    async with talking(failing(raised), revision) as client:
        expected = {"code": -31000, "message": "no", "data": {"why": [1]}}
        for tool in (True, False):
            assert (await ask(client, tool=tool))["error"] == expected


@every_revision
async def test_a_json_rpc_error_in_a_group_goes_to_the_client(revision: str) -> None:
    inner = ExceptionGroup("inner", [ValueError(SECRET), McpError(-31000, "no")])
    group = ExceptionGroup("outer", [ValueError(SECRET), inner])
    async with talking(failing(group), revision) as client:
        for tool in (True, False):
            assert (await ask(client, tool=tool))["error"] == {"code": -31000, "message": "no"}


@every_revision
async def test_a_protocol_error_of_a_handler_has_its_code(revision: str) -> None:
    group = ExceptionGroup("group", [ValueError(SECRET), InvalidParams("no such cursor")])
    async with talking(failing(group), revision) as client:
        answer = await ask(client, tool=False)
        assert answer["error"] == {"code": -32602, "message": "no such cursor"}


@every_revision
async def test_an_error_of_ours_says_what_it_says(revision: str) -> None:
    async with talking(failing(SessionLost("the client hung up")), revision) as client:
        answer = await ask(client, tool=False)
        assert answer["error"] == {"code": -32603, "message": "the client hung up"}


def said(answer: Any) -> str:
    """Return the error text of a tool's result."""
    assert answer["result"]["isError"] is True
    (block,) = answer["result"]["content"]
    return str(block["text"])


@every_revision
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no bolts"), "no bolts"),
        (ValueError(), "ValueError"),
        (ToolError("no bolts"), "no bolts"),
        (ExceptionGroup("group", [ValueError("no bolts")]), "no bolts"),
        (
            ExceptionGroup(
                "group",
                [ValueError("no bolts"), ExceptionGroup("in", [KeyError(), ToolError("no nuts")])],
            ),
            "no bolts; KeyError; no nuts",
        ),
        (ExceptionGroup("group", [ValueError("same"), TypeError("same")]), "same"),
    ],
)
async def test_what_a_tool_raises_is_told_to_the_model_and_a_group_as_what_is_in_it(
    revision: str, error: Exception, text: str
) -> None:
    async with talking(failing(error), revision) as client:
        assert said(await ask(client, tool=True)) == text


@every_revision
async def test_a_task_group_of_a_tool_is_told_as_what_failed_in_it(revision: str) -> None:
    server = Server("fails")

    @server.tool
    async def fail() -> None:
        async def broken() -> None:
            raise OSError("disk full")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(broken())

    async with talking(server, revision) as client:
        assert said(await ask(client, tool=True)) == "disk full"


@every_revision
async def test_one_failed_request_is_one_error_in_the_log(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking(failing(RuntimeError("no")), revision) as client:
        await ask(client, tool=False)
    assert [one.levelno for one in caplog.records] == [logging.ERROR]


@with_handshake
async def test_a_broken_answer_fails_the_call_that_waits_for_it_at_once(revision: str) -> None:
    server = Server("asks")
    failures: list[BaseException] = []

    async with talking(server, revision) as client:
        (session,) = server.sessions()
        waiting = asyncio.create_task(session.client.ping(timeout_s=60))
        asked = await client.next()
        client.send(b'{"jsonrpc":"1.0","id":%d,"result":{}}' % asked["id"])
        try:
            await asyncio.wait_for(waiting, 30)
        except Exception as error:
            failures.append(error)
        assert client.came == []
    assert [str(one).startswith("no JSON-RPC message") for one in failures] == [True]


def test_the_leaves_of_a_group_are_the_errors_in_it_in_order() -> None:
    one, two, three = ValueError(1), KeyError(2), OSError(3)
    group = ExceptionGroup("g", [one, ExceptionGroup("h", [two]), three])
    assert list(flatten(group)) == [one, two, three]
    assert list(flatten(one)) == [one]


def test_the_speaking_error_of_a_group_is_one_for_peers_then_ours_then_the_first() -> None:
    plain, ours, told = ValueError("a"), SessionLost("b"), McpError(1, "c")
    assert primary_error(ExceptionGroup("g", [plain, ours, told])) is told
    assert primary_error(ExceptionGroup("g", [plain, ours])) is ours
    assert primary_error(ExceptionGroup("g", [plain])) is plain
    assert primary_error(plain) is plain


def test_a_sentence_names_an_error_that_says_nothing() -> None:
    assert describe(ExceptionGroup("g", [ValueError(), ValueError("a")])) == "ValueError; a"
