"""Awaits several awaitables with one error at most; waits for tasks with a grace period."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

__all__ = ["gather_all", "wait_or_cancel"]


async def gather_all(*questions: Awaitable[Any]) -> tuple[Any, ...]:
    """Await all awaitables concurrently and return their results in order.

    Args:
        questions: Awaitables; each runs in a task of its own.

    Raises:
        Exception: the first error of an awaitable; the others have been cancelled and have ended.
    """
    tasks = [asyncio.ensure_future(question) for question in questions]
    if not tasks:
        return ()
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        late = [task for task in tasks if not task.done()]
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
    failures = [task.exception() for task in tasks if not task.cancelled()]
    for failure in failures:
        if failure is not None:
            raise failure
    return tuple(task.result() for task in tasks)


async def wait_or_cancel(
    tasks: Callable[[], Sequence[asyncio.Future[Any]]],
    grace_s: float,
    give_up: Callable[[], None] | None = None,
) -> None:
    """Wait until no tasks are left; cancel those that run longer than a grace period.

    Args:
        tasks: Returns the tasks that are still running. It is called again after each wait.
        grace_s: Seconds before the tasks that are left are cancelled and awaited.
        give_up: Called before tasks are cancelled.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + grace_s
    while running := tasks():
        _, late = await asyncio.wait(running, timeout=max(0.0, deadline - loop.time()))
        if late and give_up:
            give_up()
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
