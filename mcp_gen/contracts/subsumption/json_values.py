"""Plain JSON as data of schemas: kinds, exact numbers, keys for comparison."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypeGuard, cast, get_args

__all__ = ["KINDS", "Kind", "Unreadable", "exact", "is_array", "is_object", "key_of", "kind_of"]

Kind: TypeAlias = Literal["null", "boolean", "number", "string", "array", "object"]
"""Kinds of JSON values. An integer is a number."""
KINDS: tuple[Kind, ...] = get_args(Kind)

_KINDS_OF_CLASSES: dict[type, Kind] = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
_MAX_EXPONENT = 1_000
"""Most decimal digits of a number that is compared: exact arithmetic takes their square."""


class Unreadable(Exception):
    """Part of a schema that cannot be compared; the text says why."""


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Return True for a JSON object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Return True for a JSON array."""
    return isinstance(value, list)


def kind_of(value: Any) -> Kind:
    """Return the kind of a plain JSON value."""
    return _KINDS_OF_CLASSES[value.__class__]


def exact(value: Any) -> Fraction:
    """Return a JSON number as it is written: 0.1 is one tenth.

    Raises:
        Unreadable: it is no number, or a huge one.
    """
    if value.__class__ is int and value.bit_length() <= 4 * _MAX_EXPONENT:
        return Fraction(value)
    if value.__class__ is float and abs(value) != float("inf") and value == value:
        return Fraction(repr(value))
    raise Unreadable("a number that is too large, or none")


def key_of(value: Any) -> str:
    """Return a text that is the same for equal JSON values alone: 1 and 1.0 are equal.

    Raises:
        Unreadable: the value is nested too deeply.
    """
    try:
        return json.dumps(_with_plain_numbers(value), sort_keys=True, separators=(",", ":"))
    except (RecursionError, ValueError):
        raise Unreadable("a value that is nested too deeply, or has a huge number") from None


def _with_plain_numbers(value: Any) -> Any:
    if value.__class__ is float and value.is_integer():
        return int(value)
    if value.__class__ is list:
        return [_with_plain_numbers(one) for one in value]
    if value.__class__ is dict:
        members = cast("dict[str, Any]", value)
        return {name: _with_plain_numbers(one) for name, one in members.items()}
    return value
