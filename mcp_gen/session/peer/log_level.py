"""Levels of log messages as numbers of the module `logging`."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["LogLevel"]


class LogLevel(IntEnum):
    """Log levels of MCP, as numbers of the module `logging`, for both.

        await ctx.log(LogLevel.NOTICE, "moved")
        logging.getLogger("app").log(LogLevel.NOTICE, "moved")

    A number between two levels belongs to the lower one.
    """

    DEBUG = 10
    INFO = 20
    NOTICE = 25
    WARNING = 30
    ERROR = 40
    CRITICAL = 50
    ALERT = 60
    EMERGENCY = 70
