"""Which types look alike as JSON: only those that do not can stand in one union."""

from __future__ import annotations

import datetime
import decimal
import enum
import uuid
from collections import abc
from collections.abc import Iterable, Iterator
from types import NoneType
from typing import Any, Literal, NamedTuple, cast, get_args, get_origin, is_typeddict

from msgspec import Struct

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
"""Types that JSON writes as texts."""
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
OBJECTS = frozenset({dict, abc.Mapping, abc.MutableMapping})


class _Look(NamedTuple):
    """What a type looks like on the wire, and what it is."""

    shape: Literal["text", "integer", "array", "object"]
    what: object
    tag: object = None
    """What tells a Struct from others."""


def is_ambiguous_union(kinds: Iterable[Any]) -> bool:
    """Whether two of these types cannot be told apart by what is on the wire.

    Source: https://jcristharif.com/msgspec/supported-types.html#union-optional
    """
    shapes: dict[str, list[_Look]] = {}
    for kind in kinds:
        for look in _looks(kind):
            shapes.setdefault(look.shape, []).append(look)
    return not all(map(_told_apart, shapes.values()))


def _told_apart(looks: list[_Look]) -> bool:
    whats = {look.what for look in looks}
    if len(looks) == 1 or whats <= {str, Literal} or whats <= {int, Literal}:
        return True
    tags = [look.tag for look in looks]
    return None not in tags and len(set(tags)) == len(tags) and len(set(map(type, tags))) == 1


def _looks(kind: Any) -> Iterator[_Look]:
    origin = get_origin(kind) or kind
    if origin is Literal:
        for value in get_args(kind):
            if type(value) is str or type(value) is int:
                yield _Look("text" if type(value) is str else "integer", Literal)
    elif origin in STRINGS:
        yield _Look("text", origin)
    elif origin is int:
        yield _Look("integer", int)
    elif origin in ARRAYS:
        yield _Look("array", origin)
    elif origin in OBJECTS or is_typeddict(origin):
        yield _Look("object", origin)
    elif isinstance(origin, type):
        yield from _class_looks(cast("type[Any]", origin))


def _class_looks(kind: type[Any]) -> Iterator[_Look]:
    if issubclass(kind, enum.Enum):
        yield _Look("text" if isinstance(next(iter(kind)).value, str) else "integer", kind)
    elif issubclass(kind, Struct):
        config = kind.__struct_config__
        yield _Look("array" if config.array_like else "object", kind, config.tag)
    elif is_named_tuple(kind):
        yield _Look("array", kind)
    elif kind not in (bool, float, NoneType):
        yield _Look("object", kind)


def is_named_tuple(kind: type[Any]) -> bool:
    """Whether it is a NamedTuple."""
    return issubclass(kind, tuple) and hasattr(cast("Any", kind), "_fields")
