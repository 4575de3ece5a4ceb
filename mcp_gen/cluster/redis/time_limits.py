"""Time limit of a reply that a loop which was late has not used up."""

from __future__ import annotations

import asyncio
from types import TracebackType

__all__ = ["ReplyTimeout"]

LATE_S = 0.05
"""Lateness of the loop, in seconds, above which a reply may be there that was not read yet."""
GRACE_S = 0.1
"""Seconds to read it."""


class ReplyTimeout:
    """Raises TimeoutError in its block after some time, like `asyncio.timeout`.

    If the loop did something else when the time was over, what has arrived meanwhile is read first:
    a handler that blocks the loop must not make the server look dead.

    Args:
        seconds: The time.
    """

    __slots__ = ("_due", "_loop", "_seconds", "_timeout", "_timer")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(None)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()
        self._loop = asyncio.get_running_loop()
        self._due = self._loop.time() + self._seconds
        self._timer = self._loop.call_at(self._due, self._check)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        await self._timeout.__aexit__(kind, error, traceback)

    def _check(self) -> None:
        if self._loop.time() - self._due > LATE_S:
            self._timer = self._loop.call_later(GRACE_S, self._expire)
        else:
            self._expire()

    def _expire(self) -> None:
        self._timeout.reschedule(self._loop.time())
