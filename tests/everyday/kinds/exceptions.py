"""The cells of the table that cannot be, each with the reason that its error gives."""

from __future__ import annotations

from collections.abc import Mapping

from tests.everyday.kinds.kinds import KINDS

__all__ = ["NO_FORM", "NO_TYPE"]

_MIXED = "the values of an enum are all texts, or all integers"
_UNION = "stands in no union but with None"
_FIELD = "a field of a form is str, int, float, bool"
_FORM = "a form is"

NO_TYPE: Mapping[str, str] = {
    "mixed Enum": _MIXED,
    "union of a path and a number": _UNION,
    "union of a model and a Struct": _UNION,
}
"""Types that can be no argument and no result: the end or a part of the message, by kind."""

_NO_FIELD = (
    *("pydantic root model", "dataclass of a model", "Struct of a model", "bytes"),
    *("NamedTuple", "NamedTuple or None", "list of date", "list of path"),
    *("union of a date and a number", "list of NamedTuple"),
)
_OBJECTS_IN_LISTS = [
    name
    for name, kind in KINDS.items()
    if name.startswith("list of ") and isinstance(kind.json[0], dict)
]
_NO_CLASS = [
    name for name, kind in KINDS.items() if isinstance(kind.json, dict) and " or None" in name
]

NO_FORM: Mapping[str, str] = {
    **NO_TYPE,
    **dict.fromkeys((*_NO_FIELD, *_OBJECTS_IN_LISTS), _FIELD),
    **dict.fromkeys(_NO_CLASS, _FORM),
    **{name: _FORM for name in KINDS if name.startswith("dict of ")},
    "IntEnum": "what a form lets choose from are texts",
    "union of tagged Structs": _FORM,
    "union of models": "this is no form",
    "union of a model and a number": "this is no form",
    "union of a path and a number": "this is no form",
    "union of a model and a Struct": "this is no form",
    "mixed Enum": "this is no form",
}
"""Types that no form holds: forms of the protocol are flat, and choices are texts."""
