"""Awaiting several things at once, with one error at most."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

__all__ = ["together"]


async def together(*questions: Awaitable[Any]) -> tuple[Any, ...]:
    """Await all at once; where one fails, the others are cancelled, and its error is raised."""
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
