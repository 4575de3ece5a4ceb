"""Middleware: functions around every message, those that come and those that are sent."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, TypeVar

from mcp_gen.core.errors import UsageError

__all__ = ["CallNext", "Inner", "Middleware", "checked", "wrap"]

CallNext: TypeAlias = Callable[[Any], Awaitable[Any]]
"""What a middleware awaits to go on: takes params, gives the result."""
Middleware: TypeAlias = Callable[[Any, str, Any, CallNext], Awaitable[Any]]
"""Around every message: `await mw(ctx, method, params, call_next)` gives the result."""
Inner: TypeAlias = Callable[[Any, Any], Awaitable[Any]]
M = TypeVar("M", bound=Middleware)


def checked(middleware: M) -> M:
    """The middleware itself.

    Raises:
        UsageError: it is not async, or does not take what a middleware is called with.
    """
    ways: tuple[Any, ...] = (middleware, type(middleware).__call__)
    if not any(map(inspect.iscoroutinefunction, ways)):
        raise UsageError(
            f"middleware {_name(middleware)}: write `async def`, and "
            "`return await call_next(params)` in it"
        )
    try:
        inspect.signature(middleware).bind(None, "", None, None)
    except TypeError:
        raise UsageError(
            f"middleware {_name(middleware)}: expected the parameters "
            "(ctx, method, params, call_next)"
        ) from None
    return middleware


def wrap(middleware: Sequence[Middleware], method: str, inner: Inner, *, answered: bool) -> Inner:
    """The call inside of all middleware, the first of which is the outermost.

    `answered` says whether there is a result: nothing comes back of a notification.
    """
    for one in reversed(middleware):
        inner = _around(one, method, inner, answered)
    return inner


def _around(middleware: Middleware, method: str, inner: Inner, answered: bool) -> Inner:
    async def call(ctx: Any, params: Any) -> Any:
        result = await middleware(ctx, method, params, partial(inner, ctx))
        if result is None and answered:
            raise UsageError(
                f"middleware {_name(middleware)} returned nothing: "
                "expected `return await call_next(params)`"
            )
        return result

    return call


def _name(middleware: Middleware) -> str:
    return getattr(middleware, "__qualname__", type(middleware).__qualname__)
