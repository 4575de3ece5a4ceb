"""Hook benchmarks: a route against a direct call of its handler."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

from bench.requests import PER_REQUEST
from bench.sampling import Goal, Row, Settings, at_most, compare
from mcp_wire import profile
from mcp_wire.handlers import ServerHandlers
from mcp_wire.hooks import ServerHooks
from mcp_wire.v2026_07_28 import CallToolRequestParams, CallToolResult, TextContent
from mcp_wire.v2026_07_28.dispatch import ServerDispatcher

__all__ = ["rows"]

_METHOD = "tools/call"
_PARAMS = CallToolRequestParams(name="add", arguments={"a": 17, "b": 25}, meta={})
_RESULT = CallToolResult(content=[TextContent(text="42")])


class _Handlers(ServerHandlers[None]):
    async def call_tool(self, ctx: None, params: Any) -> CallToolResult:
        return _RESULT


def rows(settings: Settings) -> Iterator[Row]:
    """Measure a route without hooks, then with one before and one after hook."""
    assert _METHOD in profile(PER_REQUEST).methods
    handlers = _Handlers()
    hooks = ServerHooks(lambda: None)
    dispatcher = ServerDispatcher(handlers, hooks)

    def row(name: str, goal: Goal | None) -> Row:
        call = dispatcher.routes()[_METHOD].call
        calls = settings.calls(40000)
        return compare(
            name,
            "ns",
            partial(_cost_ns, call, calls),
            partial(_cost_ns, handlers.call_tool, calls),
            repetitions=settings.repetitions(15),
            goal=goal,
        )

    yield row("dispatch, hooks unused", at_most(1.1))

    async def before(ctx: Any, params: Any) -> None:
        return None

    async def after(ctx: Any, params: Any, result: Any) -> None:
        return None

    hooks.before_call_tool(before)
    hooks.after_call_tool(after)

    yield row("dispatch, a before and an after hook", None)


def _cost_ns(call: Callable[[Any, Any], Awaitable[Any]], calls: int) -> float:
    async def run() -> None:
        for _ in range(calls):
            await call(None, _PARAMS)

    started = time.process_time_ns()
    asyncio.run(run())
    return (time.process_time_ns() - started) / calls
