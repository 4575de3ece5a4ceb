"""Runs handlers of one connection, sharing a task where they do not await."""

from __future__ import annotations

import asyncio
from asyncio import current_task
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from mcp_gen.session.duplex.rest import Rest, enter_task, leave_task
from mcp_gen.session.kernel.errors import is_cancelled
from mcp_gen.session.messages.current import CURRENT

if TYPE_CHECKING:
    from mcp_gen.session.kernel.call import Call
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["HandlerRunner"]

C = TypeVar("C")
R = TypeVar("R")


class _Started(NamedTuple, Generic[C]):
    """Request whose handler has run one step, and awaits something."""

    call: Call[C]
    rest: Rest[Any]


class HandlerRunner(Generic[C]):
    """Runs the handlers of one connection; each handler stays in one task from start to end.

    A task costs more than most handlers. So one task is there for all handlers that await nothing.
    While it idles they run as if in this task, which is not even woken. When a handler awaits
    something, the task belongs to that handler alone, and another task is there for the next ones.
    Each handler has its own context, so a handler cannot see that its task ran others before.

    Args:
        kernel: Server that runs the requests.
        finish: Called at the end of each request with its encoded response, or with None if it
            gets none.
        soon: Calls a function soon, outside of any task: after the message that is being received
            and those that came with it. None: in the next turn of the event loop.
    """

    __slots__ = (
        "_context",
        "_finish",
        "_idle",
        "_is_scheduled",
        "_kernel",
        "_loop",
        "_soon",
        "_started",
        "_task",
        "_waiting",
    )

    def __init__(
        self,
        kernel: Kernel[C],
        finish: Callable[[Call[C], bytes | None], None],
        soon: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self._kernel = kernel
        self._finish = finish
        self._soon = soon
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Call[C]] = deque()
        """Requests whose handlers have not started."""
        self._task: asyncio.Task[None] | None = None
        """Task that starts handlers."""
        self._idle: asyncio.Future[None] | None = None
        """Future that the task awaits while it idles."""
        self._is_scheduled = False
        """True if `_start_waiting` is about to be called."""
        self._started: _Started[C] | None = None
        """Handler that the idle task has to continue, which now belongs to it."""
        self._context: Context | None = None
        """Context of the tasks; each handler gets a copy."""

    def add(self, call: Call[C]) -> None:
        """Start a request soon: not before the message is received that it came in."""
        self._waiting.append(call)
        if self._idle is None:
            if self._task is None:
                self._context = copy_context()
                self._hand_over()
        elif not self._is_scheduled:
            self._is_scheduled = True
            if self._soon is None:
                self._loop.call_soon(self._start_waiting, context=self._context)
            else:
                self._soon(self._start_waiting)

    async def begun(self) -> None:
        """Wait until the waiting requests have had their first step, some turns of the loop."""
        # A handler that cancels its task leaves the next ones to another task, a turn later.
        for _ in range(2 * len(self._waiting) + 2):
            if not self._waiting:
                return
            await asyncio.sleep(0)

    async def drop(self) -> None:
        """Drop the waiting requests and stop the task."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _start_waiting(self) -> None:
        """Start the waiting requests as if in the task that idles."""
        self._is_scheduled = False
        task, idle, loop = self._task, self._idle, self._loop
        if task is None or idle is None or idle.done():
            return  # the task that comes next starts them
        if current_task(loop) is not None:
            # The transport delivers messages inside of a task, which must stay the current one.
            self._is_scheduled = True
            loop.call_soon(self._start_waiting, context=self._context)
            return
        # As `asyncio.eager_task_factory` does it for the first step of a task.
        enter_task(loop, task)
        try:
            started = self._run_waiting(task)
        finally:
            leave_task(loop, task)
        if started is not None:
            started.rest.postpone()
            self._started = started
        if started is not None or idle.done():
            self._idle = None
            if not idle.done():
                idle.set_result(None)
            self._hand_over()

    async def _work(self) -> None:
        task: Any = self._task
        try:
            started = self._run_waiting(task)
            if started is None and not task.cancelling():
                started = await self._wait_for_handler()
        finally:
            if self._task is task:
                self._idle = None
                self._hand_over()
        if started is not None:
            await self._continue(started)

    async def _wait_for_handler(self) -> _Started[C] | None:
        """Idle until this task has to continue a handler, and return that."""
        self._idle = self._loop.create_future()
        error: asyncio.CancelledError | None = None
        try:
            await self._idle
        except asyncio.CancelledError as cancelled:
            if self._started is None:
                raise
            error = cancelled
        started, self._started = self._started, None
        if started is not None:
            started.rest.cancelled = error
        return started

    def _hand_over(self) -> None:
        """Let a new task start the requests that wait and those still to come."""
        self._task = None
        if self._waiting:
            work = self._work()
            context: Any = self._context  # maybe entered, so it cannot be entered again
            self._task = context.copy().run(self._loop.create_task, work)

    def _run_waiting(self, task: Any) -> _Started[C] | None:
        """Run the waiting requests in a task, as long as it can run others afterwards.

        Returns:
            The handler that awaits something, which the task has to continue; None if all have
            ended, or the task was cancelled with one of them.
        """
        waiting, kernel, finish = self._waiting, self._kernel, self._finish
        set_current: Any = CURRENT.set
        given: Any = self._context
        while waiting:
            call = waiting.popleft()
            if call.cancelled:
                continue
            call.task = task
            waits = False
            answer: bytes | None = None
            try:
                handler: Any = call.route.call(call.ctx, call.params)
                if not hasattr(handler, "send"):
                    handler = _awaited(handler)
                run = given.copy().run
                run(set_current, call.ctx)
                try:
                    blocker = run(handler.send, None)
                except StopIteration as done:
                    call.result = done.value
                else:
                    waits = True
                    return _Started(call, Rest(handler, blocker, run))
                # Not above: what is caught there would keep the result while it is encoded.
                answer = kernel.answer(call, call.result)
            except BaseException as error:
                answer = self._failure(call, error)
            finally:
                if not waits:
                    finish(call, answer)
            # The task was cancelled to cancel the handler that has just ended.
            if task.cancelling():
                break
        return None

    async def _continue(self, started: _Started[C]) -> None:
        """Run the rest of a handler in the task that its first step was run in."""
        call = started.call
        answer: bytes | None = None
        try:
            call.result = await started.rest
            answer = self._kernel.answer(call, call.result)
        except BaseException as error:
            answer = self._failure(call, error)
        finally:
            self._finish(call, answer)

    def _failure(self, call: Call[C], error: BaseException) -> bytes | None:
        try:
            cancelled = call.cancelled or is_cancelled()
            return self._kernel.failure(call, error, cancelled=cancelled)
        except asyncio.CancelledError:
            return None


async def _awaited(awaitable: Awaitable[R]) -> R:
    return await awaitable
