"""Expiry timer of tasks, and the time formats of the wire."""

from __future__ import annotations

import asyncio
import heapq
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_gen.core.stores.tasks import StoredTask

__all__ = ["Expiry", "iso", "ttl_ms"]

_log = logging.getLogger("mcp_gen.server")


class Expiry:
    """Calls `expire(id)` for each task at its expiry time, with one timer for the next of them.

    Args:
        now: Clock, in seconds since the epoch.
        expire: Awaited with the id of a task that has expired. Its errors are logged.
    """

    def __init__(self, now: Callable[[], float], expire: Callable[[str], Awaitable[None]]) -> None:
        self._now = now
        self._expire = expire
        self._due: list[tuple[float, str]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sweeping: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._due)

    def add(self, at: float, id: str) -> None:
        """Add a task that expires at a time, in seconds since the epoch."""
        heapq.heappush(self._due, (at, id))
        loop = asyncio.get_running_loop()
        if self._loop is not loop and (self._loop is None or self._loop.is_closed()):
            self._loop, self._timer = loop, None
        if self._loop is loop and (self._timer is None or self._due[0][1] == id):
            self._schedule()

    def keep(self, known: Callable[[str], bool]) -> None:
        """Drop all tasks but those for which `known(id)` is true."""
        self._due = [one for one in self._due if known(one[1])]
        heapq.heapify(self._due)

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._due and self._loop is not None:
            wait_s = max(0.0, self._due[0][0] - self._now())
            self._timer = self._loop.call_later(wait_s, self._start_sweep)

    def _start_sweep(self) -> None:
        self._timer = None
        if self._loop is not None:
            self._sweeping = self._loop.create_task(self.sweep())

    async def sweep(self) -> None:
        """Expire all tasks whose time has come."""
        while self._due and self._due[0][0] <= self._now():
            _, id = heapq.heappop(self._due)
            try:
                await self._expire(id)
            except Exception:
                _log.exception("task %s could not be forgotten", id)
        if self._loop is asyncio.get_running_loop():
            self._schedule()

    def close(self) -> None:
        """Drop all tasks and stop the timer."""
        self._due.clear()
        # A timer on another loop that still fires finds an empty heap.
        if self._timer is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._timer.cancel)
        self._timer = None


def iso(at: float) -> str:
    """Format a time in seconds since the epoch as ISO 8601 in UTC, with milliseconds."""
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def ttl_ms(task: StoredTask) -> int | None:
    """Return for how many milliseconds a task is kept after its creation; None without limit."""
    if task.expires_at is None:
        return None
    return max(1, round((task.expires_at - task.created_at) * 1000))
