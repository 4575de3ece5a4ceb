"""Blocking code in worker threads, with the context variables of whoever waits for it."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import TypeVar

__all__ = ["in_thread"]

T = TypeVar("T")


async def in_thread(run: Callable[[], T]) -> T:
    """Run a function in a thread of the loop's executor. If the waiting ends, the thread goes on.

    Raises:
        Exception: what the function raises.
    """
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(None, _caught, context, run)


def _caught(context: contextvars.Context, run: Callable[[], T]) -> T:
    try:
        return context.run(run)
    except StopIteration as error:
        # A future cannot carry it: whoever waits for that one would wait forever.
        raise RuntimeError(f"StopIteration: {error}") from error
