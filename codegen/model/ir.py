"""The intermediate model of one revision, independent of JSON Schema and Python text."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from codegen.schema.json_values import is_array, is_object


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


Strategy: TypeAlias = Literal["scalar", "alias", "tag", "pick", "typing"]


@dataclass(frozen=True)
class PickArm:
    """One arm of an untagged union, with the conditions on keys that select it."""

    type: str
    when: tuple[str, ...]
    optional: frozenset[str] = frozenset()
    """Keys that the arm may lack: null is read as absent there, so it selects nothing."""


@dataclass(frozen=True)
class Alias:
    name: str
    type: Type
    strategy: Strategy
    marker: str = ""
    arms: tuple[PickArm, ...] = ()
    keeps_unknown: bool = False
    deprecated: str = ""
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True)
class Section:
    title: str
    structs: tuple[Struct, ...]


@dataclass(frozen=True)
class Enum:
    """The constants of an enum: the name of the tuple of all values, and one of each text."""

    name: str
    values_name: str
    values: tuple[str | int | bool, ...]
    constants: tuple[tuple[str, str], ...]


Kind: TypeAlias = Literal["request", "notification"]
Direction: TypeAlias = Literal["client_to_server", "server_to_client", "both", "embedded"]


@dataclass(frozen=True)
class Method:
    wire: str
    name: str
    """The Python name of the call, from the definition: `CallToolRequest` is `call_tool`."""
    kind: Kind
    direction: Direction
    message: str
    params: str
    params_required: bool
    results: tuple[str, ...]
    capability: str = ""
    deprecated: str = ""

    @property
    def from_client(self) -> bool:
        return self.direction in ("client_to_server", "both")

    @property
    def from_server(self) -> bool:
        return self.direction in ("server_to_client", "both")


@dataclass(frozen=True)
class Fact:
    name: str
    value: str | int | bool | dict[str, str] | None
    source: str


@dataclass(frozen=True)
class ErrorCode:
    name: str
    code: int
    source: str
    http_status: int | None = None


@dataclass(frozen=True)
class Revision:
    name: str
    module: str
    source: str
    sha256: str
    spec: str
    sections: tuple[Section, ...]
    scalars: tuple[Alias, ...]
    unions: tuple[Alias, ...]
    methods: tuple[Method, ...]
    enums: tuple[Enum, ...]
    facts: tuple[Fact, ...]
    errors: tuple[ErrorCode, ...]
    normalized: dict[str, Any]
    """The definitions this was read from, normalised: the pydantic models are made from them."""
    structs: dict[str, Struct]
    aliases: dict[str, Alias]
    pages: dict[str, str]
    """For every struct and alias, the page of the specification that speaks of it."""
    refers: dict[str, tuple[str, ...]]
    """For every published definition those that it refers to, before any normalising."""


_HELD: Mapping[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "number": (int, float),
    "bool": bool,
    "null": type(None),
}


def holds(type_: Type, value: Any, named: Mapping[str, Type]) -> bool:
    """Return True if a type has a JSON value, without the objects of structs.

    Args:
        type_: The type.
        value: A value as TOML has it.
        named: The types of aliases; any other name is a struct's.
    """
    match type_:
        case Scalar("any"):
            return True
        case Scalar(name):
            return isinstance(value, _HELD[name]) and isinstance(value, bool) == (name == "bool")
        case Choice(values):
            return any(value == one and type(value) is type(one) for one in values)
        case ListOf(item):
            return is_array(value) and all(holds(item, one, named) for one in value)
        case MapOf(inner):
            return is_object(value) and all(holds(inner, one, named) for one in value.values())
        case OneOf(arms):
            return any(holds(arm, value, named) for arm in arms)
        case Ref(name):
            return name in named and holds(named[name], value, named)
