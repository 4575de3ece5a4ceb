"""The kinds: each a type, a value of it, and that value as JSON."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import uuid
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import attrs
import msgspec
import pydantic
import pydantic.dataclasses
from msgspec import Meta

__all__ = ["KINDS", "OBJECTS", "TEXTS", "Kind"]


class Kind(NamedTuple):
    """One kind: its type, a value, and the value as JSON."""

    type_: Any
    value: Any
    json: Any


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    WORD = "a"
    NUMBER = 1


class Model(pydantic.BaseModel):
    """A trip."""

    name: str = pydantic.Field(alias="theName", description="who goes")
    day: dt.date
    at: pathlib.Path = pathlib.Path("/tmp")


class Texts(pydantic.RootModel[list[int]]):
    pass


@pydantic.dataclasses.dataclass
class Checked:
    name: str
    day: dt.date


@attrs.define
class Attrs:
    name: str
    day: dt.date
    colour: Colour = Colour.RED


@dataclasses.dataclass
class Data:
    name: str
    day: dt.date
    at: pathlib.Path = pathlib.Path("/x")


@dataclasses.dataclass
class DataOfModel:
    name: str
    inner: Model


class Typed(TypedDict):
    name: str
    day: NotRequired[dt.date]


class Row(NamedTuple):
    name: str
    day: dt.date


class Record(msgspec.Struct, rename="camel"):
    first_name: Annotated[str, Meta(description="who goes", min_length=1)]
    day: dt.date
    at: pathlib.Path | None = None


class RecordOfModel(msgspec.Struct):
    inner: Model
    size: int = 0


class Square(msgspec.Struct, tag=True):
    side: int


class Circle(msgspec.Struct, tag=True):
    radius: int


class First(pydantic.BaseModel):
    first: int


class Second(pydantic.BaseModel):
    second: int


DAY = dt.date(2024, 1, 2)
NOON = dt.datetime(2024, 1, 2, 12, 0, 5, tzinfo=dt.UTC)
MODEL = Model(theName="Ada", day=DAY)
MODEL_JSON = {"theName": "Ada", "day": "2024-01-02", "at": "/tmp"}
PLAIN = {"name": "Ada", "day": "2024-01-02"}
RECORD = Record("Ada", DAY, pathlib.Path("a/b"))
RECORD_JSON = {"firstName": "Ada", "day": "2024-01-02", "at": "a/b"}

_BASE: dict[str, Kind] = {
    "pydantic model": Kind(Model, MODEL, MODEL_JSON),
    "pydantic root model": Kind(Texts, Texts([1]), [1]),
    "pydantic dataclass": Kind(Checked, Checked("Ada", DAY), PLAIN),
    "attrs class": Kind(Attrs, Attrs("Ada", DAY), {**PLAIN, "colour": "red"}),
    "dataclass": Kind(Data, Data("Ada", DAY), {**PLAIN, "at": "/x"}),
    "dataclass of a model": Kind(
        DataOfModel, DataOfModel("Eve", MODEL), {"name": "Eve", "inner": MODEL_JSON}
    ),
    "TypedDict": Kind(Typed, {"name": "Ada", "day": DAY}, PLAIN),
    "NamedTuple": Kind(Row, Row("Ada", DAY), ["Ada", "2024-01-02"]),
    "Struct": Kind(Record, RECORD, RECORD_JSON),
    "Struct of a model": Kind(
        RecordOfModel, RecordOfModel(MODEL, 3), {"inner": MODEL_JSON, "size": 3}
    ),
    "Enum": Kind(Colour, Colour.BLUE, "blue"),
    "IntEnum": Kind(Level, Level.HIGH, 2),
    "mixed Enum": Kind(Mixed, Mixed.NUMBER, 1),
    "Literal": Kind(Literal["a", "b"], "b", "b"),
    "path": Kind(pathlib.Path, pathlib.Path("/a/b"), "/a/b"),
    "date": Kind(dt.date, DAY, "2024-01-02"),
    "datetime": Kind(dt.datetime, NOON, "2024-01-02T12:00:05Z"),
    "time": Kind(dt.time, dt.time(3, 4), "03:04:00"),
    "timedelta": Kind(dt.timedelta, dt.timedelta(hours=3), "PT10800S"),
    "UUID": Kind(uuid.UUID, uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    "Decimal": Kind(decimal.Decimal, decimal.Decimal("1.50"), "1.50"),
    "bytes": Kind(bytes, b"abc", "YWJj"),
    "union of tagged Structs": Kind(Square | Circle, Circle(3), {"type": "Circle", "radius": 3}),
    "union of models": Kind(First | Second, Second(second=2), {"second": 2}),
    "union of a model and a number": Kind(Model | int, MODEL, MODEL_JSON),
    "union of a date and a number": Kind(dt.date | int, DAY, "2024-01-02"),
    "union of a path and a number": Kind(pathlib.Path | int, pathlib.Path("a"), "a"),
    "union of a model and a Struct": Kind(Model | Record, MODEL, MODEL_JSON),
}
_INSIDE = (
    *("pydantic model", "pydantic dataclass", "attrs class", "dataclass", "TypedDict"),
    *("NamedTuple", "Struct", "Struct of a model", "Enum", "path", "date"),
)

KINDS: dict[str, Kind] = dict(_BASE)
_list: Any = list
_dict: Any = dict
for _name in _INSIDE:
    _one = _BASE[_name]
    KINDS[f"{_name} or None"] = Kind(_one.type_ | None, _one.value, _one.json)
    KINDS[f"list of {_name}"] = Kind(_list[_one.type_], [_one.value], [_one.json])
    KINDS[f"dict of {_name}"] = Kind(_dict[str, _one.type_], {"k": _one.value}, {"k": _one.json})
OBJECTS = [name for name, kind in KINDS.items() if isinstance(kind.json, dict)]
"""Kinds whose values are JSON objects."""
TEXTS = [name for name, kind in KINDS.items() if isinstance(kind.json, str | int)]
"""Kinds whose values are JSON texts or numbers, which a URI can have."""
