"""One event loop per test, with a timeout; it must be empty at the end. Bounded waits in it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["run_clean", "until"]

TEST_LIMIT_S = 100.0
WAIT_S = 30.0


def run_clean(test: Coroutine[Any, Any, None]) -> None:
    """Run a test; fail if it leaves a task or an unretrieved exception behind."""
    asyncio.run(_bounded(test))


async def _bounded(test: Coroutine[Any, Any, None]) -> None:
    complaints: list[str] = []
    loop = asyncio.get_running_loop()
    # In debug mode asyncio logs what took long: on a slow machine that says nothing about the code.
    loop.slow_callback_duration = math.inf
    loop.set_exception_handler(lambda _, context: complaints.append(repr(context)))
    async with asyncio.timeout(TEST_LIMIT_S):
        await test
    # A task that has just ended is forgotten in the next turn of the loop.
    await asyncio.sleep(0)
    left = [repr(task) for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    assert left == [], "the test left tasks behind"
    assert complaints == [], f"the event loop had something to complain about: {complaints}"


async def until(condition: Callable[[], Any]) -> None:
    """Wait until a condition is true, turn by turn of the loop.

    Raises:
        TimeoutError: it is not true within 30 s.
    """
    async with asyncio.timeout(WAIT_S):
        # Conditions of many kinds, few of which have an event.
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)
