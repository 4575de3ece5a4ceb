"""Fast JSON of long texts and blobs in results, base64 of any length, and the memory of both.

Long values are encoded apart from the frame of their message, which is joined from the pieces in
the end: nothing looks through them twice. The optional extra `fast` has faster encoders with the
same output, loaded with the first long value: orjson for texts, pybase64 for base64.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

__all__ = [
    "LARGE_BYTES",
    "LONG",
    "Piece",
    "base64_text",
    "decode_base64",
    "expect_large_blocks",
    "join_pieces",
    "long_field",
    "take_long_values",
]

Piece: TypeAlias = bytes | bytearray
"""The JSON of one long value, maybe without its quotes."""

LONG = 16 * 1024
"""Minimum length of a value, in characters or bytes, to be encoded apart."""
LARGE_BYTES = 64 * 1024
"""Minimum length of a message whose copies are large blocks of memory."""
_BLOCK_BYTES = 16 * 1024 * 1024
_LISTS = ("contents", "content", "messages")
"""Fields of results with what may be long; each result has one at most."""
_VALUES = ("text", "blob", "data")
"""Fields of contents and content blocks that may be long; each has one at most."""
_HOLDERS = ("resource", "content")
"""Fields of blocks and messages with contents or a block."""
_TEXTUAL = (str, bytes)
_MARK = os.urandom(16).hex().encode()
"""The place of a piece in a frame. Nobody else knows it, so nothing else in the frame is it."""
_encoder = msgspec.json.Encoder()
_PLACE, _QUOTED_PLACE = Raw(_MARK), Raw(b'"%b"' % _MARK)


# --- results ---


@cache
def long_field(kind: type[Any]) -> str:
    """Return the name of a result type's field with contents or messages; empty if none."""
    return _first_field(kind, _LISTS)


def take_long_values(result: Any, field: str) -> tuple[Any, Sequence[Piece]]:
    """Return the result with marks in place of its long values, and the JSON of these values.

    `join_pieces` puts them into the JSON of the result. A result without long values is returned
    itself, with no pieces.

    Args:
        result: The result. A blob may be `bytes`, which are encoded in base64.
        field: That of `long_field`.
    """
    items: Any = getattr(result, field)
    if items.__class__ is not list:
        return result, ()
    for item in items:
        text: Any = getattr(item, "text", None)
        if text.__class__ is not str or len(text) >= LONG:
            break
    else:
        return result, ()  # short texts and nothing else, as in most results
    pieces: list[Piece] = []
    marked = [_marked(item, pieces) for item in items]
    return (replace(result, **{field: marked}), pieces) if pieces else (result, ())


def join_pieces(frame: bytes, pieces: Sequence[Piece]) -> bytes:
    """Return the JSON of a message with all its pieces.

    Args:
        frame: JSON of the message, with the marks of `take_long_values`.
        pieces: The pieces, in their order.
    """
    first, *others = frame.split(_MARK)
    joined: list[Piece] = [first]
    for piece, other in zip(pieces, others, strict=True):
        joined += (piece, other)
    message = b"".join(joined)
    if len(message) >= LARGE_BYTES:
        expect_large_blocks()
    return message


@cache
def _value_field(kind: type[Any]) -> str:
    return _first_field(kind, _VALUES + _HOLDERS)


def _first_field(kind: type[Any], names: Sequence[str]) -> str:
    fields: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    return next((name for name in names if name in fields), "")


def _marked(item: Any, pieces: list[Piece]) -> Any:
    """Return the item with a mark in place of its long value, whose JSON is added to the pieces."""
    name = _value_field(item.__class__)
    value: Any = getattr(item, name, None)
    if name in _HOLDERS:
        place = _marked(value, pieces)
    elif value.__class__ in _TEXTUAL and len(value) >= LONG:
        place = _take(value, pieces)
    else:
        return item
    return item if place is value else replace(item, **{name: place})


def _take(value: str | bytes, pieces: list[Piece]) -> Any:
    """Add the JSON of a long value to the pieces, and return the mark for its place."""
    if isinstance(value, str):
        try:
            pieces.append(writer()(value))
        except (TypeError, ValueError):
            return value  # not encodable as JSON: the usual encoder raises the error
        return _PLACE
    fast = fast_base64()
    if fast is None:
        pieces.append(_quoted_base64(value))
        return _PLACE
    pieces.append(fast.encode(value))
    return _QUOTED_PLACE


# --- memory ---


@cache
def expect_large_blocks() -> None:
    """Let glibc keep freed memory for blocks of up to 16 MiB, 32 MiB of it at most.

    By default it gives what is freed of large blocks back to the system, and the next message pays
    for each page again: that takes longer than to write the message. glibc learns from the largest
    block that was mapped and freed. This one is never written to, so it takes no memory. Other
    allocators learn nothing.

    Source: https://man7.org/linux/man-pages/man3/mallopt.3.html
    """
    bytes(_BLOCK_BYTES)


# --- base64 ---


def base64_text(data: bytes) -> str:
    """Return bytes in base64, of the standard alphabet and with padding."""
    fast = fast_base64() if len(data) >= LONG else None
    if fast is not None:
        return fast.encode_as_text(data)
    return str(memoryview(_quoted_base64(data))[1:-1], "ascii")


def _quoted_base64(data: bytes) -> bytearray:
    """Return the JSON of bytes: by msgspec, in half the time that the standard library takes."""
    # Of the final size: the encoder's own buffer would grow to half as much again, and stay so.
    json = bytearray(4 * ((len(data) + 2) // 3) + len(b'""'))
    _encoder.encode_into(data, json)
    return json


def decode_base64(text: str) -> bytes:
    """Return the bytes of a text in base64.

    Args:
        text: Base64 of the standard alphabet with padding, and nothing else.

    Raises:
        ValueError: It is something else.
    """
    fast = fast_base64() if len(text) >= LONG else None
    try:
        return msgspec.convert(text, bytes) if fast is None else fast.decode(text)
    except (ValueError, msgspec.ValidationError):
        # One decoder decides what is valid, whichever are installed.
        return base64.b64decode(text, validate=True)


# --- the extra `fast` ---


class _Base64(Struct, frozen=True):
    """Functions of pybase64."""

    encode: Callable[[bytes], bytes]
    encode_as_text: Callable[[bytes], str]
    decode: Callable[[str], bytes]
    """Raises ValueError for what is not valid."""


@cache
def writer() -> Callable[[str], bytes]:
    """Return the encoder of one long text: that of orjson, if it is installed."""
    try:
        return cast("Callable[[str], bytes]", import_module("orjson").dumps)
    except ImportError:
        return msgspec.json.encode


@cache
def fast_base64() -> _Base64 | None:
    """Return the functions of pybase64; None if it is not installed."""
    try:
        module: Any = import_module("pybase64")
    except ImportError:
        return None
    return _Base64(
        module.b64encode, module.b64encode_as_string, partial(module.b64decode, validate=True)
    )
