"""Messages between a process and its schema worker: length-prefixed JSON over a pipe."""

from __future__ import annotations

import os
import struct
from typing import Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct

__all__ = [
    "MAX_MESSAGE",
    "MAX_REQUEST_BYTES",
    "NOTHING",
    "TOO_MUCH_MEMORY",
    "CheckReply",
    "CheckRequest",
    "PipeClosed",
    "read_message",
    "shorten",
    "write_message",
]

MAX_MESSAGE = 250
"""Most characters of a message about a value: its keys may be of any length."""
MAX_REQUEST_BYTES = 64 * 1024 * 1024
"""Longest request: schema and value."""
_MAX_REPLY_BYTES = 64 * 1024
_LENGTH = struct.Struct(">I")
_PIECE = 1024 * 1024

NOTHING = Raw(b"null")
"""In place of a schema that the worker may know: null is no schema."""

TOO_MUCH_MEMORY = "the schema takes too much memory to check"

Outcome: TypeAlias = Literal["ready", "valid", "invalid", "why", "unknown", "bad_schema", "failed"]


class PipeClosed(Exception):
    """The other end has closed the pipe, or sent what is no message."""


class CheckRequest(Struct):
    """One check.

    Attributes:
        key: Digest of the schema; the worker keeps compiled schemas by it.
        value: The value, as JSON.
        timeout_s: Seconds after which the worker ends itself, if nobody else has ended it.
        schema: The schema, as JSON; NOTHING if the worker may know it.
    """

    key: str
    value: Raw
    timeout_s: float
    schema: Raw = NOTHING


class CheckReply(Struct):
    """Reply of the worker.

    Attributes:
        outcome: `ready` once, after the start; then `valid`, `invalid` and after it `why`, `why`
            alone, `unknown` (send the schema), `bad_schema`, or `failed`.
        message: Error text of `why`, `bad_schema` and `failed`.
        where: Path to the part of the value that `why` is about, without the root.
    """

    outcome: Outcome
    message: str = ""
    where: str = ""


def write_message(pipe: int, message: Struct) -> None:
    """Write one message to a file descriptor.

    Raises:
        OSError: The other end is closed.
    """
    text = msgspec.json.encode(message)
    left = memoryview(_LENGTH.pack(len(text)) + text)
    while left:
        left = left[os.write(pipe, left[:_PIECE]) :]


def read_message(pipe: int, limit: int = _MAX_REPLY_BYTES) -> bytes:
    """Read one message from a file descriptor.

    Args:
        pipe: The file descriptor.
        limit: Longest message, in bytes.

    Raises:
        PipeClosed: The end of the pipe, or a message that is too long.
        OSError: The pipe cannot be read.
    """
    (length,) = _LENGTH.unpack(_read_exactly(pipe, _LENGTH.size))
    if length > limit:
        raise PipeClosed
    return _read_exactly(pipe, length)


def _read_exactly(pipe: int, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        piece = os.read(pipe, min(length - len(found), _PIECE))
        if not piece:
            raise PipeClosed
        found += piece
    return bytes(found)


def shorten(text: str) -> str:
    """Return a text cut to MAX_MESSAGE characters."""
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}..."
