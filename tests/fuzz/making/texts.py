"""Values as JSON texts, with what no encoder would write; and changes of the bytes."""

from __future__ import annotations

import json
from random import Random
from typing import Any

__all__ = ["LITERALS", "as_json", "bent"]

DEPTH = 3000

LITERALS: dict[str, bytes] = {
    "@1e999@": b"1e999",
    "@-1e999@": b"-1e999",
    "@10^400@": b"1" + b"0" * 400,
    "@10^5000@": b"1" + b"0" * 5000,
    "@2^64@": b"18446744073709551616",
    "@1.0@": b"1.0",
    "@-0@": b"-0",
    "@1E2@": b"1E2",
    "@0.1e-400@": b"0.1e-400",
    "@surrogate@": rb'"\ud800"',
    "@pair@": rb'"\ud83d\ude00"',
    "@escaped@": rb'"\u0000\u001f\/"',
    "@deep@": b"[" * DEPTH + b"]" * DEPTH,
    "@deeper@": b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
    "@NaN@": b"NaN",
    "@-Infinity@": b"-Infinity",
}
"""Placeholders in values, and what is written for them."""

_BYTES = (b"\x00", b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\x1b", b"\xf4\x90\x80\x80", b"\x7f")


def as_json(value: Any, random: Random) -> bytes:
    """Return the JSON text of a value, with placeholders written out."""
    text = json.dumps(
        value,
        ensure_ascii=random.random() < 0.5,
        separators=(",", ":") if random.random() < 0.9 else (" , ", " : "),
    ).encode("utf-8", "surrogatepass")
    if b'"@' in text:
        for name, literal in LITERALS.items():
            text = text.replace(b'"%b"' % name.encode(), literal)
    return text


def bent(data: bytes, random: Random) -> bytes:
    """Return the bytes with one change or two that a broken or hostile sender could make."""
    for _ in range(1 if random.random() < 0.7 else 2):
        at = random.randrange(len(data) + 1)
        match random.randrange(9):
            case 0:
                data = data[:at]
            case 1:
                data = data[at:]
            case 2 if data:
                at = min(at, len(data) - 1)
                data = data[:at] + bytes([data[at] ^ (1 << random.randrange(8))]) + data[at + 1 :]
            case 3:
                data = data[:at] + random.choice(_BYTES) + data[at:]
            case 4:
                data = random.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\x00")) + data
            case 5:
                data = data + random.choice((b"}", b"]", b",", b"{}", b" x", b"\x00", data))
            case 6:
                data = data.replace(b'"', b"'") if random.random() < 0.1 else data[::-1]
            case 7:
                end = min(len(data), at + random.randrange(20))
                data = data[:at] + data[end:]
            case _:
                data = data[:at] + bytes(random.randrange(256) for _ in range(4)) + data[at:]
    return data
