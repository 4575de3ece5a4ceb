"""Rest of a coroutine whose first step ran as if in the task that continues it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

__all__ = ["Rest", "enter_task", "leave_task"]

R = TypeVar("R")

# For those who write tasks: https://docs.python.org/3/library/asyncio-extending.html
_extending: Any = asyncio.tasks
enter_task: Callable[[asyncio.AbstractEventLoop, Any], None] = _extending._enter_task
"""Make a task the current one of an event loop that has none."""
leave_task: Callable[[asyncio.AbstractEventLoop, Any], None] = _extending._leave_task
"""Undo `enter_task`."""


class Rest(Generic[R]):
    """Rest of a coroutine after its first step.

    Await it in the task that was the current one in the first step.

    Args:
        coroutine: Coroutine that has run one step.
        blocker: Object that the first step yielded.
        run: Runs a function in the context of the coroutine.
    """

    __slots__ = ("_blocker", "_coroutine", "_run", "cancelled", "is_late")

    def __init__(
        self, coroutine: Coroutine[Any, Any, R], blocker: Any, run: Callable[..., Any]
    ) -> None:
        self.is_late = False
        """True if other tasks have run since the first step."""
        self.cancelled: asyncio.CancelledError | None = None
        """What the task was cancelled with since the first step."""
        self._coroutine = coroutine
        self._blocker = blocker
        self._run = run

    def postpone(self) -> None:
        """Let other tasks run before the rest is awaited."""
        self.is_late = True
        # To another task that awaits the same future, its mark would be that of an error.
        _mark(self._blocker, False)

    def __await__(self) -> Generator[Any, Any, R]:
        run, blocker, is_late = self._run, self._blocker, self.is_late
        send, throw = self._coroutine.send, self._coroutine.throw
        while True:
            step: Callable[[Any], Any] = send
            given: Any = None
            try:
                if is_late:
                    yield from self._await_late()
                else:
                    given = yield blocker
            except BaseException as error:
                step, given = throw, error
            is_late = False
            try:
                blocker = run(step, given)
            except StopIteration as done:
                result: R = done.value
                return result
            finally:
                del given  # a thrown error refers to this frame

    def _await_late(self) -> Generator[Any, Any, Any]:
        """Await what the first step yielded, after other tasks have run."""
        blocker = self._blocker
        if self.cancelled is not None and (blocker is None or not blocker.cancel()):
            raise self.cancelled
        if blocker is not None:
            # What a future does when it is awaited.
            _mark(blocker, True)
            yield blocker


def _mark(blocker: Any, is_awaited: bool) -> None:
    """Set what a future tells the task that it is yielded to; other objects have no such mark."""
    if getattr(blocker, "_asyncio_future_blocking", None) is not None:
        blocker._asyncio_future_blocking = is_awaited
