"""Timeouts: one timer per duration, and sliding ones that progress extends."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, TypeAlias

from mcp_gen.core.errors import RequestTimeout

__all__ = ["SlidingTimeout", "TimeoutQueue"]

MIN_LENGTH = 64
"""How many waits of one length may have ended before any are looked for."""


_Wait: TypeAlias = "tuple[float, asyncio.Future[Any], str]"
"""When it is due, what waits, and the method. Plain, because each request makes one."""


class _TimeoutRow:
    """The waits of one length, which are due in the order in which they began."""

    __slots__ = ("limit", "timer", "waits")

    def __init__(self) -> None:
        self.waits: deque[_Wait] = deque()
        self.limit = MIN_LENGTH
        self.timer: asyncio.TimerHandle | None = None


class TimeoutQueue:
    """Ends waits that take too long.

    A timer of the event loop for each request costs more than the rest of sending it does.
    """

    __slots__ = ("_loop", "_rows")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._rows: dict[float, _TimeoutRow] = {}

    def add(self, timeout_s: float, waiter: asyncio.Future[Any], method: str) -> None:
        """End this wait with RequestTimeout, unless it is done within `timeout_s`."""
        row = self._rows.get(timeout_s)
        if row is None:
            row = self._rows[timeout_s] = _TimeoutRow()
        waits = row.waits
        while waits and waits[0][1].done():
            waits.popleft()
        if len(waits) >= row.limit:
            # One that takes long stands in front of many that have ended.
            waits = row.waits = deque(wait for wait in waits if not wait[1].done())
            row.limit = max(MIN_LENGTH, 2 * len(waits))
        due = self._loop.time() + timeout_s
        waits.append((due, waiter, method))
        if row.timer is None:
            row.timer = self._loop.call_at(due, self._fire, timeout_s, row)

    def clear(self) -> None:
        """Nobody waits any more."""
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
                error = RequestTimeout(f"{method}: no answer in {timeout_s:g} s")
                waiter.set_exception(error)
            row.waits.popleft()
        row.timer = None
        del self._rows[timeout_s]


class SlidingTimeout:
    """Ends the wait for an answer `timeout_s` after the last report, and after `max_wait_s` in all.

    Source:
    https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#timeouts
    """

    __slots__ = ("_ends", "_heard", "_loop", "_max", "_method", "_timeout", "_timer", "_waiter")

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
        self._heard = loop.time()
        self._ends = self._heard + self._max
        self._timer = loop.call_at(self._heard + timeout_s, self._fire)

    def extend(self) -> None:
        """The peer has reported something."""
        # The timer stays where it is: a report costs no more than this.
        self._heard = self._loop.time()

    def cancel(self) -> None:
        """The wait is over."""
        self._timer.cancel()

    def _fire(self) -> None:
        due = min(self._heard + self._timeout, self._ends)
        if due > self._loop.time():
            self._timer = self._loop.call_at(due, self._fire)
        elif not self._waiter.done():
            said = f"no answer in {self._timeout:g} s"
            if due >= self._ends and self._heard + self._timeout > self._ends:
                said = f"no answer in {self._max:g} s, though there was progress"
            self._waiter.set_exception(RequestTimeout(f"{self._method}: {said}"))
