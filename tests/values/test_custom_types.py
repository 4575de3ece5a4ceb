"""Hooks of msgspec: paths and models among its types, their errors, and their schemas."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Annotated, Any

import attrs
import msgspec
import pydantic
import pytest

from mcp_gen.core.errors import UsageError
from mcp_gen.values.custom_types import convert, decoder, to_json, to_plain
from mcp_gen.values.json_schema import json_schema
from mcp_gen.values.reading import read_value
from mcp_wire import UnknownContent


class Inner(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)

    sizes: list[int]


class Outer(msgspec.Struct):
    inner: Inner
    at: pathlib.Path = pathlib.Path("/tmp")


class Left(msgspec.Struct, tag="left", rename="camel"):
    """On the left."""

    at_home: pathlib.Path = pathlib.Path("/home")


class Right(msgspec.Struct, tag="right"):
    at: pathlib.Path = pathlib.Path("/r")


@attrs.define
class Item:
    model: Inner = attrs.field(factory=lambda: Inner(sizes=[]))
    at: pathlib.Path = pathlib.Path("a")


class Row(msgspec.Struct, array_like=True):
    at: pathlib.Path = pathlib.Path("a")


@dataclasses.dataclass
class Tree:
    at: pathlib.Path = pathlib.Path("/")
    children: list[Tree] = dataclasses.field(default_factory=list["Tree"])


WRONG: list[tuple[Any, Any, str]] = [
    (Outer, {"inner": {"sizes": [1, "2"]}}, "valid integer - at `$.inner.sizes[1]`"),
    (list[Outer], [{"inner": {"sizes": 1}}], "valid array - at `$[0].inner.sizes`"),
    (Outer, {"inner": 5}, " - at `$.inner`"),
    (Inner, {}, "Field required - at `$.sizes`"),
    (pathlib.Path, 5, "Expected `str`, got `int`"),
    (list[pathlib.Path], ["a", None], "Expected `str`, got `null` - at `$[1]`"),
]
each_wrong = pytest.mark.parametrize(("kind", "data", "said"), WRONG)


@each_wrong
def test_what_does_not_fit_is_named_with_the_whole_path(kind: Any, data: Any, said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as of_text:
        decoder(kind, hooked=True)(msgspec.json.encode(data))
    with pytest.raises(msgspec.ValidationError) as of_value:
        convert(data, kind)
    assert str(of_text.value).endswith(said)
    assert str(of_value.value) == str(of_text.value)


def test_a_member_is_named_with_its_own_path() -> None:
    with pytest.raises(msgspec.ValidationError, match=r"`\$\.more\.inner\.sizes`"):
        read_value({"inner": {}}, Outer, "call", at="more")
    with pytest.raises(msgspec.ValidationError, match=r"`\$\.more\.sizes`"):
        read_value({}, Inner, "call", at="more")
    with pytest.raises(msgspec.ValidationError, match=r"`\$\.more`"):
        read_value("a", int, "call", at="more")


def test_a_strict_model_reads_what_json_has() -> None:
    class Dated(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(strict=True)

        pair: tuple[int, int]

    assert read_value({"pair": [1, 2]}, list[Dated] | Dated, "call") == Dated(pair=(1, 2))


def test_a_type_that_nothing_reads_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="call: JSON has nothing for complex"):
        read_value(1, complex, "call")


def test_a_type_whose_metadata_cannot_be_hashed_is_read() -> None:
    assert read_value({"sizes": []}, Annotated[Inner, ["a list"]], "call") == Inner(sizes=[])


def test_a_value_is_the_same_as_json_and_as_plain_json() -> None:
    value = {"it": Outer(Inner(sizes=[1]))}
    assert to_plain(value) == {"it": {"inner": {"sizes": [1]}, "at": "/tmp"}}
    assert msgspec.json.decode(to_json(value)) == to_plain(value)
    assert to_plain({1: value}) == {"1": to_plain(value)}


PATH = {"type": "string", "format": "path"}


def test_defaults_that_msgspec_cannot_write_are_in_the_schema() -> None:
    schema = json_schema(list[Left | Right])
    assert schema["items"]["discriminator"]["propertyName"] == "type"
    assert schema["$defs"]["Left"] == {
        "title": "Left",
        "description": "On the left.",
        "type": "object",
        "properties": {"type": {"enum": ["left"]}, "atHome": {**PATH, "default": "/home"}},
        "required": ["type"],
    }
    item = json_schema(Item)
    assert item["properties"]["at"] == {**PATH, "default": "a"}
    assert "required" not in item or item["required"] == []
    assert json_schema(Row)["prefixItems"] == [{**PATH, "default": "a"}]


def test_a_class_that_holds_itself_and_has_such_a_default_has_no_schema() -> None:
    with pytest.raises(UsageError, match="Tree holds itself"):
        json_schema(Tree)


def test_a_model_and_a_struct_of_one_name_have_a_definition_each() -> None:
    other = pydantic.create_model("Outer", x=(int, 1))
    both = msgspec.defstruct("Both", [("a", Outer), ("b", other)])
    definitions = json_schema(both)["$defs"]
    assert {"inner", "at"} == definitions["Outer"]["properties"].keys()
    assert definitions["Outer_"]["properties"].keys() == {"x"}


def test_content_of_a_kind_that_is_not_known_is_written_as_it_came() -> None:
    block = UnknownContent("new", b'{"type":"new","of":[1.0]}')
    assert to_json([block]) == b'[{"type":"new","of":[1.0]}]'


def test_a_class_that_json_knows_nothing_of_is_named() -> None:
    class Thing:
        """Neither model nor path."""

    with pytest.raises(msgspec.ValidationError, match="JSON has nothing for Thing"):
        convert(1, Thing)
    with pytest.raises(TypeError, match="JSON has nothing for Thing"):
        to_json(Thing())
