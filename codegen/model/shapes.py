"""Types, fields and structs, independent of JSON Schema and Python text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True)
class Scalar:
    """A JSON scalar, or `any`. `number` keeps its kind: 50 stays 50."""

    name: Literal["str", "int", "number", "bool", "null", "any"]


@dataclass(frozen=True)
class Choice:
    """One of a few literal values, in declaration order."""

    values: tuple[str | int | bool, ...]


@dataclass(frozen=True)
class ListOf:
    item: "Type"


@dataclass(frozen=True)
class MapOf:
    value: "Type"


@dataclass(frozen=True)
class Ref:
    name: str


@dataclass(frozen=True)
class OneOf:
    arms: tuple["Type", ...]


Type: TypeAlias = Scalar | Choice | ListOf | MapOf | Ref | OneOf


def mentions(type_: Type) -> Iterator[str]:
    """Yield the definitions that a type names, at any depth of lists, maps and unions."""
    match type_:
        case Ref(name):
            yield name
        case ListOf(inner) | MapOf(inner):
            yield from mentions(inner)
        case OneOf(arms):
            for arm in arms:
                yield from mentions(arm)
        case Scalar() | Choice():
            return


def arm_names(type_: Type) -> tuple[str, ...]:
    """Return the arms of a union, or the one definition that another type refers to."""
    arms = type_.arms if isinstance(type_, OneOf) else (type_,)
    return tuple(arm.name for arm in arms if isinstance(arm, Ref))


@dataclass(frozen=True)
class Bound:
    """A keyword that narrows a type, as data: decoding does not check it."""

    at: tuple[str, ...]
    """Steps from the field or alias: `items`, `values`, or the number of an arm."""
    keyword: str
    """As in JSON Schema: `minLength`, `pattern`."""
    value: str | int | float | bool


Absent: TypeAlias = Literal["refused", "none", "unset", "const", "always"]
"""Meaning of a missing value; `always` is a default that is written even so."""


@dataclass(frozen=True)
class Field:
    wire: str
    name: str
    type: Type
    absent: Absent
    default: Any = None
    deprecated: str = ""
    described_by: str = ""
    """Struct that says what is in this open map."""
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True)
class Tag:
    wire: str
    name: str
    value: str | int
    documented: bool = False


@dataclass(frozen=True)
class Struct:
    name: str
    fields: tuple[Field, ...]
    tag: Tag | None = None
    marker: str = ""
    deprecated: str = ""
    raw: tuple[str, ...] = ()
    """Fields that the dispatcher's twin of this struct leaves undecoded."""
    open: bool = False
    """True if keys that the schema does not name are kept."""
    closed: bool = False
    """True if keys that the schema does not name are refused."""
