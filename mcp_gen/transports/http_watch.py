"""Which requests have been open for a while: found by one timer, so that short ones cost nothing.

Only then is anything done that takes a task or a timer: to notice that a client hangs up, to begin
a stream for a slow answer, to keep a silent one alive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from mcp_gen.transports.http_reply import HttpReply

__all__ = ["Watch"]

SWEEP_S = 0.05


class Watch:
    """The open requests of one app in one event loop."""

    __slots__ = ("_old", "_timer", "_young", "keep_alive_s", "lasting", "loop", "sse_after_s")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *, sse_after_s: float, keep_alive_s: float
    ) -> None:
        self.loop = loop
        self.sse_after_s = sse_after_s
        self.keep_alive_s = keep_alive_s
        self.lasting: set[HttpReply] = set()
        """Replies that are open for as long as their client wants."""
        self._young: set[HttpReply] = set()
        self._old: set[HttpReply] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, reply: HttpReply) -> None:
        """A request that may take a while."""
        self._young.add(reply)
        if self._timer is None:
            self._timer = self.loop.call_later(SWEEP_S, self._sweep)

    def discard(self, reply: HttpReply) -> None:
        """The request is over."""
        self._young.discard(reply)
        self._old.discard(reply)

    def _sweep(self) -> None:
        # What was there at the last sweep too has been open for one interval, or almost two.
        found, self._old, self._young = self._old, self._young, set()
        self._timer = self.loop.call_later(SWEEP_S, self._sweep) if self._old else None
        for reply in found:
            reply.watch()
