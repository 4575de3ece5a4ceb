"""Hooks before and after the handler, and on its error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, McpError, Server
from mcp_gen.core.errors import ProtocolError
from tests.support.frames import every_revision, with_handshake
from tests.support.peers.raw import RawClient, talking


class Counted:
    """Server whose tool `add` records its runs; `said` has the events in order."""

    def __init__(self) -> None:
        self.server = Server("hooks")
        self.said: list[str] = []

        @self.server.tool
        async def add(a: int, b: int) -> int:
            self.said.append("tool")
            return a + b

        @self.server.tool
        async def fail() -> int:
            self.said.append("tool")
            raise McpError(-31000, "no")

    def says(self, what: str) -> Callable[..., None]:
        """Return a hook that records its runs."""
        return lambda *_: self.said.append(what)

    def says_later(self, what: str) -> Callable[..., Awaitable[None]]:
        """Return the same hook as a coroutine."""

        async def hook(*_: Any) -> None:
            await asyncio.sleep(0)
            self.said.append(what)

        return hook


def add(client: RawClient, id: int = 1) -> bytes:
    return client.speaker.call(id, "add", a=1, b=2)


def text(answer: Any) -> str:
    return str(answer["result"]["content"][0]["text"])


@every_revision
async def test_hooks_run_around_the_handler_in_the_order_in_which_they_were_added(
    revision: str,
) -> None:
    counted = Counted()
    hooks = counted.server.hooks
    hooks.after_call_tool(counted.says("after 1"))
    hooks.before_call_tool(counted.says("before 1"))
    hooks.before_call_tool(counted.says("before 2"))
    hooks.after_call_tool(counted.says("after 2"))
    async with talking(counted.server, revision) as client:
        await client.ask(add(client))
    assert counted.said == ["before 1", "before 2", "tool", "after 1", "after 2"]


@every_revision
async def test_hooks_may_be_coroutines(revision: str) -> None:
    counted = Counted()
    hooks = counted.server.hooks
    hooks.before_call_tool(counted.says_later("before"))
    hooks.after_call_tool(counted.says_later("after"))
    hooks.error_call_tool(counted.says_later("error"))
    async with talking(counted.server, revision) as client:
        await client.ask(add(client, 1))
        await client.ask(client.speaker.call(2, "fail"))
    assert counted.said == ["before", "tool", "after", "before", "tool", "error"]


@every_revision
async def test_an_error_hook_runs_instead_of_the_after_hooks_and_sees_the_error(
    revision: str,
) -> None:
    counted = Counted()
    seen: list[BaseException] = []
    counted.server.hooks.after_call_tool(counted.says("after"))
    counted.server.hooks.error_call_tool(lambda ctx, params, error: seen.append(error))
    async with talking(counted.server, revision) as client:
        await client.ask(client.speaker.call(1, "fail"))
    (error,) = seen
    assert isinstance(error, McpError)
    assert (error.code, counted.said) == (-31000, ["tool"])


@every_revision
async def test_an_error_hook_is_not_called_where_all_goes_well(revision: str) -> None:
    counted = Counted()
    counted.server.hooks.error_call_tool(counted.says("error"))
    async with talking(counted.server, revision) as client:
        await client.ask(add(client))
    assert counted.said == ["tool"]


@every_revision
async def test_an_error_hook_that_fails_does_not_hide_the_error(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    counted = Counted()

    @counted.server.hooks.error_call_tool
    def broken(ctx: Context, params: Any, error: BaseException) -> None:
        raise ValueError("the hook is broken")

    counted.server.hooks.error_call_tool(counted.says("second hook"))
    async with talking(counted.server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "fail"))
    assert answer["error"] == {"code": -31000, "message": "no"}
    assert counted.said == ["tool", "second hook"]
    assert "a hook failed" in caplog.text


@every_revision
async def test_an_error_hook_cannot_turn_an_error_into_a_result(revision: str) -> None:
    counted = Counted()
    result = mcp_wire.types(revision).CallToolResult(content=[])
    counted.server.hooks.error_call_tool(lambda ctx, params, error: result)
    async with talking(counted.server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "fail"))
    assert answer["error"]["code"] == -31000


@every_revision
async def test_an_error_hook_sees_the_cancellation(revision: str) -> None:
    server = Server("cancelled")
    began, told = asyncio.Event(), asyncio.Event()
    seen: list[BaseException] = []

    @server.tool
    async def wait() -> None:
        began.set()
        await asyncio.Event().wait()

    @server.hooks.error_call_tool
    def cancelled(ctx: Context, params: Any, error: BaseException) -> None:
        seen.append(error)
        told.set()

    async with talking(server, revision) as client:
        client.send(client.speaker.call(1, "wait"))
        await asyncio.wait_for(began.wait(), 30)
        client.send(client.speaker.cancel(1))
        await asyncio.wait_for(told.wait(), 30)
    assert [type(error) for error in seen] == [asyncio.CancelledError]


@every_revision
async def test_a_before_hook_may_replace_the_params(revision: str) -> None:
    counted = Counted()

    @counted.server.hooks.before_call_tool
    def more(ctx: Context, params: Any) -> Any:
        return msgspec.structs.replace(params, arguments={"a": 40, "b": 2})

    async with talking(counted.server, revision) as client:
        assert text(await client.ask(add(client))) == "42"


@every_revision
async def test_the_next_hook_sees_the_replaced_params(revision: str) -> None:
    counted = Counted()
    seen: list[Any] = []
    hooks = counted.server.hooks
    hooks.before_call_tool(
        lambda ctx, params: msgspec.structs.replace(params, arguments={"a": 4, "b": 4})
    )
    hooks.before_call_tool(lambda ctx, params: seen.append(params.arguments))
    hooks.after_call_tool(lambda ctx, params, result: seen.append(params.arguments))
    async with talking(counted.server, revision) as client:
        await client.ask(add(client))
    assert seen == [{"a": 4, "b": 4}, {"a": 4, "b": 4}]


@every_revision
async def test_an_after_hook_may_replace_the_result(revision: str) -> None:
    counted = Counted()
    types = mcp_wire.types(revision)

    @counted.server.hooks.after_call_tool
    def censored(ctx: Context, params: Any, result: Any) -> Any:
        return types.CallToolResult(content=[types.TextContent(text="censored")])

    async with talking(counted.server, revision) as client:
        assert text(await client.ask(add(client))) == "censored"


@every_revision
async def test_a_result_of_another_revision_is_projected(revision: str) -> None:
    counted = Counted()
    types = mcp_wire.types(mcp_wire.REVISIONS[0])

    @counted.server.hooks.after_call_tool
    def censored(ctx: Context, params: Any, result: Any) -> Any:
        return types.CallToolResult(content=[types.TextContent(text="censored")])

    async with talking(counted.server, revision) as client:
        assert text(await client.ask(add(client))) == "censored"


@every_revision
async def test_a_before_hook_refuses_a_request_by_raising(revision: str) -> None:
    counted = Counted()

    @counted.server.hooks.before_call_tool
    def veto(ctx: Context, params: Any) -> None:
        raise McpError(-31001, "not you", {"ask": "again"})

    counted.server.hooks.before_call_tool(counted.says("next hook"))
    counted.server.hooks.after_call_tool(counted.says("after"))
    async with talking(counted.server, revision) as client:
        answer = await client.ask(add(client))
    assert answer["error"] == {"code": -31001, "message": "not you", "data": {"ask": "again"}}
    assert counted.said == []


@every_revision
async def test_an_after_hook_refuses_a_result_by_raising(revision: str) -> None:
    counted = Counted()

    @counted.server.hooks.after_call_tool
    def veto(ctx: Context, params: Any, result: Any) -> None:
        raise McpError(-31001, "not that")

    counted.server.hooks.error_call_tool(counted.says("error"))
    async with talking(counted.server, revision) as client:
        answer = await client.ask(add(client))
    assert answer["error"]["code"] == -31001
    assert counted.said == ["tool", "error"]


@every_revision
async def test_what_else_a_hook_raises_is_an_internal_error(revision: str) -> None:
    counted = Counted()

    @counted.server.hooks.before_call_tool
    def broken(ctx: Context, params: Any) -> None:
        raise ValueError("secret")

    async with talking(counted.server, revision) as client:
        answer = await client.ask(add(client))
    assert answer["error"] == {"code": ProtocolError.code, "message": "internal error"}


@every_revision
async def test_a_hook_that_is_added_after_the_first_request_is_honoured(revision: str) -> None:
    counted = Counted()
    async with talking(counted.server, revision) as client:
        await client.ask(add(client, 1))
        counted.server.hooks.before_call_tool(counted.says("late"))
        await client.ask(add(client, 2))
    assert counted.said == ["tool", "late", "tool"]


@every_revision
async def test_a_second_hook_that_is_added_late_is_honoured_too(revision: str) -> None:
    counted = Counted()
    counted.server.hooks.before_call_tool(counted.says("first"))
    async with talking(counted.server, revision) as client:
        await client.ask(add(client, 1))
        counted.server.hooks.before_call_tool(counted.says("late"))
        await client.ask(add(client, 2))
    assert counted.said == ["first", "tool", "first", "late", "tool"]


@every_revision
async def test_a_hook_sees_the_request_at_its_revision(revision: str) -> None:
    counted = Counted()
    seen: list[Any] = []
    counted.server.hooks.before_call_tool(
        lambda ctx, params: seen.append((ctx.revision, ctx.request_id, type(params)))
    )
    async with talking(counted.server, revision) as client:
        await client.ask(add(client, 7))
    assert seen == [(revision, 7, mcp_wire.types(revision).CallToolRequestParams)]


@every_revision
@pytest.mark.parametrize("hooked", [False, True])
async def test_bad_arguments_are_answered_alike_with_and_without_hooks(
    revision: str, hooked: bool
) -> None:
    counted = Counted()
    if hooked:
        counted.server.hooks.before_call_tool(counted.says("before"))
    async with talking(counted.server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "add", a="one", b=2))
    demanded = mcp_wire.profile(revision).bad_arguments
    assert ("error" in answer) == (demanded == "protocol_error")
    assert "$.arguments.a" in str(answer)


@every_revision
@pytest.mark.parametrize("hooked", [False, True])
async def test_arguments_that_are_null_are_none_with_and_without_hooks(
    revision: str, hooked: bool
) -> None:
    counted = Counted()
    counted.server.add_tool(nothing)
    if hooked:
        counted.server.hooks.before_call_tool(counted.says("before"))
    async with talking(counted.server, revision) as client:
        params = {"name": "nothing", "arguments": None}
        answer = await client.ask(client.speaker.request(1, "tools/call", params))
    assert text(answer) == "nothing"


async def nothing() -> str:
    return "nothing"


@with_handshake
async def test_the_handshake_has_hooks_too(revision: str) -> None:
    counted = Counted()
    counted.server.hooks.before_initialize(counted.says_later("before"))
    counted.server.hooks.after_initialize(counted.says_later("after"))
    async with talking(counted.server, revision):
        pass
    assert counted.said == ["before", "after"]


@with_handshake
async def test_what_follows_a_handshake_waits_for_its_slow_hook(revision: str) -> None:
    counted = Counted()
    counted.server.hooks.before_initialize(counted.says_later("before"))
    async with talking(counted.server, revision, opened=False) as client:
        client.send(*client.speaker.opening, add(client, 1))
        assert [(await client.next())["id"], (await client.next())["id"]] == [0, 1]
    assert counted.said == ["before", "tool"]


@with_handshake
async def test_a_hook_may_refuse_the_handshake(revision: str) -> None:
    server = Server("members only")

    @server.hooks.before_initialize
    def veto(ctx: Context, params: Any) -> None:
        raise McpError(-31001, f"not {params.client_info.name}")

    async with talking(server, revision, opened=False) as client:
        refused = await client.ask(client.speaker.initialize(0))
        early = await client.ask(client.speaker.request(1, "tools/list"))
    assert refused["error"]["message"] == "not raw"
    assert "first" in early["error"]["message"]
