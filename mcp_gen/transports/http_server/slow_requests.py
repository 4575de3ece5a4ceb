"""Which requests have been open for a while: found by one timer, so that short ones cost nothing.

Only then is anything done that takes a task or time: to notice that a client hangs up, to begin a
stream for a slow answer, to keep a silent one alive.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import asyncio

__all__ = ["SlowRequestWatcher", "Watched"]

SWEEP_S = 0.05
"""A request has been open for a while if two sweeps have found it."""
LOOK_S = 1.0
"""How often those are looked at, at least."""


class Watched(Protocol):
    """The reply to an open request, as the sweep timer sees it."""

    due_s: float
    """When to call `look` next, by the clock of the event loop."""

    def watch(self, now_s: float) -> None:
        """Begin to watch for a disconnect: the request has been open for a while."""
        ...

    def check(self, now_s: float) -> None:
        """Begin the stream of a slow answer, or send a heartbeat."""
        ...

    def interrupt(self) -> None:
        """End a reply that stays open as long as its client wants."""
        ...


class SlowRequestWatcher:
    """The open requests of one app in one event loop."""

    __slots__ = (
        "_body_timeout_s",
        "_every_s",
        "_late",
        "_looker",
        "_old",
        "keep_alive_s",
        "lasting",
        "long",
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
        """Where the loop ran when it was last asked for."""
        self.sse_after_s = sse_after_s
        self.keep_alive_s = keep_alive_s
        self.lasting: set[Watched] = set()
        """Replies that are open for as long as their client wants."""
        self.long: set[Watched] = set()
        """Replies that have been open for a while."""
        self.young: set[Watched] = set()
        """Replies that no sweep has found yet; call `sweep_later` where there is no `sweeper`."""
        self._old: set[Watched] = set()
        self.sweeper: asyncio.TimerHandle | None = None
        self._looker: asyncio.TimerHandle | None = None
        self._every_s = min(LOOK_S, sse_after_s / 4, keep_alive_s / 4)
        self._body_timeout_s = body_timeout_s
        self.reading: set[Any] = set()
        """The tasks that read a message; cancelled if that takes too long."""
        self.reading_long: set[Any] = set()
        """Those that did so already when they were last looked at."""
        self.ticking: asyncio.TimerHandle | None = None
        self._late: set[Any] = set()

    # --- messages that are still coming ---

    def tick(self) -> None:
        """Begin to look after those who read: whoever is in `reading`, and stays there."""
        self.ticking = self.loop.call_later(self._body_timeout_s, self._check_readers)

    def has_read(self, task: Any) -> None:
        """The message has come, or will not; only needed while any is in `reading_long`."""
        self.reading_long.discard(task)

    def was_late(self, task: Any) -> bool:
        """Whether a task that was cancelled was so for this: then it is cancelled no longer."""
        if task not in self._late:
            return False
        task.uncancel()
        return True

    def _check_readers(self) -> None:
        # What was there at the last look too has had its time, or almost twice that.
        self._late, self.reading_long, self.reading = self.reading_long, self.reading, set()
        self.ticking = None
        if self.reading_long:
            self.tick()
        for task in self._late:
            task.cancel()

    # --- answers that take their time ---

    def sweep_later(self) -> None:
        """Begin to look for requests that take a while: whoever is in `young`, and stays there."""
        self.sweeper = self.loop.call_later(SWEEP_S, self._sweep)

    def discard(self, reply: Watched) -> None:
        """The request is over; only needed once a sweep has found it."""
        self._old.discard(reply)
        self.long.discard(reply)

    def _sweep(self) -> None:
        # What was there at the last sweep too has been open for one interval, or almost two.
        found, self._old, self.young = self._old, self.young, set()
        self.sweeper = None
        if self._old:
            self.sweep_later()
        now_s = self.loop.time()
        for reply in found:
            reply.watch(now_s)
        self.long |= found
        if self.long and self._looker is None:
            self._looker = self.loop.call_later(self._every_s, self._check)

    def _check(self) -> None:
        # One timer for all: a handle for each would weigh as much as the rest of a silent stream.
        now_s = self.loop.time()
        for reply in self.long:
            if now_s >= reply.due_s:
                reply.check(now_s)
        again = self.loop.call_later(self._every_s, self._check) if self.long else None
        self._looker = again
