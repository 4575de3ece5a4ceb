"""Pairs of schemas with their verdicts: `pairs.toml`."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema_rs
import pytest

from mcp_gen.contracts.subsumption.comparing import (
    CompareLimits,
    Direction,
    Verdict,
    compare_schemas,
)

HERE = Path(__file__).parent
MOST_UNCERTAIN = 10

MET_IN_TOOLS = frozenset(
    {
        "$defs",
        "$ref",
        "$schema",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "default",
        "description",
        "enum",
        "examples",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "multipleOf",
        "not",
        "oneOf",
        "pattern",
        "patternProperties",
        "prefixItems",
        "properties",
        "propertyNames",
        "required",
        "title",
        "type",
        "uniqueItems",
    }
)
"""Keywords in schemas of the tools of servers in use, and in those that SDKs generate."""


class Pair(NamedTuple):
    name: str
    direction: Direction
    old: Any
    new: Any
    verdict: Verdict


def pairs() -> list[Pair]:
    """Return the pairs of the file."""
    rows = tomllib.loads((HERE / "pairs.toml").read_text("utf-8"))["pair"]
    return [
        Pair(
            one["name"],
            one["direction"],
            json.loads(one["old"]),
            json.loads(one["new"]),
            one["verdict"],
        )
        for one in rows
    ]


PAIRS = pairs()


def keywords(schema: Any) -> Iterator[str]:
    """Yield the keywords of a schema, and names of members: more than its keywords."""
    if isinstance(schema, dict):
        for name, value in schema.items():
            yield name
            yield from keywords(value)
    elif isinstance(schema, list):
        for one in schema:
            yield from keywords(one)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda one: one.name)
def test_a_change_of_a_schema_has_its_verdict(pair: Pair) -> None:
    found = compare_schemas(pair.old, pair.new, pair.direction)
    assert found.verdict == pair.verdict, found.findings


@pytest.mark.parametrize(
    "pair", [one for one in PAIRS if one.verdict == "breaks"], ids=lambda one: one.name
)
def test_a_change_that_breaks_callers_is_shown_by_a_value(pair: Pair) -> None:
    sent, taken = (pair.old, pair.new) if pair.direction == "arguments" else (pair.new, pair.old)
    found = compare_schemas(pair.old, pair.new, pair.direction)
    (value, *_) = [one.witness[0] for one in found.findings if one.witness]
    assert jsonschema_rs.is_valid(sent, value)
    assert not jsonschema_rs.is_valid(taken, value)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda one: one.name)
def test_a_schema_is_compatible_with_itself(pair: Pair) -> None:
    for schema in (pair.old, pair.new):
        copied = json.loads(json.dumps(schema))
        assert compare_schemas(schema, copied, pair.direction).verdict == "compatible"


def test_there_are_sixty_pairs_and_few_that_cannot_be_told() -> None:
    verdicts = Counter(one.verdict for one in PAIRS)
    assert verdicts.total() >= 60
    assert verdicts["cannot tell"] <= MOST_UNCERTAIN
    assert len({one.name for one in PAIRS}) == len(PAIRS)


def test_every_keyword_of_tools_in_use_is_in_a_pair() -> None:
    found = {name for one in PAIRS for name in keywords([one.old, one.new])}
    assert MET_IN_TOOLS - found == set()


def test_beyond_the_limit_of_steps_nothing_is_told() -> None:
    old = {"properties": {f"p{number}": {"type": "integer"} for number in range(100)}}
    new = {"properties": {f"p{number}": {"type": "number"} for number in range(100)}}
    few = CompareLimits(steps=50)
    assert compare_schemas(old, new, "arguments", few).verdict == "cannot tell"
    assert compare_schemas(old, new, "arguments").verdict == "compatible"


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ({"items": {"type": "string"}}, {"items": {"type": "number"}}, ("[*]",)),
        (
            {"prefixItems": [{"type": "null"}, {"type": "string"}]},
            {"prefixItems": [{"type": "null"}, {"type": "number"}]},
            (1,),
        ),
        (
            {"prefixItems": [{"type": "null"}], "items": {"type": "string"}},
            {"prefixItems": [{"type": "null"}], "items": {"type": "number"}},
            ("[*]",),
        ),
    ],
    ids=["of every item", "of one in its place", "of those behind"],
)
def test_a_finding_names_the_place_of_an_item(old: Any, new: Any, path: tuple[int | str]) -> None:
    found = compare_schemas({"type": "array", **old}, {"type": "array", **new}, "arguments")
    assert [one.path for one in found.findings] == [path]


@pytest.mark.parametrize("by_reference", [False, True], ids=["in place", "by reference"])
def test_schemas_nested_as_deep_as_allowed_are_compared_and_no_deeper(by_reference: bool) -> None:
    def nested(deep: int, leaf: str) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": leaf}
        if not by_reference:
            for _ in range(deep):
                schema = {"type": "array", "items": schema}
            return schema
        parts = {str(n): {"items": {"$ref": f"#/$defs/{n + 1}"}} for n in range(deep)}
        return {"$ref": "#/$defs/0", "$defs": {**parts, str(deep): schema}}

    limits = CompareLimits(depth=10)
    verdicts = [
        compare_schemas(nested(deep, "integer"), nested(deep, "number"), "arguments", limits)
        for deep in (10, 11)
    ]
    assert [one.verdict for one in verdicts] == ["compatible", "cannot tell"]


@pytest.mark.parametrize("keyword", ["anyOf", "not", "dependentSchemas"])
def test_what_is_compared_as_a_text_is_read_as_deep_as_allowed_and_no_deeper(keyword: str) -> None:
    def nested(deep: int, leaf: str) -> Any:
        schema: Any = {"type": leaf}
        for _ in range(deep):
            made = {"anyOf": [schema], "dependentSchemas": {"a": schema}}
            schema = {keyword: made.get(keyword, schema)}
        return {"type": "array", "not": schema}

    limits = CompareLimits(depth=10)
    found = [
        compare_schemas(nested(deep, "integer"), nested(deep, "string"), "arguments", limits)
        for deep in (9, 10)
    ]
    assert [one.findings[0].kind for one in found] == ["opaque", "not compared"]
