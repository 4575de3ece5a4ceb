"""Types whose values are made of text: of a URI's variables, or of a prompt's arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

__all__ = ["Choices", "choices", "made_of_text", "takes_several"]

Choices: TypeAlias = Mapping[str, Sequence[str]]
"""The values that each argument can have, by its name; none where that is open."""

_TEXTUAL = frozenset(
    f"{name}Type"
    for name in (
        *("Any", "Bool", "Bytes", "Date", "DateTime", "Decimal", "Enum", "Float", "Int"),
        *("Literal", "None", "Str", "Time", "TimeDelta", "UUID"),
    )
)
"""The kinds of types, as msgspec names them, whose values it makes of text."""


def made_of_text(hint: Any, *, several: bool = False) -> bool:
    """Whether msgspec makes values of this type from a text; of its items, if there are several."""
    info = _info(hint)
    if several:
        info = _bare(info.item_type)
    return all(type(arm).__name__ in _TEXTUAL for arm in _arms(info))


def takes_several(hint: Any) -> bool:
    """Whether this is a list, or another collection of items of one type."""
    from msgspec import inspect

    return isinstance(_info(hint), inspect.CollectionType)


def choices(hint: Any) -> tuple[str, ...]:
    """The texts that make the values of this type, where these are given: Enum, Literal, bool."""
    kind = _bare_hint(hint)
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


def _bare_hint(hint: Any) -> Any:
    """The type below `Annotated`, and below the names that were given to it."""
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
    from msgspec import inspect

    try:
        return _bare(inspect.type_info(hint))
    except TypeError:
        return None  # nothing that JSON could carry


def _arms(info: Any) -> list[Any]:
    return [_bare(arm) for arm in getattr(info, "types", (info,))]


def _bare(info: Any) -> Any:
    """Without the descriptions around it."""
    while type(info).__name__ == "Metadata":
        info = info.type
    return info
