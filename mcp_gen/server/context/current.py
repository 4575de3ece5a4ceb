"""`current_context`, the context of the request that is answered."""

from __future__ import annotations

from typing import Any, TypeGuard

from mcp_gen.core.errors import UsageError
from mcp_gen.server.context.context import Context
from mcp_gen.session.messages.current import CURRENT

__all__ = ["current_context"]


def current_context() -> Context:
    """Return the context of the request that is answered here, for functions that handlers call.

        async def audit(action: str) -> None:
            await current_context().log("info", action)

        @server.tool
        async def delete(id: int) -> None:
            await audit(f"deleted {id}")

    It works in tools, resources, prompts, completions, hooks and middleware, in all functions that
    they call, in the threads of sync handlers, and in tasks that they start. Where a server is
    mounted, it is the context of the innermost server.

    Raises:
        UsageError: no request is answered here: at import time, in a lifespan, in a task that was
            started before the request, or in a thread that was started without its context.
    """
    found: Any = CURRENT.get()
    if _is_context(found):
        return found
    raise UsageError(
        "current_context(): no request is answered here. Call it in a tool, resource, prompt, hook "
        "or middleware, or in what they call; start a thread of your own with "
        "`contextvars.copy_context().run`, or pass it the `ctx` of the handler"
    )


def _is_context(value: object) -> TypeGuard[Context]:
    return isinstance(value, Context)
