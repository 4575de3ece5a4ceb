"""One timer for slow requests: disconnect watch, switch to SSE, heartbeats, body timeouts.

A request costs nothing extra while it is short: tasks and timers begin once it is slow.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["SlowRequestWatcher", "Watched"]

SWEEP_S = 0.05
"""Seconds between two sweeps; a request that two sweeps find is slow."""
LOOK_S = 1.0
"""Longest interval, in seconds, between two checks of slow requests."""


class Watched(Protocol):
    """Reply to an open request, as the sweep timer sees it."""

    due_s: float
    """Time of the next `check`, by the clock of the event loop."""

    def watch(self, now_s: float) -> None:
        """Start to watch for a disconnect: the request is slow."""
        ...

    def check(self, now_s: float) -> None:
        """Begin the stream of a slow answer, or send a heartbeat."""
        ...

    def interrupt(self) -> None:
        """End a long-lived reply."""
        ...


class SlowRequestWatcher:
    """Open requests of one app on one event loop.

    Args:
        loop: The event loop.
        sse_after_s: Seconds after which a slow answer becomes an SSE stream.
        keep_alive_s: Seconds of silence on a stream before a heartbeat.
        body_timeout_s: Seconds that a body may take to arrive; it is enforced after once to twice
            that time.
    """

    __slots__ = (
        "_body_timeout_s",
        "_checker",
        "_every_s",
        "_late",
        "_old",
        "_sweeper",
        "_young",
        "keep_alive_s",
        "lasting",
        "long",
        "loop",
        "reading",
        "reading_long",
        "sse_after_s",
        "thread",
        "ticking",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        sse_after_s: float,
        keep_alive_s: float,
        body_timeout_s: float,
    ) -> None:
        self.loop = loop
        self.thread = get_ident()
        """Thread in which the loop ran when it was last entered."""
        self.sse_after_s = sse_after_s
        self.keep_alive_s = keep_alive_s
        self.lasting: set[Watched] = set()
        """Long-lived replies: they stay open until the client disconnects."""
        self.long: set[Watched] = set()
        """Replies of slow requests."""
        self._young: set[Watched] = set()
        self._old: set[Watched] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._checker: asyncio.TimerHandle | None = None
        self._every_s = min(LOOK_S, sse_after_s / 4, keep_alive_s / 4)
        self._body_timeout_s = body_timeout_s
        self.reading: set[Any] = set()
        """Tasks that read a body; they are cancelled if that takes too long."""
        self.reading_long: set[Any] = set()
        """Tasks that were already reading at the last check."""
        self.ticking: asyncio.TimerHandle | None = None
        self._late: set[Any] = set()

    def attach_loop(self) -> bool:
        """Return True if this watcher's event loop runs in the current thread.

        `asyncio.get_running_loop` is a system call until Python 3.12: this check is not.
        """
        return self.thread == get_ident() and self.loop.is_running()

    def add(self, reply: Watched) -> None:
        """Add the reply of a request that may become slow."""
        self._young.add(reply)
        if self._sweeper is None:
            self._sweeper = self.loop.call_later(SWEEP_S, self._sweep)

    def discard(self, reply: Watched) -> None:
        """Remove the reply of a request that has ended."""
        young = self._young
        if reply in young:
            young.discard(reply)
        else:
            self._old.discard(reply)
            self.long.discard(reply)

    # --- body timeouts ---

    def tick(self) -> None:
        """Start the timer that enforces the body timeout on the tasks in `reading`."""
        self.ticking = self.loop.call_later(self._body_timeout_s, self._check_readers)

    def has_read(self, task: Any) -> None:
        """Mark a body as read or lost; only needed while `reading_long` has tasks."""
        self.reading_long.discard(task)

    def was_late(self, task: Any) -> bool:
        """Return True if a task was cancelled by the body timeout.

        The cancellation is then taken back (`Task.uncancel`).
        """
        if task not in self._late:
            return False
        task.uncancel()
        return True

    def _check_readers(self) -> None:
        # A task that was already reading at the last check has had one to two timeouts.
        self._late, self.reading_long, self.reading = self.reading_long, self.reading, set()
        self.ticking = None
        if self.reading_long:
            self.tick()
        for task in self._late:
            task.cancel()

    # --- slow answers ---

    def _sweep(self) -> None:
        # A reply that the last sweep found has been open for one to two intervals.
        found, self._old, self._young = self._old, self._young, set()
        self._sweeper = self.loop.call_later(SWEEP_S, self._sweep) if self._old else None
        now_s = self.loop.time()
        for reply in found:
            reply.watch(now_s)
        self.long |= found
        if self.long and self._checker is None:
            self._checker = self.loop.call_later(self._every_s, self._check)

    def _check(self) -> None:
        # One timer for all: a handle per stream would double the memory of a silent stream.
        now_s = self.loop.time()
        for reply in self.long:
            if now_s >= reply.due_s:
                reply.check(now_s)
        again = self.loop.call_later(self._every_s, self._check) if self.long else None
        self._checker = again
