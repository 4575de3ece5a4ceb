"""How many messages of a kind may go to one client in a second."""

from __future__ import annotations

import time

__all__ = ["RateLimiter"]


class RateLimiter:
    """How much may still be sent: what one second allows, at the beginning."""

    __slots__ = ("_at_s", "_left", "_most", "_per_s", "dropped")

    def __init__(self, per_s: float) -> None:
        self._per_s = per_s
        self._most = self._left = max(1.0, per_s)
        self._at_s = time.monotonic()
        self.dropped = 0

    def try_acquire(self) -> bool:
        """Whether one more may be sent; counts those that may not."""
        now_s = time.monotonic()
        self._left = min(self._most, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < 1:
            self.dropped += 1
            return False
        self._left -= 1
        return True
