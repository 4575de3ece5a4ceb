"""Schemas that are made to be expensive: each pair ends soon, and with a verdict."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import pytest

from mcp_gen.contracts.subsumption.comparing import compare_schemas

LIMIT_S = 5.0
"""CPU seconds; each takes less than half of one."""


def nested(depth: int, keyword: Callable[[Any], Any], leaf: Any) -> Any:
    """Return schemas in each other."""
    made = leaf
    for _ in range(depth):
        made = keyword(made)
    return made


def doubled(leaf: str) -> Any:
    """Return definitions that each refer twice to the next one."""
    made: dict[str, Any] = {"d60": {"type": leaf}}
    for number in range(60):
        held = {"$ref": f"#/$defs/d{number + 1}"}
        made[f"d{number}"] = {"type": "object", "properties": {"l": held, "r": held}}
    return {"$defs": made, "$ref": "#/$defs/d0"}


def multiplied(low: int) -> Any:
    """Return choices in `allOf`, 2 to the power of 40 of them."""
    choices = [
        {"anyOf": [{"required": [f"a{number}"]}, {"required": [f"b{number + low}"]}]}
        for number in range(40)
    ]
    return {"type": "object", "allOf": choices}


def circles(leaf: str) -> Any:
    """Return definitions that refer to each other, without end and at the same place."""
    return {
        "$defs": {
            "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": leaf}]},
            "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]},
        },
        "$ref": "#/$defs/a",
    }


def tangled(leaf: str) -> Any:
    """Return definitions each of which refers to all others, by members."""
    names = [f"d{number}" for number in range(40)]
    held = {
        name: {
            "type": "object",
            "properties": {other: {"$ref": f"#/$defs/{other}"} for other in names},
        }
        for name in names
    }
    held["d0"]["properties"]["leaf"] = {"type": leaf}
    return {"$defs": held, "$ref": "#/$defs/d0"}


def conditions(last: str) -> Any:
    """Return many conditions."""
    return {
        "allOf": [
            {"if": {"required": [f"a{number}"]}, "then": {"required": [f"b{number}", last]}}
            for number in range(40)
        ]
    }


PAIRS: dict[str, tuple[Any, Any]] = {
    "doubled": (doubled("integer"), doubled("string")),
    "multiplied": (multiplied(0), multiplied(1)),
    "circles": (circles("string"), circles("integer")),
    "tangled": (tangled("string"), tangled("integer")),
    "conditions": (conditions("x"), conditions("y")),
    "many values": (
        {"enum": [str(one) for one in range(200_000)]},
        {"enum": [str(one) for one in range(1, 200_000)]},
    ),
    "many objects": (
        {"enum": [{"a": one} for one in range(20_000)]},
        {"anyOf": [{"const": {"a": one}} for one in range(5_000)]},
    ),
    "many variants": (
        {"oneOf": [{"minimum": one, "maximum": one} for one in range(2_000)]},
        {"oneOf": [{"minimum": one, "maximum": one + 1} for one in range(2_000)]},
    ),
    "deep": (
        nested(5_000, lambda one: {"items": one}, {"type": "string"}),
        nested(5_000, lambda one: {"items": one}, {"type": "integer"}),
    ),
    "deep in place": (
        nested(5_000, lambda one: {"allOf": [one]}, {"type": "string"}),
        nested(200, lambda one: {"allOf": [one]}, {"type": "integer"}),
    ),
    "a pattern that backtracks": ({"const": "a" * 5_000 + "b"}, {"pattern": "^(a|a)*$"}),
    "a pattern with a back-reference": ({"type": "string"}, {"pattern": r"^(.*)*\1(.*)*x$"}),
    "a pattern that grows": ({"type": "string"}, {"pattern": "^((a{1,99}){1,99}){1,99}$"}),
    "huge numbers": ({"maximum": 10**5_000}, {"maximum": 10**5_001}),
    "far sizes": ({"maxLength": 10**30}, {"maxLength": 10**29, "minItems": 10**20}),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_hostile_pair_ends_soon(name: str) -> None:
    old, new = PAIRS[name]
    begun = process_time()
    verdicts = {
        compare_schemas(old, new, "arguments").verdict,
        compare_schemas(new, old, "results").verdict,
    }
    assert process_time() - begun < LIMIT_S
    assert verdicts <= {"breaks", "cannot tell", "compatible"}


@pytest.mark.parametrize(
    "schema",
    [
        5,
        None,
        "text",
        [],
        {"type": 5},
        {"type": [[]]},
        {"required": [{}]},
        {"properties": {"a": 5}},
        {"enum": "a"},
        {"minimum": "1"},
        {"anyOf": {}},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.com/other"},
        {"$ref": 5},
        {"$dynamicRef": "#x"},
        {"$schema": "urn:unknown", "type": "string"},
        {"$id": "urn:a", "allOf": [{"$id": "urn:b", "type": "integer"}]},
    ],
)
def test_what_is_no_schema_or_is_not_read_is_not_told(schema: Any) -> None:
    assert compare_schemas(schema, {"const": 1}, "arguments").verdict == "cannot tell"
    assert compare_schemas(schema, schema, "arguments").verdict == "compatible"
