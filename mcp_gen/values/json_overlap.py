"""Detects ambiguous unions: types that have the same JSON representation."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from collections import abc
from collections.abc import Iterable, Iterator
from types import NoneType
from typing import Any, Literal, cast, get_args, get_origin, is_typeddict

from msgspec import Struct

from mcp_gen.values.custom_types import is_path_type

__all__ = ["ARRAYS", "OBJECTS", "STRINGS", "is_ambiguous_union", "is_named_tuple"]

STRINGS = {
    str,
    bytes,
    bytearray,
    memoryview,
    datetime.datetime,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
}
"""Types that JSON represents as strings."""
ARRAYS = frozenset(
    {
        list,
        set,
        frozenset,
        tuple,
        abc.Sequence,
        abc.MutableSequence,
        abc.Collection,
        abc.Set,
        abc.MutableSet,
    }
)
"""Types that JSON represents as arrays."""
OBJECTS = frozenset({dict, abc.Mapping, abc.MutableMapping})
"""Types that JSON represents as objects, besides classes with fields."""


class _JsonShape(Struct, frozen=True):
    """JSON representation of a type."""

    shape: Literal["text", "integer", "array", "object"]
    type_: object
    """The type itself, or `Literal` for all literals."""
    tag: object = None
    """Tag that distinguishes a Struct from other Structs."""


def is_ambiguous_union(kinds: Iterable[Any]) -> bool:
    """Return True if two of these types cannot be distinguished by their JSON.

    Source: https://jcristharif.com/msgspec/supported-types.html#union-optional
    """
    shapes: dict[str, list[_JsonShape]] = {}
    for kind in kinds:
        for candidate in _json_shapes(kind):
            shapes.setdefault(candidate.shape, []).append(candidate)
    return not all(map(_are_distinct, shapes.values()))


def _are_distinct(candidates: list[_JsonShape]) -> bool:
    types = {candidate.type_ for candidate in candidates}
    if len(candidates) == 1 or types <= {str, Literal} or types <= {int, Literal}:
        return True
    tags = [candidate.tag for candidate in candidates]
    return None not in tags and len(set(tags)) == len(tags) and len(set(map(type, tags))) == 1


def _json_shapes(kind: Any) -> Iterator[_JsonShape]:
    origin = get_origin(kind) or kind
    if origin is Literal:
        for value in get_args(kind):
            if type(value) is str or type(value) is int:
                yield _JsonShape("text" if type(value) is str else "integer", Literal)
    elif origin in STRINGS:
        yield _JsonShape("text", origin)
    elif origin is int:
        yield _JsonShape("integer", int)
    elif origin in ARRAYS:
        yield _JsonShape("array", origin)
    elif origin in OBJECTS or is_typeddict(origin):
        yield _JsonShape("object", origin)
    elif isinstance(origin, type):
        yield from _class_shapes(cast("type[Any]", origin))


def _class_shapes(kind: type[Any]) -> Iterator[_JsonShape]:
    if issubclass(kind, enum.Enum):
        yield _JsonShape("text" if isinstance(next(iter(kind)).value, str) else "integer", kind)
    elif issubclass(kind, Struct):
        config = kind.__struct_config__
        yield _JsonShape("array" if config.array_like else "object", kind, config.tag)
    elif is_named_tuple(kind):
        yield _JsonShape("array", kind)
    elif is_path_type(kind):
        yield _JsonShape("text", kind)
    elif kind not in (bool, float, NoneType):
        yield _JsonShape("object", kind)


def is_named_tuple(kind: type[Any]) -> bool:
    """Return True if the class is a NamedTuple."""
    return issubclass(kind, tuple) and hasattr(cast("Any", kind), "_fields")
