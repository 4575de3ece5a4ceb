"""Types that can be decoded from text: URI variables and prompt arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import chain
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, is_typeddict

from mcp_gen.values.custom_types import is_path_type
from mcp_gen.values.json_overlap import ARRAYS, OBJECTS
from mcp_gen.values.json_types import bare

__all__ = ["Choices", "choices", "is_collection", "is_text_convertible", "is_written_as_json"]

Choices: TypeAlias = Mapping[str, Sequence[str]]
"""Possible values by argument name; empty if any value is possible."""

_TEXT_KINDS = frozenset(
    f"{name}Type"
    for name in (
        *("Any", "Bool", "Bytes", "Date", "DateTime", "Decimal", "Enum", "Float", "Int"),
        *("Literal", "None", "Str", "Time", "TimeDelta", "UUID"),
    )
)
"""Types, as msgspec names them, that it can convert from a string."""


def is_text_convertible(hint: Any, *, several: bool = False) -> bool:
    """Return True if msgspec can convert a string to this type.

    Args:
        hint: The annotation.
        several: Check the items of the collection instead of the type itself.
    """
    info = _info(hint)
    if several:
        info = _without_metadata(info.item_type)
    return all(map(_is_text, _union_members(info)))


def _is_text(info: Any) -> bool:
    kind = type(info).__name__
    return kind in _TEXT_KINDS or (kind == "CustomType" and is_path_type(info.cls))


def is_written_as_json(hint: Any) -> bool:
    """Return True if text may hold a value of a type that pydantic reads as a JSON object or array.

    Args:
        hint: The annotation.
    """
    kind = bare(hint)
    origin = get_origin(kind) or kind
    if origin in (Union, UnionType):
        return any(map(is_written_as_json, get_args(kind)))
    if origin in ARRAYS or origin in OBJECTS or not isinstance(origin, type):
        return origin in ARRAYS or origin in OBJECTS
    fields: Any = getattr(origin, "model_fields", None)
    if fields is not None and fields.keys() == {"root"}:
        return is_written_as_json(fields["root"].annotation)
    return fields is not None or hasattr(origin, "__dataclass_fields__") or is_typeddict(origin)


def is_collection(hint: Any) -> bool:
    """Return True if the type is a collection of items of one type, such as a list."""
    # Loaded when used: most servers take no text arguments.
    from msgspec import inspect

    return isinstance(_info(hint), inspect.CollectionType)


def choices(hint: Any) -> tuple[str, ...]:
    """Return the possible values of an Enum, Literal or bool as strings; empty for other types."""
    kind = bare(hint)
    origin = get_origin(kind)
    if origin is Literal:
        return tuple(_text(value) for value in get_args(kind) if value is not None)
    if origin in (Union, UnionType):
        arms = [choices(arm) for arm in get_args(kind) if arm is not NoneType]
        return tuple(dict.fromkeys(chain(*arms))) if all(arms) else ()
    if kind is bool:
        return ("true", "false")
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(_text(member.value) for member in kind)
    return ()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _info(hint: Any) -> Any:
    # Loaded when used: most servers take no text arguments.
    from msgspec import inspect

    try:
        return _without_metadata(inspect.type_info(hint))
    except TypeError:
        return None  # not JSON-serializable


def _union_members(info: Any) -> list[Any]:
    return [_without_metadata(arm) for arm in getattr(info, "types", (info,))]


def _without_metadata(info: Any) -> Any:
    """Return the type info without metadata."""
    while type(info).__name__ == "Metadata":
        info = info.type
    return info
