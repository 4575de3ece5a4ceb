"""A request that is answered in rounds: questions in its result, answers in the next request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from mcp_gen.server.context import Context

__all__ = ["Rounds", "in_rounds", "once"]

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


class Rounds:
    """The rounds of one request."""

    number: int = 1
    responses: dict[str, Any] | None = None
    user_state: str | None = None


async def once(ctx: Context, key: str, make: Callable[[], Awaitable[T] | T]) -> T:
    """See `Context.once`."""
    raise NotImplementedError


async def in_rounds(ctx: Context, params: P, handler: Callable[[Context, P], Awaitable[R]]) -> R:
    """Run a handler that may ask the client, and answer with its questions while it has any."""
    return await handler(ctx, params)
