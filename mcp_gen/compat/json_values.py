"""JSON values of peers, which may be of any shape: reading without an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, TypeGuard

__all__ = ["Json", "entries", "is_array", "is_object", "is_same_id", "member", "objects"]

Json: TypeAlias = dict[str, Any]


def is_object(value: Any) -> TypeGuard[Json]:
    """Return True for a JSON object."""
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    """Return True for a JSON array."""
    return isinstance(value, list)


def is_same_id(one: Any, other: Any) -> bool:
    """Return True if two ids are the same: 1 and 1.0 are one number, 1 and "1" are two ids."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return isinstance(one, str) == isinstance(other, str) and one == other


def member(value: Any, *path: str) -> Any:
    """Return a member of a member of an object; None if there is none.

    Args:
        value: The object, or anything else.
        path: The names of the members, from the outside in.
    """
    for name in path:
        # What was decoded from JSON is no subclass; a call per step would cost more than the step.
        if value.__class__ is not dict:
            return None
        value = value.get(name)
    return value


def objects(value: Any) -> list[Json]:
    """Return the objects of an array; none of what is no array."""
    return [one for one in value if is_object(one)] if is_array(value) else []


def entries(message: Any) -> Sequence[Json]:
    """Return the objects of a message: the message itself, or the entries of a batch."""
    return (message,) if is_object(message) else objects(message)
