"""The time limit of a request that reports of progress put off, but not for ever."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_gen.core.errors import RequestTimeout

__all__ = ["Patience"]


class Patience:
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
        self._timer = loop.call_at(self._heard + timeout_s, self._ring)

    def heard(self) -> None:
        """The peer has reported something."""
        # The timer stays where it is: a report costs no more than this.
        self._heard = self._loop.time()

    def cancel(self) -> None:
        """The wait is over."""
        self._timer.cancel()

    def _ring(self) -> None:
        due = min(self._heard + self._timeout, self._ends)
        if due > self._loop.time():
            self._timer = self._loop.call_at(due, self._ring)
        elif not self._waiter.done():
            said = f"no answer in {self._timeout:g} s"
            if due >= self._ends and self._heard + self._timeout > self._ends:
                said = f"no answer in {self._max:g} s, though there was progress"
            self._waiter.set_exception(RequestTimeout(f"{self._method}: {said}"))
