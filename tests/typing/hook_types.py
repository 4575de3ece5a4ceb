"""Typing of hooks and calls, for type checkers. `nox -s types` reads this; it is never run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, assert_type

from mcp_gen import Client, ClientSession, Context, Server
from mcp_gen.session.duplex.server import ServerConnection
from mcp_wire import common, latest, v2024_11_05, v2025_11_25
from mcp_wire.hook_machinery import HookPoint, NoticePoint
from mcp_wire.hook_types import (
    CallToolParams,
    CallToolResults,
    CreateMessageParams,
    CreateMessageResults,
    LoggingMessageParams,
    PingParams,
    PingResults,
)
from mcp_wire.peer_calls import ClientCaller, Peer
from mcp_wire.v2025_11_25.requests import ToServer


def params_and_results_are_those_of_the_method(server: Server, client: Client) -> None:
    assert_type(server.hooks.call_tool, HookPoint[CallToolParams, CallToolResults])
    assert_type(
        server.hooks.call_tool,
        HookPoint[
            common.CallToolRequestParams,
            common.CallToolResult | common.CreateTaskResult | common.InputRequiredResult,
        ],
    )
    assert_type(server.hooks.outbound.ping, HookPoint[PingParams, PingResults])
    assert_type(client.hooks.create_message, HookPoint[CreateMessageParams, CreateMessageResults])
    assert_type(client.hooks.logging_message_notice, NoticePoint[LoggingMessageParams])
    assert_type(client.hooks.outbound.call_tool, HookPoint[CallToolParams, CallToolResults])


def a_decorator_keeps_the_signature(server: Server, client: Client) -> None:
    @server.hooks.before_call_tool
    def before(ctx: Context, params: CallToolParams) -> CallToolParams | None:
        assert_type(params.name, str)
        return None

    @server.hooks.after_call_tool
    async def after(ctx: Context, params: CallToolParams, result: CallToolResults) -> None: ...

    @server.hooks.error_call_tool
    def error(ctx: Context, params: CallToolParams, error: BaseException) -> None: ...

    @server.hooks.before_any
    async def before_any(ctx: Context, method: str, params: Any) -> None: ...

    @server.hooks.session_opened
    def opened(session: ServerConnection[Context]) -> int:
        return 1

    @client.hooks.on_logging_message
    async def logged(session: ClientSession, params: LoggingMessageParams) -> None: ...

    @client.hooks.outbound.after_call_tool
    def called(
        session: ClientSession, params: CallToolParams, result: CallToolResults
    ) -> latest.CallToolResult | None:
        return result if isinstance(result, latest.CallToolResult) else None

    plain: Callable[[Context, CallToolParams], CallToolParams | None] = before
    later: Callable[[Context, CallToolParams, CallToolResults], Coroutine[Any, Any, None]] = after
    count: Callable[[ServerConnection[Context]], int] = opened
    del plain, later, count, error, before_any, logged, called


def a_hook_may_take_more_than_it_is_given(server: Server) -> None:
    @server.hooks.before_call_tool
    def before(ctx: object, params: object) -> None: ...

    @server.hooks.after_call_tool
    def after(ctx: Any, *rest: Any) -> None: ...

    del before, after


async def results_are_of_the_newest_revision_that_has_the_request(
    session: ClientSession, asked: ClientCaller
) -> None:
    assert_type(await session.call_tool("add", {"a": 1}), latest.CallToolResult)
    assert_type(await session.get_task("1"), v2025_11_25.GetTaskResult)
    assert_type(await session.notify_roots_list_changed(), None)
    assert_type(await asked.ping(), v2025_11_25.EmptyResult)
    async for tool in session.tools():
        assert_type(tool, latest.Tool)


async def calls_of_one_revision_are_of_its_types(peer: Peer) -> None:
    result = await ToServer(peer).call_tool("add")
    assert_type(result, v2025_11_25.CallToolResult | v2025_11_25.CreateTaskResult)


def a_union_of_revisions_is_told_apart(params: CallToolParams) -> None:
    if isinstance(params, v2024_11_05.CallToolRequestParams):
        assert_type(params, v2024_11_05.CallToolRequestParams)
