"""Published schemas of tools: what they say is checked, and one that is none is refused."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from functools import partial
from typing import Annotated, Any, NamedTuple, Optional, TypedDict

import jsonschema_rs
import msgspec
import pydantic
import pytest

import mcp_wire
from mcp_gen import Argument as Changed
from mcp_gen import Server, UsageError, transformed
from mcp_gen.schemas.doubts import is_doubtful
from mcp_wire import latest
from tests.support.frames import ALL, every_revision
from tests.support.peers.asked import Refused
from tests.support.peers.connect import talk


def extra(**keywords: Any) -> Any:
    """Return metadata of msgspec with keywords of one's own."""
    return msgspec.Meta(extra_json_schema=keywords)


def field(**keywords: Any) -> Any:
    """Return metadata of pydantic with keywords of one's own."""
    return pydantic.Field(json_schema_extra=keywords)


Unique = Annotated[list[int], extra(uniqueItems=True)]
Even = Annotated[int, extra(multipleOf=2)]


class Basket(msgspec.Struct, rename="camel"):
    """A Struct with another name on the wire."""

    all_items: Unique
    inner: Basket | None = None


class Row(msgspec.Struct, array_like=True, tag="row"):
    """A Struct that is an array with a tag."""

    number: Even


class Cat(msgspec.Struct, tag="cat"):
    """One of two tagged Structs."""

    lives: Annotated[int, extra(maximum=9)]


class Dog(msgspec.Struct, tag="dog"):
    """The other one."""

    lives: int


@dataclasses.dataclass
class Pair:
    """A dataclass."""

    left: Even
    right: int = 0


class Typed(TypedDict):
    """A typed dict."""

    it: Unique


class Named(NamedTuple):
    """A named tuple."""

    a: int
    b: Even


class Model(pydantic.BaseModel):
    """A pydantic model with an alias."""

    numbers: list[int] = pydantic.Field(
        default=[], alias="theNumbers", json_schema_extra={"uniqueItems": True}
    )
    inner: Model | None = None


class Whole(pydantic.BaseModel):
    """A pydantic model that has keywords itself."""

    model_config = pydantic.ConfigDict(json_schema_extra={"minProperties": 2})
    a: int = 0
    b: int = 0


CASES: dict[str, tuple[Any, Any, Any, str]] = {
    "a list": (Unique, [1, 2], [1, 1], "$.it"),
    "an optional list": (Optional[Unique], [1, 2], [1, 1], "$.it"),  # noqa: UP045  # other spelling
    "a list or text": (Unique | str, "aa", [1, 1], "$.it"),
    "a native keyword": (Annotated[int, extra(minimum=3)], 3, 2, "$.it"),
    "a choice": (Annotated[str, extra(enum=["a", "b"])], "b", "c", "$.it"),
    "several keywords": (
        Annotated[list[int], extra(uniqueItems=True, contains={"const": 7})],
        [7, 8],
        [8],
        "$.it",
    ),
    "items": (list[Even], [2, 4], [2, 3], "$.it[1]"),
    "a set": (set[Even], [2], [3], "$.it[0]"),
    "a tuple": (tuple[int, Even], [1, 2], [1, 3], "$.it[1]"),
    "any tuple": (tuple[Even, ...], [2], [3], "$.it[0]"),
    "a dict": (dict[str, Even], {"a": 2}, {"a": 3}, "$.it.a"),
    "keys": (dict[Annotated[str, extra(maxLength=2)], int], {"ab": 1}, {"abc": 1}, "$.it"),
    "a Struct": (Basket, {"allItems": [1]}, {"allItems": [1, 1]}, "$.it.allItems"),
    "a recursive Struct": (
        Basket,
        {"allItems": [], "inner": {"allItems": [1]}},
        {"allItems": [], "inner": {"allItems": [1, 1]}},
        "$.it.inner.allItems",
    ),
    "a Struct as an array": (Row, ["row", 2], ["row", 3], "$.it[1]"),
    "tagged Structs": (Cat | Dog, {"type": "dog", "lives": 10}, {"type": "cat", "lives": 10}, ""),
    "a dataclass": (Pair, {"left": 2}, {"left": 1}, "$.it.left"),
    "a typed dict": (Typed, {"it": [1]}, {"it": [1, 1]}, "$.it.it"),
    "a named tuple": (Named, [1, 2], [1, 1], "$.it[1]"),
    "pydantic's field": (Annotated[list[int], field(uniqueItems=True)], [1], [1, 1], "$.it"),
    "a model": (Model, {"theNumbers": [1]}, {"theNumbers": [1, 1]}, "$.it.theNumbers"),
    "a recursive model": (
        Model,
        {"inner": {"theNumbers": [1]}},
        {"inner": {"theNumbers": [1, 1]}},
        "$.it.inner.theNumbers",
    ),
    "a model itself": (Whole, {"a": 1, "b": 1}, {"a": 1}, "$.it"),
}


def taking(hint: Any) -> Server:
    """Return a server whose tool takes such an argument."""
    server = Server("takes")

    async def run(it: Any) -> str:
        return "taken"

    run.__annotations__["it"] = hint
    server.add_tool(run)
    return server


@every_revision
@pytest.mark.parametrize(("hint", "right", "wrong", "path"), CASES.values(), ids=CASES)
async def test_added_keywords_of_arguments_are_checked(
    revision: str, hint: Any, right: Any, wrong: Any, path: str
) -> None:
    async with talk(lambda: taking(hint), revision) as client:
        assert await client.text("run", it=right) == "taken"
        call = {"name": "run", "arguments": {"it": wrong}}
        if mcp_wire.profile(revision).bad_arguments == "protocol_error":
            with pytest.raises(Refused) as refused:
                await client.request("tools/call", call)
            text = refused.value.args[1] if len(refused.value.args) > 1 else str(refused.value)
        else:
            result = await client.request("tools/call", call)
            assert result["isError"]
            text = result["content"][0]["text"]
    assert path.replace("$", "$.arguments") in text


@pytest.mark.parametrize(("hint", "right", "wrong", "path"), CASES.values(), ids=CASES)
def test_what_is_checked_is_what_is_published(hint: Any, right: Any, wrong: Any, path: str) -> None:
    schema = taking(hint).tools["run"].tool.input_schema
    validator = jsonschema_rs.validator_for(schema)
    assert validator.is_valid({"it": right})
    assert not validator.is_valid({"it": wrong})


async def test_keywords_of_a_field_with_an_alias_are_not_those_of_its_name() -> None:
    async with talk(lambda: taking(Model), ALL[-1]) as client:
        assert await client.text("run", it={"theNumbers": [1], "numbers": [1, 1]}) == "taken"


def giving(hint: Any, value: Any) -> Server:
    """Return a server whose tool returns such a value."""
    server = Server("gives")

    async def run() -> Any:
        return value

    run.__annotations__["return"] = hint
    server.add_tool(run)
    return server


GIVEN: dict[str, tuple[Any, Any, Any]] = {
    "a list": (Unique, [1, 2], [1, 1]),
    "a Struct": (Basket, Basket([1]), Basket([], Basket([1, 1]))),
    "a dict": (dict[str, Even], {"a": 2}, {"a": 3}),
    "pydantic's field": (Annotated[list[int], field(uniqueItems=True)], [1], [1, 1]),
    "a model": (Model, Model(theNumbers=[1]), Model(theNumbers=[1, 1])),
}


@every_revision
@pytest.mark.parametrize(("hint", "right", "wrong"), GIVEN.values(), ids=GIVEN)
async def test_added_keywords_of_results_are_checked(
    revision: str, hint: Any, right: Any, wrong: Any
) -> None:
    for value, is_error in ((right, None), (wrong, True)):
        async with talk(partial(giving, hint, value), revision) as client:
            result = await client.request("tools/call", {"name": "run", "arguments": {}})
        assert result.get("isError") is is_error


async def test_a_tool_with_other_names_checks_them_as_well() -> None:
    server = Server("changed")
    original = taking(Unique).tools["run"]
    server.add_tool(transformed(original, arguments={"it": Changed(name="them")}))
    async with talk(lambda: server, ALL[-1]) as client:
        assert await client.text("run", them=[1]) == "taken"
        result = await client.request("tools/call", {"name": "run", "arguments": {"them": [1, 1]}})
    assert result["isError"]
    assert "$.arguments.them" in result["content"][0]["text"]


async def test_types_are_told_before_keywords() -> None:
    async with talk(lambda: taking(Unique), ALL[-1]) as client:
        result = await client.request("tools/call", {"name": "run", "arguments": {"it": ["a"]}})
    assert "Expected `int`, got `str`" in result["content"][0]["text"]


@pytest.mark.parametrize(
    "hint",
    [
        Annotated[list[int], extra(uniqueItems="yes")],
        Annotated[int, extra(minimum="3")],
        Annotated[int, extra(pattern="(")],
        Annotated[int, extra(enum="ab")],
        Annotated[int, field(multipleOf=0)],
        Annotated[int, extra(maximum=float("nan"))],
    ],
    ids=str,
)
def test_added_keywords_that_are_no_schema_are_refused(hint: Any) -> None:
    with pytest.raises(UsageError, match=r"^tool run: (its result: )?extra keywords: "):
        taking(hint)
    with pytest.raises(UsageError, match=r"^tool run: (its result: )?extra keywords: "):
        giving(hint, 1)


def test_added_keywords_cannot_refer_to_a_definition() -> None:
    with pytest.raises(UsageError, match=r"they cannot have a `\$ref`"):
        taking(Annotated[list[int], extra(contains={"$ref": "#/$defs/a"})])


PROGRAM = """
import sys
from functools import partial
from typing import Annotated
import msgspec
from mcp_gen import Server
server = Server("s")
Said = Annotated[str, msgspec.Meta(description="d", extra_json_schema={"x-mcp-header": "A"})]
Mail = Annotated[str, msgspec.Meta(extra_json_schema={"format": "email", "examples": ["a@b"]})]
@server.tool
def f(a: Said, b: Mail, c: Annotated[int, msgspec.Meta(ge=1)]) -> Mail: ...
print(*sorted({"jsonschema_rs", "pydantic"} & sys.modules.keys()))
"""


def test_nothing_is_compiled_where_nothing_was_added_that_restricts_values() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=30, check=True
    )
    assert ran.stdout == "\n"


# --- schemas that are none ---

NONE: dict[str, Any] = {
    "an unknown type": {"type": "foo"},
    "a type that is a number": {"type": 7},
    "no types": {"type": []},
    "a type twice": {"type": ["string", "string"]},
    "a minimum that is a text": {"minimum": "x"},
    "required that is a text": {"type": "object", "required": "a"},
    "required twice": {"type": "object", "required": ["a", "a"]},
    "a pattern that is none": {"pattern": "("},
    "a pattern inside": {"type": "object", "properties": {"a": {"pattern": "[z-a]"}}},
    "a pattern as a name": {"type": "object", "patternProperties": {"(": {}}},
    "an enum that is a number": {"enum": 5},
    "a negative length": {"minLength": -1},
    "properties that are a number": {"properties": 7},
    "a property that is a number": {"properties": {"a": 7}},
    "items that are a text": {"items": "string"},
    "no choices": {"anyOf": []},
    "a choice that is a text": {"anyOf": ["a"]},
    "true": True,
    "a list": [],
    "NaN": {"maximum": float("nan")},
    "a reference to nothing": {"type": "object", "$ref": "#/$defs/a"},
}
none = pytest.mark.parametrize("schema", NONE.values(), ids=NONE)


async def nothing(ctx: Any = None, arguments: Any = None) -> Any:
    return None


@none
@pytest.mark.parametrize(
    "revision", [one for one in ALL if mcp_wire.profile(one).structured_content != "none"]
)
def test_an_output_schema_that_is_none_is_refused_at_registration(
    revision: str, schema: Any
) -> None:
    server, described = Server("refuses"), mcp_wire.types(revision).Tool
    with pytest.raises(UsageError, match=r"^(tool )?t: output schema: "):
        server.add_tool(
            described(name="t", input_schema={"type": "object"}, output_schema=schema), nothing
        )
    assert server.tools.names == []


@none
def test_an_output_schema_of_a_function_that_is_none_is_refused(schema: Any) -> None:
    server = Server("refuses")
    with pytest.raises(UsageError, match=r"^t: output schema: "):
        server.add_tool(nothing, name="t", output_schema=schema)


@none
def test_an_input_schema_that_is_none_is_refused(schema: Any) -> None:
    server = Server("refuses")
    with pytest.raises(UsageError, match=r"^tool t: input schema: "):
        server.add_tool(latest.Tool(name="t", input_schema=schema), nothing)


@pytest.mark.parametrize("root", ["array", "string", ["object", "null"], None])
@pytest.mark.parametrize("revision", ALL)
def test_a_root_that_the_revision_does_not_have_is_refused(revision: str, root: Any) -> None:
    holds = mcp_wire.profile(revision).structured_content
    if holds == "none":
        return  # no output schemas
    schema: dict[str, Any] = {} if root is None else {"type": root}
    tool = mcp_wire.types(revision).Tool
    described = tool(name="t", input_schema={"type": "object"}, output_schema=schema)
    server = Server("root")
    if holds == "object":
        with pytest.raises(UsageError, match=f'^tool t: output schema: {revision} has `"type"'):
            server.add_tool(described, nothing)
    else:
        server.add_tool(described, nothing)


RIGHT: list[Any] = [
    {"type": "object"},
    {"type": ["object", "null"], "title": "T", "description": "d"},
    {"properties": {"type": {"type": "string"}, "required": {"enum": [1]}, "pattern": {}}},
    {"$defs": {"minimum": {"minimum": 0}}, "items": {"$ref": "#/$defs/minimum"}},
    {"minLength": 0, "maxItems": 0, "maximum": 0},
    {"type": "string", "pattern": r"^(?:a|b)[c-f]*\d{2,3}\.x$", "format": "email"},
    {"default": {"type": "foo"}, "const": {"minimum": "x"}, "examples": [{"enum": 5}]},
    {"x-own": {"a": 1}, "if": {"required": ["a"]}, "then": {"minProperties": 2}, "else": False},
]


@pytest.mark.parametrize("schema", RIGHT, ids=str)
def test_schemas_without_doubt_are_valid_and_not_compiled_yet(schema: Any) -> None:
    assert not is_doubtful(schema)
    jsonschema_rs.validator_for(schema)


DRAFTS = "http://json-schema.org/draft"
DOUBTFUL: list[Any] = [
    {"$schema": f"{DRAFTS}-04/schema#", "minimum": 1, "exclusiveMinimum": True},
    {"$schema": f"{DRAFTS}-07/schema#", "items": [{}, {}]},
    {"pattern": r"^\p{L}(?<name>a)$"},
    {"dependentRequired": {"a": ["b"]}},
]


@pytest.mark.parametrize("schema", DOUBTFUL, ids=str)
def test_a_doubtful_schema_that_is_valid_is_taken(schema: Any) -> None:
    assert is_doubtful(schema)
    Server("takes").add_tool(nothing, name="t", output_schema=schema)
