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
CHECK_INTERVAL_S = 1.0
"""Longest interval, in seconds, between two checks of slow requests."""


class Watched(Protocol):
    """Reply to an open request, as the sweep timer sees it."""

    due_s: float
    """Time of the next `check`, by the clock of the event loop."""

    @property
    def task(self) -> asyncio.Task[None] | None:
        """Task that runs the request; None if it runs in another one than its POST's."""
        ...

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
        "keep_alive_s",
        "long",
        "long_lived",
        "loop",
        "reading",
        "reading_long",
        "sse_after_s",
        "sweeper",
        "thread",
        "ticking",
        "young",
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
        self.long_lived: set[Watched] = set()
        """Long-lived replies: they stay open until the client disconnects."""
        self.long: set[Watched] = set()
        """Replies of slow requests."""
        self.young: set[Watched] = set()
        """Replies that no sweep has found yet; call `sweep_later` where there is no `sweeper`."""
        self._old: set[Watched] = set()
        self.sweeper: asyncio.TimerHandle | None = None
        self._checker: asyncio.TimerHandle | None = None
        self._every_s = min(CHECK_INTERVAL_S, sse_after_s / 4, keep_alive_s / 4)
        self._body_timeout_s = body_timeout_s
        self.reading: set[Any] = set()
        """Tasks that read a body; they are cancelled if that takes too long."""
        self.reading_long: set[Any] = set()
        """Tasks that were already reading at the last check."""
        self.ticking: asyncio.TimerHandle | None = None
        self._late: set[Any] = set()

    # --- body timeouts ---

    def start_body_timer(self) -> None:
        """Start the timer that enforces the body timeout on the tasks in `reading`."""
        self.ticking = self.loop.call_later(self._body_timeout_s, self._check_readers)

    def body_read(self, task: Any) -> None:
        """Mark a body as read or lost; only needed while `reading_long` has tasks."""
        self.reading_long.discard(task)

    def timed_out(self, task: Any) -> bool:
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
            self.start_body_timer()
        for task in self._late:
            task.cancel()

    # --- slow answers ---

    def sweep_later(self) -> None:
        """Start the timer that finds slow requests among the replies in `young`."""
        self.sweeper = self.loop.call_later(SWEEP_S, self._sweep)

    def open(self) -> set[Watched]:
        """Return the replies to open requests."""
        return {*self.young, *self._old, *self.long}

    def discard(self, reply: Watched) -> None:
        """Remove the reply of a request that has ended, once a sweep has found it."""
        self._old.discard(reply)
        self.long.discard(reply)

    def _sweep(self) -> None:
        # A reply that the last sweep found has been open for one to two intervals.
        found, self._old, self.young = self._old, self.young, set()
        self.sweeper = None
        if self._old:
            self.sweep_later()
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
