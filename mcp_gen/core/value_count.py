"""Counts the keys and items of a JSON text without decoding it."""

from __future__ import annotations

__all__ = ["has_more_values"]

_OTHERS = bytes(set(range(256)) - set(b',[{"'))
"""All bytes that neither separate or hold values nor delimit strings."""
_PART_BYTES = 256 * 1024
"""Bytes that are looked at together: few enough to stay in the cache of a processor."""
_LONG_STRING_BYTES = 64
"""Bytes for each quote from which a text is divided at its quotes as it is."""


def has_more_values(text: bytes, limit: int) -> bool:
    """Return True if a JSON text has more than `limit` keys and items.

    An array or object counts with all it holds; an empty one as if it held one value. The time is
    linear in the size of the text, a few nanoseconds for each byte, whatever it holds.

    Args:
        text: JSON in UTF-8. For other texts the answer holds up to the first byte that is not JSON.
        limit: The most keys and items.
    """
    # Commas and brackets in strings count here, so this is an upper bound.
    if _marks(text) <= limit:
        return False
    count = at = 0
    in_string = False
    while at < len(text):
        part = text[at : at + _PART_BYTES]
        if b"\\" in part:
            if (len(part) - len(part.rstrip(b"\\"))) % 2:
                part = text[at : at + _PART_BYTES + 1]  # never half of an escape
            at += len(part)
            part = part.replace(b"\\\\", b"").replace(b'\\"', b"")
        else:
            at += len(part)
        if part.count(b'"') * _LONG_STRING_BYTES > len(part):
            # Two quotes side by side change nothing for what follows. Without them each piece has
            # a mark, so that the number of pieces outside of strings is bounded by the limit.
            pieces = part.translate(None, _OTHERS).replace(b'""', b"").split(b'"')
            count += sum(map(len, pieces[in_string::2]))
        else:
            pieces = part.split(b'"')
            count += sum(map(_marks, pieces[in_string::2]))
        if count > limit:
            return True
        if len(pieces) % 2 == 0:
            in_string = not in_string
    return False


def _marks(text: bytes) -> int:
    """Return the number of commas and opening brackets."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")
