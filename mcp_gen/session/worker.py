"""Running handlers by hand, so that those which wait for nothing share one task."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, Generic, TypeVar

__all__ = ["Rest"]

R = TypeVar("R")


class Rest(Generic[R]):
    """What is left of a coroutine that waits for something after its first step.

    To be awaited in the task that took that step, so that all of the coroutine runs in one task;
    and all of it runs in one context, its own. `blocker` is what the first step gave.
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
                del given
