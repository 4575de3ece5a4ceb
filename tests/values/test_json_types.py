"""Types that JSON carries: annotations alone lead to the same answer as msgspec."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import ipaddress
import pathlib
import typing
import uuid
from collections import abc
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import attrs
import msgspec
import pydantic
import pytest
import typing_extensions
from msgspec import Meta

from mcp_gen.values.json_types import (
    JsonTypeReader,
    NotJsonType,
    bare,
    cached_by_hint,
    json_reader_for,
)


class Colour(enum.Enum):
    RED = "red"


class Size(enum.IntEnum):
    BIG = 1


class Mixed(enum.Enum):
    A = "a"
    B = 1


class Halves(enum.Enum):
    A = 0.5


class Nothing(enum.Enum):
    pass


class One(msgspec.Struct):
    x: int


class Other(msgspec.Struct):
    y: int


class TaggedOne(msgspec.Struct, tag=True):
    x: int


class TaggedOther(msgspec.Struct, tag=True):
    x: int


class Numbered(msgspec.Struct, tag=1):
    x: int


class Row(msgspec.Struct, array_like=True):
    x: int


@dataclasses.dataclass
class Data:
    x: int


@dataclasses.dataclass
class OtherData:
    y: int


@dataclasses.dataclass
class Tree:
    children: list[Tree]


@attrs.define
class Attrs:
    x: int


class Typed(TypedDict, total=False):
    x: typing.Required[int]


class Pair(NamedTuple):
    x: int
    y: int


class Plain:
    pass


@dataclasses.dataclass
class HasPlain:
    inside: list[Plain]


T = typing.TypeVar("T")
Text = typing.TypeVar("Text", bytes, str)
Whole = typing.TypeVar("Whole", bound=int)
Opaque = typing.TypeVar("Opaque", bound=Plain)
Number = typing.NewType("Number", int)


class Page(msgspec.Struct, typing.Generic[T]):
    items: list[T]


CARRIED: list[Any] = [
    *(Any, None, bool, int, float, str, bytes, bytearray, memoryview),
    *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta),
    *(decimal.Decimal, uuid.UUID, Number, msgspec.Raw),
    *(list, tuple, set, frozenset, dict, list[int], tuple[int, str], tuple[int, ...], tuple[()]),
    *(set[str], frozenset[int], set[tuple[int, int]], typing.Set[int], typing.Set),  # noqa: UP006
    *(abc.Sequence[int], abc.Collection[int], abc.MutableSequence[int], abc.Set[int]),
    *(abc.Mapping[str, int], abc.MutableMapping[str, int], typing.Dict, typing.List),  # noqa: UP006
    *(dict[int, str], dict[Colour, str], dict[Literal["a"], int], dict[uuid.UUID, int]),
    *(dict[T, int], dict[Any, int], dict[Number, int], dict[str | int, int], dict[float, int]),
    *(Colour, Size, One, TaggedOne, Row, Data, Tree, Attrs, Typed, Pair, Page[int], Page[One]),
    *(Literal["a", 1, None], Literal[True], int | None, int | str, int | float, bool | int),
    *(Literal["a"] | str, Literal["a"] | Literal["b"], Literal[1] | int, Literal["a"] | Size),
    *(TaggedOne | TaggedOther, TaggedOne | list[int], One | None, One | list[int] | str | int),
    *(float | decimal.Decimal, datetime.datetime | int, bool | Size, Data | str, Any | int),
    *(Annotated[int, "how many"], Annotated[int, Meta(ge=1)], Annotated[str, Meta(pattern="a")]),
    *(Annotated[list[int], Meta(max_length=3)], Annotated[int, Meta(ge=1)] | None),
    *(Annotated[dict[str, int], Meta(min_length=1)], Annotated[Number, Meta(ge=1)]),
    *(Annotated[datetime.datetime, Meta(tz=True)], Annotated[bytes, Meta(max_length=3)]),
    *(Annotated[int, Meta(extra={"a": {}})], typing.Final[int], T, Whole, list[Whole]),
]

NOT_CARRIED: list[Any] = [
    *(Plain, object, complex, range, type, type[int], ipaddress.IPv4Address),
    *(abc.Callable, abc.Iterable[int], abc.Iterator[int], typing.Hashable, collections.deque),
    *(collections.OrderedDict[str, int], collections.Counter, typing.Self, typing.NoReturn),
    *(Mixed, Halves, Nothing, Literal[b"a"], Literal[Colour.RED], Text, Opaque, 5, [int]),
    *(list[Plain], dict[str, Plain], Plain | None, HasPlain, Page[Plain], tuple[int, Plain]),
    *(str | bytes, str | datetime.datetime, Colour | str, Colour | Literal["a"], int | Size),
    *(uuid.UUID | str, list[int] | tuple[int, ...], list[int] | set[int], dict[str, int] | One),
    *(One | Other, TaggedOne | One, TaggedOne | Numbered, Data | OtherData, Data | One),
    *(Attrs | Typed, TaggedOne | dict[str, int], Row | list[int], Row | Pair, Typed | Data),
    *(Annotated[str, Meta(ge=1)], Annotated[int, Meta(min_length=1)]),
    *(Annotated[int, Meta(pattern="a")], Annotated[list[int], Meta(gt=1)]),
    *(Annotated[decimal.Decimal, Meta(ge=1)], Annotated[int | None, Meta(ge=1)]),
    *(Annotated[Size, Meta(ge=1)], Annotated[str, Meta(tz=True)], Annotated[Any, Meta(ge=1)]),
]
"""Types that msgspec refuses, or that need a hook of the program."""

ONLY_WHEN_READ: list[Any] = [
    *(dict[tuple[int, int], int], dict[None, int], dict[One, int], dict[bool, int]),
    *(set[list[int]], set[dict[str, int]], frozenset[abc.Sequence[int]]),
]
"""Types that msgspec accepts but cannot decode."""


@pytest.mark.parametrize("hint", CARRIED, ids=str)
def test_what_msgspec_reads_and_describes_is_carried(hint: Any) -> None:
    msgspec.json.Decoder(hint)
    msgspec.json.schema(hint)
    assert JsonTypeReader.PYDANTIC not in json_reader_for(hint)


@pytest.mark.parametrize("hint", NOT_CARRIED, ids=str)
def test_what_msgspec_does_not_describe_is_not_carried(hint: Any) -> None:
    with pytest.raises((TypeError, NotImplementedError)):
        msgspec.json.schema(hint)
    with pytest.raises(NotJsonType):
        json_reader_for(hint)


@pytest.mark.parametrize("hint", ONLY_WHEN_READ, ids=str)
def test_what_no_json_could_be_read_as_is_not_carried(hint: Any) -> None:
    with pytest.raises(NotJsonType):
        json_reader_for(hint)


def test_a_field_that_json_has_nothing_for_is_named_with_its_class() -> None:
    with pytest.raises(NotJsonType, match="HasPlain: JSON has nothing for Plain"):
        json_reader_for(HasPlain)


# --- pydantic ---


class Model(pydantic.BaseModel):
    x: int


@pydantic.dataclasses.dataclass
class Validated:
    x: int


@dataclasses.dataclass
class HasModel:
    model: Model


@dataclasses.dataclass
class HasPath:
    at: pathlib.Path


class StructOfModel(msgspec.Struct):
    model: Model


class StructOfConstraint(msgspec.Struct):
    size: pydantic.PositiveInt


AnyModel = typing.TypeVar("AnyModel", bound=Model)


@pytest.mark.parametrize(
    "hint",
    [
        Model,
        list[Model],
        Model | None,
        dict[str, Model],
        Validated,
        HasModel,
        pydantic.AnyUrl,
        Annotated[int, pydantic.Field(ge=1)],
        pydantic.PositiveInt,
        Annotated[Model, "which"],
        Annotated[Model, Meta(description="which")],
        Model | HasModel,
        AnyModel,
        list[AnyModel],
    ],
    ids=str,
)
def test_what_is_made_of_pydantics_types_is_read_by_pydantic(hint: Any) -> None:
    assert json_reader_for(hint).by_pydantic


@pytest.mark.parametrize(
    "hint",
    [
        *(tuple[Model, Attrs], tuple[Model, Annotated[int, Meta(ge=1)]], StructOfModel),
        *(pathlib.Path, list[pathlib.PurePosixPath | None], dict[str, StructOfModel]),
    ],
    ids=str,
)
def test_models_and_paths_among_types_of_msgspec_are_read_by_its_hooks(hint: Any) -> None:
    found = json_reader_for(hint)
    assert (found.by_pydantic, found.is_hooked) == (False, True)


@pytest.mark.parametrize("hint", [HasModel, list[Model], dict[str, Model | HasPath]], ids=str)
def test_what_pydantic_reads_needs_no_hooks_for_paths(hint: Any) -> None:
    assert json_reader_for(hint).is_hooked is False


@pytest.mark.parametrize("hint", [int, list[str], One, Attrs], ids=str)
def test_types_without_models_and_paths_cost_no_hooks(hint: Any) -> None:
    assert json_reader_for(hint).is_hooked is False


@pytest.mark.parametrize(
    "hint",
    [
        *(tuple[One, pydantic.PositiveInt], tuple[Attrs, Validated], StructOfConstraint),
        Annotated[Attrs, pydantic.Field(description="a")],
    ],
    ids=str,
)
def test_what_pydantic_alone_reads_does_not_go_with_types_of_msgspec(hint: Any) -> None:
    with pytest.raises(NotJsonType, match="do not go together"):
        json_reader_for(hint)


@pytest.mark.parametrize(
    "hint", [Model | One, tuple[Model | int, One], pathlib.Path | int, list[pathlib.Path | bool]]
)
def test_a_union_of_a_model_or_a_path_is_for_pydantic_alone(hint: Any) -> None:
    with pytest.raises(NotJsonType, match="stands in no union but with None"):
        json_reader_for(hint)


def test_a_path_and_a_text_look_alike() -> None:
    with pytest.raises(NotJsonType, match="look alike"):
        json_reader_for(pathlib.Path | str)


def test_a_type_variable_is_read_as_its_bound_or_as_anything() -> None:
    assert json_reader_for(list[T]) == json_reader_for(list[Any]) == JsonTypeReader.FLOATS
    assert json_reader_for(list[Whole]) == json_reader_for(list[int]) != JsonTypeReader.FLOATS


def test_the_type_below_names_and_metadata_is_bare() -> None:
    assert bare(Annotated[Number, "n"]) is int
    alias = typing_extensions.TypeAliasType("alias", Annotated[Number, "n"])
    assert bare(typing.Final[alias]) is int


def test_a_hint_is_read_once_and_one_that_cannot_be_hashed_each_time() -> None:
    read: list[Any] = []

    @cached_by_hint
    def count(hint: Any) -> int:
        read.append(hint)
        return len(read)

    unhashable = Annotated[int, []]
    assert [count(int), count(int), count(list[str]), count(list[str])] == [1, 1, 2, 2]
    assert [count(unhashable), count(unhashable)] == [3, 4]


def test_a_type_error_of_the_reader_itself_is_not_taken_for_a_hint_without_a_hash() -> None:
    read: list[Any] = []

    @cached_by_hint
    def refuse(hint: Any) -> None:
        read.append(hint)
        raise TypeError("refused")

    with pytest.raises(TypeError, match="refused"):
        refuse(int)
    assert read == [int]
