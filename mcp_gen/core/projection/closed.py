"""The closed check of one value: every key of it is one that its revision names.

Validity alone proves little, because the published schemas are open. Maps that the protocol leaves
open come through whole, so they never differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

import mcp_wire
from mcp_wire import encode

__all__ = ["ClosedViolation", "differences", "violations"]


class ClosedViolation(NamedTuple):
    """What is wrong with a frame, and where."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def violations(
    kind: Any, data: bytes | msgspec.Raw, revision: str, path: str
) -> Iterator[ClosedViolation]:
    """Where a JSON text is no value of a wire type, or has what the type does not name."""
    try:
        # Strict, not mcp_wire.decode: a kind that the revision lacks is a violation here.
        again = encode(mcp_wire.decoder(kind).decode(data))
        given = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        yield ClosedViolation(path, f"not valid at {revision}: {error}")
        return
    for where, what in differences(given, msgspec.json.decode(again), path):
        yield ClosedViolation(where, f"{what} at {revision}")


def differences(given: Any, again: Any, path: str) -> Iterator[ClosedViolation]:
    """Where two JSON values differ. 1 and 1.0 are the same number; 1 and true differ."""
    if given.__class__ is dict and again.__class__ is dict:
        for key in given.keys() - again.keys():
            yield ClosedViolation(f"{path}.{key}", "not a key")
        for key in again.keys() - given.keys():
            yield ClosedViolation(f"{path}.{key}", "missing")
        for key in given.keys() & again.keys():
            yield from differences(given[key], again[key], f"{path}.{key}")
    elif given.__class__ is list and again.__class__ is list and len(given) == len(again):
        for i, (one, other) in enumerate(zip(given, again, strict=True)):
            yield from differences(one, other, f"{path}[{i}]")
    elif given != again or (given.__class__ is bool) != (again.__class__ is bool):
        yield ClosedViolation(path, f"{given!r} became {again!r}")
