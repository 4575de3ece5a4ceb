"""Runs handlers of one connection, sharing a task where they do not await."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mcp_gen.session.kernel.errors import is_cancelled
from mcp_gen.session.messages.current import CURRENT

if TYPE_CHECKING:
    from mcp_gen.session.kernel.call import Call
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["HandlerRunner"]

C = TypeVar("C")
R = TypeVar("R")


class HandlerRunner(Generic[C]):
    """Runs the handlers of one connection; each handler stays in one task from start to end.

    A task costs more than most handlers. So one task starts the handlers in turn. When a handler
    awaits something, the task belongs to that handler alone, and another task starts the next one.
    Each handler has its own context, so a handler cannot see that its task ran others before.

    Args:
        kernel: Server that runs the requests.
        finish: Called at the end of each request with its encoded response, or with None if it
            gets none.
    """

    __slots__ = ("_finish", "_idle", "_kernel", "_loop", "_task", "_waiting")

    def __init__(self, kernel: Kernel[C], finish: Callable[[Call[C], bytes | None], None]) -> None:
        self._kernel = kernel
        self._finish = finish
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Call[C]] = deque()
        """Requests whose handlers have not started."""
        self._task: asyncio.Task[None] | None = None
        """Task that starts handlers."""
        self._idle: asyncio.Future[None] | None = None
        """Future that the task awaits while no request is waiting."""

    def add(self, call: Call[C]) -> None:
        """Start a request in the next turn of the event loop."""
        self._waiting.append(call)
        if self._idle is not None:
            self._idle.set_result(None)
            self._idle = None
        elif self._task is None:
            self._task = self._loop.create_task(self._work())

    @property
    def busy(self) -> asyncio.Task[None] | None:
        """Task that starts the waiting requests; None if no request is waiting."""
        return self._task if self._idle is None else None

    async def drop(self) -> None:
        """Drop the waiting requests and stop the task."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _work(self) -> None:
        task: Any = self._task
        try:
            while not await self._run_waiting(task):
                self._idle = self._loop.create_future()
                await self._idle
        finally:
            if self._task is task:
                self._idle = None
                self._hand_over()

    def _hand_over(self) -> None:
        """Let a new task start the requests that wait and those still to come."""
        self._task = self._loop.create_task(self._work()) if self._waiting else None

    async def _run_waiting(self, task: Any) -> bool:
        """Run waiting requests; return True if the task must not run others afterwards."""
        waiting, kernel, finish = self._waiting, self._kernel, self._finish
        set_current: Any = CURRENT.set
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
                context = copy_context()
                context.run(set_current, call.ctx)
                try:
                    blocker = context.run(handler.send, None)
                except StopIteration as done:
                    call.result = done.value
                else:
                    waits = True
                    self._hand_over()
                    call.result = await _Rest(handler, blocker, context)
                # Not above: what is caught there would keep the result while it is encoded.
                answer = kernel.answer(call, call.result)
            except BaseException as error:
                answer = self._failure(call, error)
            finally:
                finish(call, answer)
            # The task was cancelled to cancel the handler that has just ended.
            if waits or task.cancelling():
                return True
        return False

    def _failure(self, call: Call[C], error: BaseException) -> bytes | None:
        try:
            cancelled = call.cancelled or is_cancelled()
            return self._kernel.failure(call, error, cancelled=cancelled)
        except asyncio.CancelledError:
            return None


async def _awaited(awaitable: Awaitable[R]) -> R:
    return await awaitable


class _Rest(Generic[R]):
    """Rest of a coroutine after its first step.

    Await it in the task that ran the first step; it continues in the same context.

    Args:
        coroutine: Coroutine that has run one step.
        blocker: Object that the first step yielded.
        context: Context of the coroutine.
    """

    __slots__ = ("_blocker", "_context", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, R], blocker: Any, context: Context) -> None:
        self._coroutine = coroutine
        self._blocker = blocker
        self._context = context

    def __await__(self) -> Generator[Any, Any, R]:
        run, blocker = self._context.run, self._blocker
        send, throw = self._coroutine.send, self._coroutine.throw
        while True:
            step: Callable[[Any], Any] = send
            given: Any = None
            try:
                given = yield blocker
            except BaseException as error:
                step, given = throw, error
            try:
                blocker = run(step, given)
            except StopIteration as done:
                result: R = done.value
                return result
            finally:
                del given  # a thrown error refers to this frame
