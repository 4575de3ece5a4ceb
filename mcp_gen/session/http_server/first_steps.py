"""Task in which handlers take their first step, for those that never wait."""

from __future__ import annotations

import asyncio
from asyncio import current_task
from collections.abc import Coroutine
from contextvars import copy_context
from typing import Any

from mcp_gen.session.duplex.rest import Rest, enter_task, leave_task

__all__ = ["FirstSteps", "Waiting"]

# For those who write tasks: https://docs.python.org/3/library/asyncio-extending.html
_extending: Any = asyncio.tasks
_register_task = _extending._register_task
_unregister_task = _extending._unregister_task

SKIPPED = 4
"""Coroutines that get tasks of their own after one that waits: the next ones may wait as well."""


class Waiting:
    """Task that waits for the rest of a coroutine whose first step ran as this task.

    While it waits it does no work: `asyncio.all_tasks` does not list it, and it may be dropped.

    Args:
        loop: Event loop of the task.
    """

    __slots__ = ("_rest", "task", "waiter")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.waiter: asyncio.Future[None] = loop.create_future()
        """Done once the task has a coroutine to run, or was cancelled."""
        self._rest: Rest[None] | None = None
        self.task: asyncio.Task[None] = loop.create_task(self._wait())
        task: Any = self.task
        task._log_destroy_pending = False

    def continue_with(self, rest: Rest[None]) -> None:
        """Let the task run the rest of the coroutine, in the next turn of the event loop."""
        rest.postpone()
        self._rest = rest
        _register_task(self.task)
        if not self.waiter.done():  # else the first step has cancelled its own task
            self.waiter.set_result(None)

    async def _wait(self) -> None:
        _unregister_task(self.task)
        try:
            await self.waiter
        except asyncio.CancelledError as error:
            if self._rest is None:
                return
            # Cancelled in the turn of the first step: what the coroutine awaits is cancelled.
            self._rest.cancelled = error
        rest, self._rest = self._rest, None
        if rest is not None:
            await rest


class FirstSteps:
    """Lets coroutines take their first step within another task, as if it were their own.

    A task costs more than most handlers. So one task waits, and for the first step of a coroutine
    it is the current one. A coroutine that ends there leaves it to the next. One that awaits
    something keeps it to its end: whatever it asks, it was in one task all the time.

    Args:
        loop: Event loop of the coroutines.
    """

    __slots__ = ("_closed", "_making", "_skip", "loop", "ready")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.ready: Waiting | None = None
        """Task for the next first step; None if `prepare` has to make one, or one is being used."""
        self._making: asyncio.Handle | None = None
        self._skip = 0
        """Number of coroutines that get tasks of their own before another task is made."""
        self._closed = False

    def prepare(self) -> None:
        """Make a task for first steps, unless handlers wait: it is ready in the next turn."""
        if self._skip:
            self._skip -= 1
        elif self._making is None and not self._closed:
            # Not earlier: a task that is cancelled before it starts never runs.
            self._making = self.loop.call_soon(self._made, Waiting(self.loop))

    def _made(self, made: Waiting) -> None:
        self._making = None
        if self.ready is None and not self._closed:
            self.ready = made
        else:
            made.task.cancel()

    def step(self, coroutine: Coroutine[Any, Any, None], waiting: Waiting) -> None:
        """Run the first step of a coroutine, in a copy of the current context.

        Args:
            coroutine: Coroutine that has not started; it raises nothing but CancelledError.
            waiting: The task that is ready.
        """
        self.ready = None
        loop, task = self.loop, waiting.task
        context = copy_context()
        outer: Any = current_task(loop)
        leave_task(loop, outer)
        enter_task(loop, task)
        try:
            blocker = context.run(coroutine.send, None)
        except (StopIteration, asyncio.CancelledError):
            # Not one that the coroutine has cancelled.
            if not waiting.waiter.done():
                self.ready = waiting
        else:
            self._skip = SKIPPED
            waiting.continue_with(Rest(coroutine, blocker, context.run))
        finally:
            leave_task(loop, task)
            enter_task(loop, outer)

    def drop(self, task: asyncio.Task[None]) -> None:
        """Use a task no more: a cancellation of its last coroutine may be still to come."""
        if self.ready is not None and self.ready.task is task:
            self.ready = None
            task.cancel()

    def close(self) -> None:
        """End the task that waits; further coroutines get tasks of their own."""
        self._closed = True
        if self.ready is not None:
            self.drop(self.ready.task)
