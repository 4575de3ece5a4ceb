"""A task that several callers await, of which there is one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from mcp_gen.core.errors import AuthError

__all__ = ["SharedTask"]


class SharedTask:
    """Runs one coroutine for all who come while it runs.

    It goes on when callers are cancelled: a rotated refresh token must not get lost. Only what is
    `abandonable`, such as waiting for a user, is cancelled when the last caller has left.
    """

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._callers = 0
        self.abandonable = False
        """True while nothing is lost if the task is cancelled."""

    @property
    def running(self) -> bool:
        """True if there is a task to join."""
        return self._task is not None

    async def join(self, start: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Await the running task; start one if there is none.

        Args:
            start: Makes the coroutine.

        Raises:
            AuthError: The task was cancelled by `aclose`.
        """
        if self._task is None:
            self._task = asyncio.create_task(start())
            self._task.add_done_callback(self._ended)
            self._callers = 0
        task = self._task
        self._callers += 1
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled() and not _is_being_cancelled():
                raise AuthError("the login was closed before it was done") from None
            raise
        finally:
            self._left(task)

    async def idle(self) -> None:
        """Await the end of what is running, whatever comes of it."""
        while (task := self._task) is not None:
            await asyncio.wait([task])

    async def aclose(self) -> None:
        """Cancel the task that waits for a user; await another one."""
        if (task := self._task) is not None:
            if self.abandonable:
                task.cancel()
            await asyncio.wait([task])

    def _left(self, task: asyncio.Task[None]) -> None:
        if task is self._task:
            self._callers -= 1
            if self._callers == 0 and self.abandonable:
                task.cancel()
                self._task = None

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task is self._task:
            self._task = None
        if not task.cancelled():
            # Who awaits it gets the error; nobody may be left.
            task.exception()


def _is_being_cancelled() -> bool:
    current = asyncio.current_task()
    return current is not None and current.cancelling() > 0
