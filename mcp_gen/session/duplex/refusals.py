"""Log lines about refused messages: few per second, however many a peer sends."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    import logging

__all__ = ["MAX_LINES_PER_S", "RefusalLog"]

MAX_LINES_PER_S = 10
"""Refused messages of one connection that get a log line within a second; others are counted."""


class RefusalLog:
    """Logs the refused messages of one connection.

    Args:
        log: The logger.
        loop: The event loop, whose clock counts.
    """

    def __init__(self, log: logging.Logger, loop: asyncio.AbstractEventLoop) -> None:
        self._log = log
        self._loop = loop
        self._since_s = loop.time()
        self._count = 0

    def add(self, error: Exception) -> bool:
        """Log that a message was refused, or count it; return True if it is logged."""
        now_s = self._loop.time()
        if now_s - self._since_s >= 1.0:
            self.end()
            self._since_s = now_s
        self._count += 1
        if self._count > MAX_LINES_PER_S:
            return False
        self._log.warning("refused a message: %s", error)
        return True

    def end(self) -> None:
        """Log the number of messages that were counted, and begin anew."""
        more, self._count = self._count - MAX_LINES_PER_S, 0
        if more > 0:
            self._log.warning("refused %d more messages", more)
