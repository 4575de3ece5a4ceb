"""Runs a test of a suite in an event loop of its own, and waits for what a store returns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, TypeVar

__all__ = ["ODD_NAMES", "RACERS", "done", "in_loop"]

S = TypeVar("S")

TEST_LIMIT_S = 60.0
RACERS = 20
"""Number of tasks that try the same at once."""

ODD_NAMES = ("a", "a:b", "a}b", "{a}", "a b", "a/b", "a\nb", "=a", "ä", "a" * 300, "a:events")
"""Names that a store must keep apart, though clients send some of them."""


def in_loop(test: Callable[[S], Coroutine[Any, Any, None]]) -> Callable[[S], None]:
    """Make a test of a coroutine function, so that pytest needs no plugin to run it."""

    @wraps(test)
    def run(self: S) -> None:
        asyncio.run(_bounded(test(self)))

    # pytest would see a coroutine function behind the wrapper.
    del run.__wrapped__
    return run


async def _bounded(test: Coroutine[Any, Any, None]) -> None:
    async with asyncio.timeout(TEST_LIMIT_S):
        await test


async def done(operation: Awaitable[bool] | None) -> bool:
    """Return True if an operation was done, at once or when it was awaited."""
    return True if operation is None else await operation
