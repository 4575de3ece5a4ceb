"""Timeouts: one timer per duration, and sliding ones that progress extends."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, TypeAlias

from mcp_gen.core.errors import RequestTimeout

__all__ = ["SlidingTimeout", "TimeoutQueue"]

MIN_LENGTH = 64
"""Row length from which waits that have ended are removed from its middle, too."""

SHORT_PAUSE_S = 0.1
"""Length of a pause, in seconds, that counts as a part of the wait."""

_Wait: TypeAlias = "tuple[float, asyncio.Future[Any], str]"
"""Due time, future and method of one wait. A plain tuple, because each request makes one."""


class _TimeoutRow:
    """Waits of one duration: they are due in the order in which they began."""

    __slots__ = ("limit", "timer", "waits")

    def __init__(self) -> None:
        self.waits: deque[_Wait] = deque()
        self.limit = MIN_LENGTH
        self.timer: asyncio.TimerHandle | None = None


class TimeoutQueue:
    """Fails waits that take too long, with one timer per duration.

    A timer of the event loop for each request would cost more than the rest of sending it.

    Args:
        loop: Event loop of the connection.
    """

    __slots__ = ("_loop", "_paused", "_rows")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._rows: dict[float, _TimeoutRow] = {}
        self._paused: dict[asyncio.Future[Any], float] = {}
        """When the pauses of waits began."""

    def add(self, timeout_s: float, waiter: asyncio.Future[Any], method: str) -> None:
        """Fail a wait with RequestTimeout unless it is done in time.

        Args:
            timeout_s: Seconds from now.
            waiter: Future of the response.
            method: Name of the method, for the error text.
        """
        row = self._rows.get(timeout_s)
        if row is None:
            row = self._rows[timeout_s] = _TimeoutRow()
        waits = row.waits
        while waits and waits[0][1].done():
            waits.popleft()
        if len(waits) >= row.limit:
            # A slow request at the front keeps many that have ended in the row.
            waits = row.waits = deque(wait for wait in waits if not wait[1].done())
            row.limit = max(MIN_LENGTH, 2 * len(waits))
        due = self._loop.time() + timeout_s
        waits.append((due, waiter, method))
        if row.timer is None:
            row.timer = self._loop.call_at(due, self._fire, timeout_s, row)

    def trim(self, timeout_s: float) -> None:
        """Forget the last waits of a duration that have ended, and its timer if none is left.

        For a wait that fails where it began: it would be kept until its time is over.
        """
        row = self._rows.get(timeout_s)
        if row is None:
            return
        while row.waits and row.waits[-1][1].done():
            row.waits.pop()
        if not row.waits and row.timer is not None:
            row.timer.cancel()
            del self._rows[timeout_s]

    def pause(self, waiter: asyncio.Future[Any]) -> None:
        """Let a wait take any time until `resume`."""
        self._paused[waiter] = self._loop.time()

    def resume(self, waiter: asyncio.Future[Any]) -> None:
        """End a pause; after a long one, the time begins anew."""
        began = self._paused.pop(waiter, None)
        if began is None or self._loop.time() - began < SHORT_PAUSE_S:
            return
        for timeout_s, row in self._rows.items():
            for wait in row.waits:
                if wait[1] is waiter:
                    row.waits.remove(wait)
                    self.add(timeout_s, waiter, wait[2])
                    return

    def clear(self) -> None:
        """Cancel all timers: nothing waits any more."""
        for row in self._rows.values():
            if row.timer is not None:
                row.timer.cancel()
        self._rows.clear()

    def _fire(self, timeout_s: float, row: _TimeoutRow) -> None:
        now = self._loop.time()
        while row.waits:
            due, waiter, method = row.waits[0]
            if not waiter.done():
                if due > now:
                    row.timer = self._loop.call_at(due, self._fire, timeout_s, row)
                    return
                if waiter in self._paused:
                    row.waits.rotate(-1)
                    row.waits[-1] = (now + timeout_s, waiter, method)
                    continue
                error = RequestTimeout(f"{method}: no answer in {timeout_s:g} s")
                waiter.set_exception(error)
            row.waits.popleft()
        row.timer = None
        del self._rows[timeout_s]


class SlidingTimeout:
    """Timeout of one request that progress extends.

    Fails the wait `timeout_s` after the last progress notification and after `max_wait_s` in all.

    Args:
        loop: Event loop of the connection.
        waiter: Future of the response.
        method: Name of the method, for the error text.
        timeout_s: Seconds without progress.
        max_wait_s: Seconds in all; at least `timeout_s`.

    Source:
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#timeouts
    """

    __slots__ = (
        "_last_progress",
        "_loop",
        "_max",
        "_max_due",
        "_method",
        "_paused_at",
        "_timeout",
        "_timer",
        "_waiter",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        waiter: asyncio.Future[Any],
        method: str,
        timeout_s: float,
        max_wait_s: float,
    ) -> None:
        self._loop = loop
        self._waiter = waiter
        self._method = method
        self._timeout = timeout_s
        self._max = max(timeout_s, max_wait_s)
        self._last_progress = loop.time()
        self._max_due = self._last_progress + self._max
        self._paused_at: float | None = None
        self._timer = loop.call_at(self._last_progress + timeout_s, self._fire)

    def extend(self) -> None:
        """Restart the timeout: the peer has reported progress."""
        # The timer is not moved, so that a progress notification costs no more than this.
        self._last_progress = self._loop.time()

    def pause(self) -> None:
        """Stop the time until `resume`."""
        self._paused_at = self._loop.time()

    def resume(self) -> None:
        """Restart the timeout; the pause is no part of the maximum either."""
        if self._paused_at is not None:
            self._last_progress = self._loop.time()
            self._max_due += self._last_progress - self._paused_at
            self._paused_at = None

    def cancel(self) -> None:
        """Cancel the timer: the wait is over."""
        self._timer.cancel()

    def _fire(self) -> None:
        if self._paused_at is not None:
            self._timer = self._loop.call_at(self._loop.time() + self._timeout, self._fire)
            return
        due = min(self._last_progress + self._timeout, self._max_due)
        if due > self._loop.time():
            self._timer = self._loop.call_at(due, self._fire)
        elif not self._waiter.done():
            reason = f"no answer in {self._timeout:g} s"
            if due >= self._max_due and self._last_progress + self._timeout > self._max_due:
                reason = f"no answer in {self._max:g} s, though there was progress"
            self._waiter.set_exception(RequestTimeout(f"{self._method}: {reason}"))
