"""Refuses NaN and infinity, which JSON does not have: encoded, they would become null.

Nothing is searched unless the encoded value has a null (or a name of such a number): that costs
others next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Struct

from mcp_gen.core.errors import UsageError

__all__ = ["MAX_PATH", "check_finite", "check_plain", "find_non_finite", "members_of"]

_Place: TypeAlias = "tuple[_Place | None, str]"
"""A step of a path, behind the steps before it."""

_ATOMS = frozenset({bool, bytes, int, msgspec.Raw, str, type(None)})
MAX_PATH = 250
"""Maximum characters of a path in a message: keys may have any length."""


def check_finite(value: Any, json: bytes, what: str, path: str = "$") -> None:
    """Check that a value was encoded as it is.

    Args:
        value: The value.
        json: JSON that was made of it, and maybe of more.
        what: Beginning of the error message.
        path: JSON path of the value.

    Raises:
        UsageError: A number in it is NaN or infinite; the message ends in the path.
    """
    # One of these is what encoders write for each such number.
    if b"null" in json or b"NaN" in json or b"Infinity" in json:
        found = find_non_finite(value, path)
        if found is not None:
            where, number = found
            raise UsageError(f"{what}: JSON has no number {number} - at `{where}`")


def check_plain(value: Any, what: str, path: str = "$") -> None:
    """Check plain JSON that will be encoded.

    Args:
        value: The value; None is no number.
        what: Beginning of the error message.
        path: JSON path of the value.

    Raises:
        UsageError: A number in it is NaN or infinite; the message ends in the path.
    """
    found = find_non_finite(value, path)
    if found is not None:
        raise UsageError(f"{what}: JSON has no number {found[1]} - at `{found[0]}`")


def find_non_finite(value: Any, path: str = "$") -> tuple[str, float] | None:
    """Return the path of the first number that is NaN or infinite, and the number.

    Args:
        value: Plain JSON, or what msgspec or pydantic encode.
        path: JSON path of the value.
    """
    pending: list[tuple[_Place, Any]] = [((None, path), value)]
    while pending:
        place, one = pending.pop()
        if one.__class__ in _ATOMS:
            continue
        if isinstance(one, float):
            if not math.isfinite(one):
                return _path(place), one
        else:
            inner = [((place, step), item) for step, item in members_of(one)]
            pending += reversed(inner)
    return None


def members_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the steps to the members of an object or array, and the members.

    Args:
        value: Plain JSON, or what msgspec or pydantic encode.
    """
    if isinstance(value, Mapping):
        for key, item in cast("Any", value).items():
            yield f".{key}", item
    elif isinstance(value, (list, tuple, set, frozenset)):
        for i, item in enumerate(cast("list[Any]", value)):
            yield f"[{i}]", item
    elif isinstance(value, Struct):
        for i, field in enumerate(msgspec.structs.fields(value)):
            step = f"[{i}]" if value.__struct_config__.array_like else f".{field.encode_name}"
            yield step, getattr(value, field.name)
    elif hasattr(value, "model_dump"):
        yield "", value.model_dump(by_alias=True)
    else:
        # Dataclasses and attrs classes; anything else has no numbers in it.
        fields: Any = getattr(value, "__dataclass_fields__", None)
        names = fields or [one.name for one in getattr(value, "__attrs_attrs__", ())]
        for name in names:
            yield f".{name}", getattr(value, name)


def _path(place: _Place) -> str:
    steps: list[str] = []
    rest: _Place | None = place
    while rest is not None:
        rest, step = rest
        steps.append(step)
    whole = "".join(reversed(steps))
    return whole if len(whole) <= MAX_PATH else f"{whole[:MAX_PATH]}..."
