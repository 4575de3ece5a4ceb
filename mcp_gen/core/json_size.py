"""Measures how many values a JSON text has, and how deep they are nested, without decoding it."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["has_more_values", "is_balanced", "is_deeper"]

_MARKS = b",[]{}"
_NO_MARKS = bytes(set(range(256)) - set(_MARKS))
_NO_MARKS_OR_QUOTES = bytes(set(_NO_MARKS) - set(b'"'))
_STEPS = [(byte in b"[{") - (byte in b"]}") for byte in range(256)]
"""Change of the depth at each byte outside of strings."""
_PART_BYTES = 256 * 1024
"""Bytes that are looked at together: few enough to stay in the cache of a processor."""
_LONG_STRING_BYTES = 64
"""Bytes for each quote from which a text is divided at its quotes as it is."""


def has_more_values(text: bytes, limit: int) -> bool:
    """Return True if a JSON text has more than `limit` keys and items.

    An array or object counts with all it holds; an empty one as if it held one value. The time is
    linear in the size of the text, a few nanoseconds for each byte, whatever it holds.

    Args:
        text: Valid JSON in UTF-8.
        limit: The most keys and items.
    """
    # Those in strings count here, so this is an upper bound.
    if text.count(b",") + text.count(b"[") + text.count(b"{") <= limit:
        return False
    count = 0
    for marks in _marks_outside_of_strings(text):
        count += len(marks) - marks.count(b"]") - marks.count(b"}")
        if count > limit:
            return True
    return False


def is_deeper(text: bytes, limit: int) -> bool:
    """Return True if the arrays and objects of a JSON text are nested deeper than `limit`.

    Args:
        text: Valid JSON in UTF-8.
        limit: The greatest depth; that of an array of numbers is 1.
    """
    if text.count(b"[") + text.count(b"{") <= limit:
        return False
    depth = 0
    for marks in _marks_outside_of_strings(text):
        # At least the last depth of the part before: there may be no mark in this one.
        depths = list(accumulate(map(_STEPS.__getitem__, marks), initial=depth))
        if max(depths) > limit:
            return True
        depth = depths[-1]
    return False


def is_balanced(text: bytes) -> bool:
    """Return True if outside of strings a text has as many closing brackets as opening ones."""
    depth = 0
    for marks in _marks_outside_of_strings(text):
        depth += marks.count(b"[") + marks.count(b"{") - marks.count(b"]") - marks.count(b"}")
    return depth == 0


def _marks_outside_of_strings(text: bytes) -> Iterator[bytes]:
    """Yield the commas and brackets outside of strings, in parts."""
    at = in_string = 0
    while at < len(text):
        part = text[at : at + _PART_BYTES]
        if b"\\" in part:
            if (len(part) - len(part.rstrip(b"\\"))) % 2:
                part = text[at : at + _PART_BYTES + 1]  # never half of an escape
            at += len(part)
            part = part.replace(b"\\\\", b"").replace(b'\\"', b"")
        else:
            at += len(part)
        quotes = part.count(b'"')
        if quotes * _LONG_STRING_BYTES > len(part):
            # Two quotes side by side change nothing for what follows. Without them there are no
            # more pieces than marks outside of strings, which a limit bounds, and those in a part.
            part = part.translate(None, _NO_MARKS_OR_QUOTES).replace(b'""', b"")
        yield b"".join(part.split(b'"')[in_string::2]).translate(None, _NO_MARKS)
        in_string ^= quotes % 2
