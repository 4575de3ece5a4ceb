"""Context of the request that is answered in this task or thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar, Token
from typing import Any, TypeVar

__all__ = ["CURRENT", "leave", "within"]

P = TypeVar("P")
R = TypeVar("R")

CURRENT: ContextVar[Any] = ContextVar("mcp_gen_current_context", default=None)
"""Context of the request or notification; None outside. Tasks and threads that it starts inherit
it. Each request sets it once, with a C call: a frame per call would cost more."""


def leave(token: Token[Any]) -> None:
    """Restore the context from before a request.

    Does nothing if a coroutine that was left open is closed by another task: nothing of this
    request runs there.
    """
    try:
        CURRENT.reset(token)
    except ValueError:
        return


async def within(context: Any, call: Callable[[Any, P], Awaitable[R]], params: P) -> R:
    """Await `call(context, params)` with this context as the current one.

    Args:
        context: Context that the call gets.
        call: Handler of a request.
        params: Params of the request.
    """
    token = CURRENT.set(context)
    try:
        return await call(context, params)
    finally:
        leave(token)
