"""Measures how many values a JSON text has, and how deep they are nested, without decoding it."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Excess", "excess", "is_balanced"]

Excess: TypeAlias = Literal["values", "depth"]
"""Limit that a JSON text exceeds."""

_MARKS = b",[]{}"
_NO_MARKS = bytes(set(range(256)) - set(_MARKS))
_NO_MARKS_OR_QUOTES = bytes(set(_NO_MARKS) - set(b'"'))
_STEPS = [(byte in b"[{") - (byte in b"]}") for byte in range(256)]
"""Change of the depth at each byte outside of strings."""
_PART_BYTES = 256 * 1024
"""Bytes that are looked at together: few enough to stay in the cache of a processor."""
_LONG_STRING_BYTES = 64
"""Bytes for each quote from which a text is divided at its quotes as it is."""


def excess(text: bytes, max_values: int, max_depth: int) -> Excess | None:
    """Return which limit a JSON text exceeds; None if it keeps both.

    The time is linear in the size of the text, a few nanoseconds for each byte, whatever it holds.

    Args:
        text: Valid JSON in UTF-8.
        max_values: The most keys and items. An array or object counts with all it holds; an empty
            one as if it held one value.
        max_depth: The greatest depth of arrays and objects; that of an array of numbers is 1.
    """
    # Those in strings count here, so these are upper bounds.
    may_be_deep = _up_to(text, b"[", max_depth) + _up_to(text, b"{", max_depth) > max_depth
    if not may_be_deep and (
        len(text) <= max_values
        or sum(_up_to(text, mark, max_values) for mark in (b",", b"[", b"{")) <= max_values
    ):
        return None
    count = depth = deepest = 0
    for marks in _marks_outside_of_strings(text):
        count += len(marks) - marks.count(b"]") - marks.count(b"}")
        if count > max_values:
            return "values"
        if may_be_deep:
            # At least the depth at the end of the part before: this one may have no mark.
            depths = list(accumulate(map(_STEPS.__getitem__, marks), initial=depth))
            depth, deepest = depths[-1], max(deepest, *depths)
    return "depth" if deepest > max_depth else None


def _up_to(text: bytes, mark: bytes, limit: int) -> int:
    """Return how often a byte occurs, or `limit + 1` if it does more often."""
    # `replace` looks for the next occurrence with memchr, and stops when there are enough: that is
    # up to 40 times as fast as `count`, which compares each byte.
    return len(text) - len(text.replace(mark, b"", limit + 1))


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
