"""The intermediate model of one revision, independent of JSON Schema and Python text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from codegen.model.shapes import Absent as Absent
from codegen.model.shapes import Bound as Bound
from codegen.model.shapes import Choice as Choice
from codegen.model.shapes import Field as Field
from codegen.model.shapes import ListOf as ListOf
from codegen.model.shapes import MapOf as MapOf
from codegen.model.shapes import OneOf as OneOf
from codegen.model.shapes import Ref as Ref
from codegen.model.shapes import Scalar as Scalar
from codegen.model.shapes import Struct as Struct
from codegen.model.shapes import Tag as Tag
from codegen.model.shapes import Type as Type
from codegen.model.shapes import arm_names as arm_names
from codegen.model.shapes import mentions as mentions
from codegen.schema.json_values import is_array, is_object

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


def holds_integers(type_: Type) -> bool:
    """Return True if a type has integers, alone, as constants, or inside of it."""
    match type_:
        case Choice(values):
            return any(isinstance(one, int) and not isinstance(one, bool) for one in values)
        case ListOf(inner) | MapOf(inner):
            return holds_integers(inner)
        case OneOf(arms):
            return any(map(holds_integers, arms))
        case _:
            return type_ == Scalar("int")
