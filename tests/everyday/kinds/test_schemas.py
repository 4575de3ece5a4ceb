"""The JSON Schema of each kind, whole: names, descriptions, formats, defaults, what is required."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
import pytest
from msgspec import Meta

from mcp_gen import Server
from tests.everyday.kinds.kinds import KINDS
from tests.everyday.kinds.test_kinds import keeping, typed

DATE = {"type": "string", "format": "date"}
PATH = {"type": "string", "format": "path"}
MODEL = {
    "title": "Model",
    "description": "A trip.",
    "type": "object",
    "properties": {
        "theName": {"type": "string", "title": "Thename", "description": "who goes"},
        "day": {**DATE, "title": "Day"},
        "at": {**PATH, "title": "At", "default": "/tmp"},
    },
    "required": ["theName", "day"],
}
TYPED = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "day": DATE},
    "required": ["name", "day"],
}
SCHEMAS: dict[str, Any] = {
    "pydantic model": MODEL,
    "pydantic root model": {"title": "Texts", "type": "array", "items": {"type": "integer"}},
    "pydantic dataclass": {
        **TYPED,
        "title": "Checked",
        "properties": {
            "name": {"type": "string", "title": "Name"},
            "day": {**DATE, "title": "Day"},
        },
    },
    "attrs class": {
        **TYPED,
        "title": "Attrs",
        "properties": {
            "name": {"type": "string"},
            "day": DATE,
            "colour": {"$ref": "#/$defs/Colour", "default": "red"},
        },
        "$defs": {"Colour": {"title": "Colour", "enum": ["blue", "red"]}},
    },
    "dataclass": {
        **TYPED,
        "title": "Data",
        "properties": {"name": {"type": "string"}, "day": DATE, "at": {**PATH, "default": "/x"}},
    },
    "TypedDict": {**TYPED, "title": "Typed", "required": ["name"]},
    "NamedTuple": {
        "title": "Row",
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "prefixItems": [{"type": "string"}, DATE],
    },
    "Struct": {
        "title": "Record",
        "type": "object",
        "properties": {
            "firstName": {"type": "string", "minLength": 1, "description": "who goes"},
            "day": DATE,
            "at": {"anyOf": [PATH, {"type": "null"}], "default": None},
        },
        "required": ["firstName", "day"],
    },
    "Struct of a model": {
        "title": "RecordOfModel",
        "type": "object",
        "properties": {
            "inner": {"$ref": "#/$defs/Model"},
            "size": {"type": "integer", "default": 0},
        },
        "required": ["inner"],
        "$defs": {"Model": MODEL},
    },
    "Enum": {"title": "Colour", "enum": ["blue", "red"]},
    "IntEnum": {"title": "Level", "enum": [1, 2]},
    "Literal": {"enum": ["a", "b"]},
    "path": PATH,
    "date": DATE,
    # `date-time` has a time zone, which a datetime need not have; a time, too.
    "datetime": {"type": "string"},
    "time": {"type": "string"},
    "timedelta": {"type": "string", "format": "duration"},
    "UUID": {"type": "string", "format": "uuid"},
    "Decimal": {"type": "string", "format": "decimal"},
    "bytes": {"type": "string", "contentEncoding": "base64"},
}
each_schema = pytest.mark.parametrize("name", SCHEMAS)


@each_schema
def test_the_schema_of_a_result_is_exact(name: str) -> None:
    server = Server("kinds")
    server.add_tool(typed(lambda: None, **{"return": KINDS[name].type_}), name="give")
    assert server.tools["give"].tool.output_schema == SCHEMAS[name]


@each_schema
def test_the_schema_of_an_argument_is_exact(name: str) -> None:
    server = Server("kinds")
    server.add_tool(typed(keeping([]), it=KINDS[name].type_), name="take")
    schema = server.tools["take"].tool.input_schema
    given = dict(schema["properties"]["it"])
    definitions = dict(schema.get("$defs", {}))
    if "$ref" in given:
        given = definitions.pop(given["$ref"].removeprefix("#/$defs/"))
    if definitions:
        given["$defs"] = definitions
    assert given == SCHEMAS[name]


@dataclasses.dataclass
class Place:
    city: Annotated[str, "where to"]
    street: Annotated[str, Meta(description="exactly"), "not this"] = ""


class Stay(TypedDict):
    place: Annotated[Place, "the house"]
    nights: NotRequired[Annotated[int, "how long"]]


class Trip(msgspec.Struct, rename="camel"):
    all_stays: Annotated[list[Stay], "in order"]
    back_to: Place | None = None


def test_a_text_in_an_annotation_describes_a_field() -> None:
    server = Server("kinds")
    server.add_tool(typed(lambda: None, **{"return": Trip}), name="plan")
    schema: Any = server.tools["plan"].tool.output_schema
    classes = {"Trip": schema, **schema["$defs"]}
    assert {
        (kind, name): field.get("description")
        for kind, one in classes.items()
        for name, field in one["properties"].items()
    } == {
        ("Trip", "allStays"): "in order",
        ("Trip", "backTo"): None,
        ("Stay", "place"): "the house",
        ("Stay", "nights"): "how long",
        ("Place", "city"): "where to",
        ("Place", "street"): "exactly",
    }


def of_two(a: Any, b: Any) -> None: ...


def test_two_classes_of_one_name_have_no_texts_of_each_other() -> None:
    other = dataclasses.make_dataclass("Place", [("city", Annotated[str, "another"])])
    other.__module__ = "elsewhere"  # since Python 3.12 it is the caller's, as that of Place
    server = Server("kinds")
    server.add_tool(typed(of_two, a=Place, b=other), name="two")
    schema: Any = server.tools["two"].tool.input_schema
    assert [one["properties"]["city"] for one in schema["$defs"].values()] == [
        {"type": "string"},
        {"type": "string"},
    ]
