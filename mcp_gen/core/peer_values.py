"""Values that a peer sends, within bounds: numbers, times, and texts in log lines.

Importing this module installs the bound on log lines.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from typing import Any

__all__ = ["MAX_ID_LENGTH", "MAX_S", "is_finite_number", "seconds_within", "shortened"]

MAX_ID_LENGTH = 4_096
"""Characters of the id of a message, and of a progress token; integers have less digits anyway."""
MAX_S = 366 * 86_400.0
"""Longest time that is taken from a peer, in seconds."""
SHOWN = 500
"""Characters of one value that are shown in a log line or an error text."""
_MAX_ERRORS = 100
"""Errors of a chain that are looked at for long texts."""
_GREATEST = sys.float_info.max


def seconds_within(milliseconds: float, *, least_s: float = 0.0, most_s: float = MAX_S) -> float:
    """Return milliseconds that a peer has named in seconds, at least and at most as given.

    Args:
        milliseconds: Any number; integers may have thousands of digits.
        least_s: The least seconds to return.
        most_s: The most seconds to return.
    """
    # Compared first: a large integer cannot be divided to a float.
    if milliseconds >= most_s * 1000:
        return most_s
    return least_s if milliseconds <= least_s * 1000 else milliseconds / 1000


def is_finite_number(number: float) -> bool:
    """Return True if a number is a finite float, or an integer that is no larger than one."""
    return -_GREATEST <= number <= _GREATEST


def shortened(text: str, most: int = SHOWN) -> str:
    """Return a text of a peer for a log line or an error: on one line, and not too long.

    Args:
        text: The text.
        most: The most characters of it.
    """
    if len(text) > most:
        text = f"{text[:most]}... ({len(text)} characters)"
    return text if text.isprintable() else text.encode("unicode_escape").decode()


class _ShortLines(logging.Filter):
    """Shortens the values in the log lines of this library: a peer may have chosen them."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten the values of a record; it is always logged."""
        if isinstance(record.args, tuple):
            record.args = tuple(map(_short, record.args))
        if record.exc_info and not record.exc_text and any(map(_is_long, _chain(record))):
            lines = "".join(traceback.format_exception(record.exc_info[1])).splitlines()
            record.exc_text = "\n".join(map(_cut, lines))
        return True


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return shortened(value)
    text = str(value)
    return _cut(text) if len(text) > SHOWN else value


def _cut(line: str) -> str:
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}... ({len(line)} characters)"


def _is_long(error: BaseException) -> bool:
    return len(str(error)) > SHOWN


def _chain(record: logging.LogRecord) -> Iterator[BaseException]:
    """Yield the error of a record, with its causes and those in groups."""
    error = record.exc_info[1] if record.exc_info else None
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _MAX_ERRORS:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]


for _name in ("mcp_gen.client", "mcp_gen.server"):
    logging.getLogger(_name).addFilter(_ShortLines())
