"""Context of a task handler, which outlives its request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mcp_gen.server.context.context import Context, origin_of, outer_of, runtime_of, set_outer
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.session.messages.current import CURRENT

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from mcp_gen.server.tasks.running import RunningTask
    from mcp_gen.server.tools.registry import ToolRegistry

__all__ = ["task_context", "task_coroutine"]


def task_context(ctx: Context, task: RunningTask, channel: Any) -> Context:
    """Return a context for the handler of a task, with a channel of its own."""
    origin = origin_of(ctx).for_another_request()
    origin.channel = channel
    origin.headers = origin_of(ctx).headers
    made = Context(ctx.server, ctx.request_id, origin, ctx.meta, task=task)
    set_outer(made, outer_of(ctx))
    return made


def task_coroutine(task_ctx: Context, params: Any, tools: ToolRegistry) -> Coroutine[Any, Any, Any]:
    """Return the coroutine that runs a tool call as the handler of a task."""

    async def call(ctx: Context, params: Any) -> Any:
        CURRENT.set(ctx)  # this is the first function of a task
        return await run_with_rounds(ctx, params, tools.call)

    # The log handler must find this context, not that of the request.
    wrapper = runtime_of(task_ctx).kernel.outer_wrapper
    coroutine: Any = call(task_ctx, params) if wrapper is None else wrapper(call)(task_ctx, params)
    return cast("Coroutine[Any, Any, Any]", coroutine)
