"""One event loop per test: bounded in time, and empty when the test has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["run_clean"]

TEST_LIMIT_S = 60.0
LAST_TURNS_S = 1.0


def run_clean(test: Coroutine[Any, Any, None]) -> None:
    """Run a test; fail if it leaves a task behind, or an exception that nobody looked at."""
    asyncio.run(_bounded(test))


async def _bounded(test: Coroutine[Any, Any, None]) -> None:
    complaints: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(repr(context)))
    async with asyncio.timeout(TEST_LIMIT_S):
        await test
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    if others:
        # One that was about to end, as when its thread has just done so, may need a moment.
        others = list((await asyncio.wait(others, timeout=LAST_TURNS_S))[1])
    assert [repr(task) for task in others] == [], "the test left tasks behind"
    assert complaints == [], f"the event loop had something to complain about: {complaints}"
