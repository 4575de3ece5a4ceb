"""Which requests have been open for a while: found by one timer, so that short ones cost nothing.

Only then is anything done that takes a task or time: to notice that a client hangs up, to begin a
stream for a slow answer, to keep a silent one alive.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_gen.transports.http_reply import HttpReply

__all__ = ["Watch"]

SWEEP_S = 0.05
"""A request has been open for a while if two sweeps have found it."""
LOOK_S = 1.0
"""How often those are looked at, at least."""


class Watch:
    """The open requests of one app in one event loop."""

    __slots__ = (
        "_body_timeout_s",
        "_every_s",
        "_late",
        "_looker",
        "_old",
        "_reader",
        "_reading",
        "_reading_long",
        "_sweeper",
        "_young",
        "keep_alive_s",
        "lasting",
        "long",
        "loop",
        "sse_after_s",
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
        self.sse_after_s = sse_after_s
        self.keep_alive_s = keep_alive_s
        self.lasting: set[HttpReply] = set()
        """Replies that are open for as long as their client wants."""
        self.long: set[HttpReply] = set()
        """Replies that have been open for a while."""
        self._young: set[HttpReply] = set()
        self._old: set[HttpReply] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._looker: asyncio.TimerHandle | None = None
        self._every_s = min(LOOK_S, sse_after_s / 4, keep_alive_s / 4)
        self._body_timeout_s = body_timeout_s
        self._reading: set[Any] = set()
        self._reading_long: set[Any] = set()
        self._late: set[Any] = set()
        self._reader: asyncio.TimerHandle | None = None

    def add(self, reply: HttpReply) -> None:
        """A request that may take a while."""
        self._young.add(reply)
        if self._sweeper is None:
            self._sweeper = self.loop.call_later(SWEEP_S, self._sweep)

    def discard(self, reply: HttpReply) -> None:
        """The request is over."""
        self._young.discard(reply)
        self._old.discard(reply)
        self.long.discard(reply)

    # --- messages that are still coming ---

    def reads(self) -> Any:
        """The current task begins to read a message, and is cancelled if that takes too long."""
        task = asyncio.current_task(self.loop)
        self._reading.add(task)
        if self._reader is None:
            self._reader = self.loop.call_later(self._body_timeout_s, self._look_at_readers)
        return task

    def has_read(self, task: Any) -> None:
        """The message has come, or will not."""
        self._reading.discard(task)
        if self._reading_long:
            self._reading_long.discard(task)
        if self._late:
            self._late.discard(task)

    def was_late(self, task: Any) -> bool:
        """Whether a task that was cancelled was so for this: then it is cancelled no longer."""
        if task not in self._late:
            return False
        task.uncancel()
        return True

    def _look_at_readers(self) -> None:
        # What was there at the last look too has had its time, or almost twice that.
        late, self._reading_long, self._reading = self._reading_long, self._reading, set()
        self._reader = None
        if self._reading_long:
            self._reader = self.loop.call_later(self._body_timeout_s, self._look_at_readers)
        self._late |= late
        for task in late:
            task.cancel()

    # --- answers that take their time ---

    def _sweep(self) -> None:
        # What was there at the last sweep too has been open for one interval, or almost two.
        found, self._old, self._young = self._old, self._young, set()
        self._sweeper = self.loop.call_later(SWEEP_S, self._sweep) if self._old else None
        now_s = self.loop.time()
        for reply in found:
            reply.watch(now_s)
        self.long |= found
        if self.long and self._looker is None:
            self._looker = self.loop.call_later(self._every_s, self._look)

    def _look(self) -> None:
        # One timer for all: a handle for each would weigh as much as the rest of a silent stream.
        now_s = self.loop.time()
        for reply in self.long:
            if now_s >= reply.due_s:
                reply.look(now_s)
        again = self.loop.call_later(self._every_s, self._look) if self.long else None
        self._looker = again
