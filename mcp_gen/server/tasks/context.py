"""What a handler is run with in a task: the context of its request, which may be over by now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mcp_gen.server.context.context import Context, origin_of, runtime_of
from mcp_gen.server.input_requests.run import run_with_rounds

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from mcp_gen.server.tasks.running import RunningTask
    from mcp_gen.server.tools.registry import ToolRegistry

__all__ = ["context_in", "work_in"]


def context_in(ctx: Context, task: RunningTask, outlet: Any) -> Context:
    """A context for a task's handler, whose messages go another way."""
    caller = origin_of(ctx).for_another_request()
    caller.channel = outlet
    caller.headers = origin_of(ctx).headers
    return Context(ctx.server, ctx.request_id, caller, ctx.meta, task=task)


def work_in(inside: Context, params: Any, tools: ToolRegistry) -> Coroutine[Any, Any, Any]:
    """The call of a tool, as the handler of a task."""

    async def call(ctx: Context, params: Any) -> Any:
        return await run_with_rounds(ctx, params, tools.call)

    # What the program logs meanwhile is to find this context, not that of the request.
    around = runtime_of(inside).kernel.outer_wrapper
    work: Any = call(inside, params) if around is None else around(call)(inside, params)
    return cast("Coroutine[Any, Any, Any]", work)
