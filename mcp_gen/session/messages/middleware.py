"""Composes middleware around the handling of requests and notifications, in both directions."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias, TypeVar

from mcp_gen.core.errors import UsageError

__all__ = ["CallNext", "Inner", "Middleware", "MiddlewareChain", "validate_middleware", "wrap"]


class CallNext(Protocol):
    """Inner handler that a middleware awaits.

    Args:
        params: Params of the message: those that the middleware got, or others of its method.
    """

    def __call__(self, params: Any, /) -> Awaitable[Any]:
        """Handle the message and return its result; None for a notification."""
        ...


Middleware: TypeAlias = Callable[[Any, str, Any, CallNext], Awaitable[Any]]
"""Async function around each message: `await mw(ctx, method, params, call_next)`."""
Inner: TypeAlias = Callable[[Any, Any], Awaitable[Any]]
"""Handler that middleware wraps: takes the context and params, returns the result."""
M = TypeVar("M", bound=Middleware)


class MiddlewareChain:
    """Middleware of one side, around the messages from its peers and around those to them.

    Args:
        incoming: Middleware around messages from peers, outermost first. The lists are read at
            each message, so that middleware may be added later.
        outgoing: Middleware around messages to peers, outermost first.
        changed: Called after a middleware for messages from peers has been added.
    """

    __slots__ = ("_changed", "incoming", "outgoing")

    def __init__(
        self, incoming: list[Middleware], outgoing: list[Middleware], changed: Callable[[], None]
    ) -> None:
        self.incoming = incoming
        self.outgoing = outgoing
        self._changed = changed

    def add(self, middleware: M) -> M:
        """Add a middleware around messages from peers, and return it.

        Raises:
            UsageError: it is not async, or does not take the parameters of a middleware.
        """
        self.incoming.append(validate_middleware(middleware))
        self._changed()
        return middleware

    def add_sending(self, middleware: M) -> M:
        """Add a middleware around messages to peers, and return it.

        Raises:
            UsageError: it is not async, or does not take the parameters of a middleware.
        """
        self.outgoing.append(validate_middleware(middleware))
        return middleware


def validate_middleware(middleware: M) -> M:
    """Return the middleware itself after checking that it can be called.

    Args:
        middleware: Async function or object with an async `__call__`, with the parameters
            `(ctx, method, params, call_next)`.

    Raises:
        UsageError: it is not async, or does not take these parameters.
    """
    if not callable(middleware):
        raise UsageError(
            f"middleware {_name(middleware)}: expected an async function (ctx, method, params, "
            "call_next), or an object with such a `__call__`"
        )
    callables: tuple[Any, ...] = (middleware, type(middleware).__call__)
    if not any(map(inspect.iscoroutinefunction, callables)):
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
    """Return a handler that runs all middleware around `inner`.

    Args:
        middleware: Middleware to apply; the first one is the outermost.
        method: Name of the method, passed to each middleware.
        inner: Handler that the innermost middleware calls.
        answered: True for requests: a middleware that returns None then raises UsageError. False
            for notifications, which have no result.
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
