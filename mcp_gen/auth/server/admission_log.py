"""Log lines about refused requests, few whatever peers send."""

from __future__ import annotations

import logging
from collections.abc import Callable

__all__ = ["AdmissionLog"]

_log = logging.getLogger("mcp_gen.auth")

LINES = 10
"""Lines of one period."""
PERIOD_S = 60.0
MAX_REASON_CHARS = 300


class AdmissionLog:
    """Writes one line per refused request, up to a number per minute; then how many were left out.

    Args:
        clock: Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since = float("-inf")
        self._count = 0

    def refused(self, status: int, reason: str) -> None:
        """Write that a request was refused.

        Args:
            status: The HTTP status.
            reason: What was expected. Peers may have chosen parts of it: they are escaped.
        """
        self._write(logging.INFO, status, reason)

    def unavailable(self, reason: str) -> None:
        """Write that tokens cannot be verified.

        Args:
            reason: What failed. Peers may have chosen parts of it: they are escaped.
        """
        self._write(logging.WARNING, 503, reason)

    def _write(self, level: int, status: int, reason: str) -> None:
        now = self._clock()
        if not 0 <= now - self._since < PERIOD_S:
            if self._count > LINES:
                _log.info("%d further requests were refused", self._count - LINES)
            self._since, self._count = now, 0
        self._count += 1
        if self._count <= LINES:
            shown = ascii(reason[:MAX_REASON_CHARS])[1:-1]
            _log.log(level, "request refused with %d: %s", status, shown)
