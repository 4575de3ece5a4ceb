"""The context that a handler has in a task: that of its request, which may be over by now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.server.context import Context

if TYPE_CHECKING:
    from mcp_gen.server.tasks.running import RunningTask

__all__ = ["context_in"]


def context_in(ctx: Context, task: RunningTask, outlet: Any) -> Context:
    """A context for a task's handler, whose messages go another way."""
    caller = ctx.caller.in_another_request()
    caller.outlet = outlet
    caller.headers = ctx.caller.headers
    return Context(ctx.server, ctx.request_id, caller, ctx.meta, task=task)
