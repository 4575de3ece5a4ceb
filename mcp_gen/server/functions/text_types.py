"""Types that can be decoded from text: URI variables and prompt arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

__all__ = ["Choices", "choices", "is_collection", "is_text_convertible"]

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
    return all(type(arm).__name__ in _TEXT_KINDS for arm in _union_members(info))


def is_collection(hint: Any) -> bool:
    """Return True if the type is a collection of items of one type, such as a list."""
    # Loaded when used: most servers take no text arguments.
    from msgspec import inspect

    return isinstance(_info(hint), inspect.CollectionType)


def choices(hint: Any) -> tuple[str, ...]:
    """Return the possible values of an Enum, Literal or bool as strings; empty for other types."""
    kind = _underlying_type(hint)
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


def _underlying_type(hint: Any) -> Any:
    """Return the type without `Annotated`, NewType and type aliases."""
    while True:
        if get_origin(hint) is Annotated:
            hint = get_args(hint)[0]
        elif hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        else:
            return hint


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
