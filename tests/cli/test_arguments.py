"""Tests of `--arg` and `--args`: arguments are converted to the types in the tool's schema."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen.cli.console.arguments import check_arguments, convert, parse_json, parse_pairs
from mcp_gen.core.errors import UsageError

NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "5", "5"),
        ({"type": "string"}, "a=b", "a=b"),
        ({"type": "string"}, "", ""),
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, "5.0", 5),
        ({"type": "number"}, "5", 5),
        ({"type": "number"}, "0.5", 0.5),
        ({"type": "boolean"}, "true", True),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["string", "integer"]}, "5", 5),
        ({"type": ["string", "integer"]}, "five", "five"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"enum": [4, 6]}, "4", 4),
        ({"enum": ["4", "6"]}, "4", "4"),
        ({"const": "4"}, "4", "4"),
        ({"$ref": "#/$defs/name"}, "5", "5"),
        ({"$ref": "#/$defs/missing"}, "5", 5),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        (NAMES, "[]", []),
        (NAMES, "1", ["1"]),
        ({"type": "array", "items": {"type": "integer"}}, "1", [1]),
        ({}, "5", 5),
        ({}, "five", "five"),
        (True, "five", "five"),
    ],
)
def test_text_becomes_a_value_of_the_kind_that_the_schema_has(
    schema: Any, text: str, value: Any
) -> None:
    whole_schema = {"properties": {"a": schema}, "$defs": {"name": {"type": "string"}}}
    found = convert([("a", text)], whole_schema)
    assert (found, type(found["a"])) == ({"a": value}, type(value))


def test_what_is_given_several_times_is_an_array() -> None:
    given = [("a", "x"), ("a", "y")]
    assert convert(given, {"properties": {"a": NAMES}}) == {"a": ["x", "y"]}


@pytest.mark.parametrize(
    ("schema", "text", "said"),
    [
        ({"type": "integer"}, "five", "--arg a: expected integer, got 'five'"),
        ({"type": "integer"}, "1.5", "--arg a: expected integer, got '1.5'"),
        ({"type": ["boolean", "null"]}, "1", "--arg a: expected boolean or null, got '1'"),
    ],
)
def test_text_of_another_kind_is_refused(schema: Any, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        convert([("a", text)], {"properties": {"a": schema}})
    assert str(caught.value) == said


CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"citty": "x"}, "unknown argument 'citty': did you mean 'city'?"),
        ({"city": "x", "wind": 1}, "unknown argument 'wind': there are 'city', 'days'"),
        ({}, '"city" is a required property - at `$`'),
        ({"city": "x", "days": "2"}, 'the value is not of type "integer" - at `$.days`'),
    ],
)
async def test_arguments_that_the_schema_does_not_allow_are_named(
    arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        await check_arguments("weather", arguments, CLOSED)
    assert str(caught.value) == f"weather: {said}; --no-check sends it anyway"


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": 5},
        {**CLOSED, "patternProperties": {"^c": {}}, "required": []},
    ],
)
async def test_arguments_that_a_schema_allows_or_that_it_cannot_judge_are_sent(
    schema: dict[str, Any],
) -> None:
    await check_arguments("weather", {"citty": "x"}, schema)


def test_a_schema_that_refers_to_itself_allows_anything() -> None:
    schema: dict[str, Any] = {"properties": {"a": {"$ref": "#/properties/a"}}}
    assert convert([("a", "1")], schema) == {"a": 1}


@pytest.mark.parametrize("given", ["a", "=1", ""])
def test_what_is_no_pair_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="expected `name=value`"):
        parse_pairs([given])


@pytest.mark.parametrize("given", ["", "{", "[]", "5", "[" * 100_000])
def test_arguments_that_are_no_json_object_are_refused(given: str) -> None:
    with pytest.raises(UsageError, match="--args: expected"):
        parse_json(given)


def test_no_arguments_are_no_arguments() -> None:
    assert (parse_pairs(None), parse_json(None)) == ([], {})
