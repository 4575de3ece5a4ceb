"""Rate limiter (token bucket) of notifications and requests."""

from __future__ import annotations

import time

__all__ = ["RateLimiter"]


class RateLimiter:
    """Token bucket: allows a burst, then a steady rate.

    Args:
        per_s: Most messages per second.
        burst: Most messages at once; None for those of one second, at least one.
    """

    __slots__ = ("_at_s", "_left", "_most", "_per_s", "dropped")

    def __init__(self, per_s: float, burst: float | None = None) -> None:
        self._per_s = per_s
        self._most = self._left = max(1.0, per_s if burst is None else burst)
        self._at_s = time.monotonic()
        self.dropped = 0

    @property
    def is_full(self) -> bool:
        """True if a whole burst may be sent now."""
        return self._left + (time.monotonic() - self._at_s) * self._per_s >= self._most

    @property
    def wait_s(self) -> float:
        """Seconds until one more message may be sent; 0 if it may be sent now."""
        left = self._left + (time.monotonic() - self._at_s) * self._per_s
        return max(0.0, (1 - left) / self._per_s)

    def try_acquire(self) -> bool:
        """Return True if one more message may be sent; count a dropped one otherwise."""
        now_s = time.monotonic()
        self._left = min(self._most, self._left + (now_s - self._at_s) * self._per_s)
        self._at_s = now_s
        if self._left < 1:
            self.dropped += 1
            return False
        self._left -= 1
        return True
