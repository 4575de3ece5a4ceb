"""Closed check: every key of a value is named by its revision.

Validity alone proves little, because the published schemas allow additional properties. Maps that
the protocol leaves open are decoded and encoded whole, so they never differ. Extra keys of open
types, such as capabilities, may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from mcp_gen.core.bounds import broken_bounds
from mcp_wire import encode
from mcp_wire.base import decode_strictly

__all__ = ["ClosedViolation", "differences", "violations"]


_ANY: Any = Any
_NOT_A_KEY = "not a key"
_SORTED = msgspec.json.Encoder(order="sorted")


class ClosedViolation(NamedTuple):
    """A violation found in a value.

    Args:
        path: JSON path of the violation.
        what: Description of the violation.
    """

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"

    @property
    def is_unnamed_key(self) -> bool:
        """True for a key that the type does not name: the published schema allows it."""
        return self.what.startswith(_NOT_A_KEY)


def violations(
    kind: Any, data: bytes | msgspec.Raw, revision: str, path: str
) -> Iterator[ClosedViolation]:
    """Yield the keys and values of a JSON text that a wire type does not name or allow.

    Args:
        kind: The wire type.
        data: The JSON text.
        revision: Name of the revision, used in the descriptions.
        path: JSON path of the value, prefix of all paths that are yielded.

    Returns:
        One violation if the text is not valid; else one per unnamed, missing or changed key, and
        one per broken bound.
    """
    # Imported here: a client that checks nothing does not need it.
    from mcp_wire.lenient_decoding import without_extra

    try:
        named = without_extra(kind, data)
        # Strict, not mcp_wire.decode: a kind that the revision lacks is a violation here.
        value = decode_strictly(kind, named)
        again = encode(value)
        given = decode_strictly(_ANY, named)
    except msgspec.DecodeError as error:
        yield ClosedViolation(path, f"not valid at {revision}: {error}")
        return
    taken = msgspec.json.decode(again)
    # Most values are as they were: what is written in the same way does not differ.
    if encode(given) != again and _SORTED.encode(given) != _SORTED.encode(taken):
        for where, what in differences(given, taken, path):
            yield ClosedViolation(where, f"{what} at {revision}")
    for where, what in broken_bounds(value, path):
        yield ClosedViolation(where, f"{what} at {revision}")


def differences(given: Any, again: Any, path: str) -> Iterator[ClosedViolation]:
    """Yield the differences of two JSON values. 1 and 1.0 are equal; 1 and true differ.

    Args:
        given: The received value.
        again: The value after it was decoded and encoded again.
        path: JSON path of the value, prefix of all paths that are yielded.
    """
    if given.__class__ is dict and again.__class__ is dict:
        for key in given.keys() - again.keys():
            yield ClosedViolation(f"{path}.{key}", _NOT_A_KEY)
        for key in again.keys() - given.keys():
            yield ClosedViolation(f"{path}.{key}", "missing")
        for key in given.keys() & again.keys():
            yield from differences(given[key], again[key], f"{path}.{key}")
    elif given.__class__ is list and again.__class__ is list and len(given) == len(again):
        for i, (one, other) in enumerate(zip(given, again, strict=True)):
            yield from differences(one, other, f"{path}[{i}]")
    elif given != again or (given.__class__ is bool) != (again.__class__ is bool):
        yield ClosedViolation(path, f"{given!r} became {again!r}")
