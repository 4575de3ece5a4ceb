"""Types whose values are made of text: of a URI's variables, or of a prompt's arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

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
    from msgspec import inspect

    found: list[str] = []
    for arm in _arms(_info(hint)):
        if isinstance(arm, inspect.LiteralType):
            found += map(str, arm.values)
        elif isinstance(arm, inspect.EnumType):
            found += (str(member.value) for member in arm.cls)
        elif isinstance(arm, inspect.BoolType):
            found += ("true", "false")
        elif not isinstance(arm, inspect.NoneType):
            return ()
    return tuple(found)


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
