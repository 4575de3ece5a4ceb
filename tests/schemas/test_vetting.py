"""Vetting: which schemas are checked in this process, and why others are not."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen.schemas.schema import BadSchema, JsonSchema, Misfit, NeedsWorker
from mcp_gen.schemas.vetting import MAX_DEPTH, MAX_PATHS, MAX_SUBSCHEMAS, vet

REF = {"$ref": "#/$defs/n"}
OTHER = {"$ref": "#/$defs/m"}


def circle(node: Any, **more: Any) -> Any:
    """Return a schema whose part `n` is this node."""
    return {**REF, "$defs": {"n": node, **more}}


PLAIN: list[Any] = [
    True,
    {},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    {"anyOf": [{"type": "string"}, {"type": "null"}]},
    {"allOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}], "$defs": {"n": {}}},
    {"type": "object", "unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]},
    {"items": {"pattern": "^[a-z]{1,64}$"}},
    {"$id": "https://example.org/x", "$ref": "https://example.org/x#/$defs/n", "$defs": {"n": {}}},
    {"$defs": {"a/b": {"type": "integer"}}, "$ref": "#/$defs/a~1b"},
    {"properties": {"$ref": {"type": "string"}, "$dynamicRef": {}, "id": {}}},
    {"dependencies": {"a": ["b"], "c": {"required": ["d"]}}},
]

RECURSIVE: list[Any] = [
    circle({"properties": {"value": {}, "next": REF}}),
    circle({"properties": {"children": {"type": "array", "items": REF}}}),
    circle({"additionalProperties": REF}),
    circle({"patternProperties": {"^[a-z]+$": REF}}),
    circle({"properties": {"a": REF, "b": REF}, "items": REF}),
    circle({"prefixItems": [REF, REF], "items": REF}),
    circle({"properties": {"m": OTHER}}, m={"properties": {"n": REF, "m": OTHER}}),
    circle({"properties": {"n": REF, "m": OTHER}}, m={"properties": {"m": OTHER}}),
    circle(OTHER, m={"properties": {"n": REF}}),
]

SLOW: dict[str, Any] = {
    "a circle of references leads through `anyOf`": circle({"anyOf": [{"items": REF}, {}]}),
    "a circle of references leads through `oneOf`": circle({"oneOf": [{"items": REF}, {}]}),
    "a circle of references leads through `allOf`": circle({"allOf": [{"items": REF}]}),
    "a circle of references leads through `not`": circle({"not": {"items": REF}}),
    "a circle of references leads through `if`": circle({"if": {"items": REF}}),
    "a circle of references leads through `then`": circle({"if": {}, "then": {"items": REF}}),
    "a circle of references leads through `else`": circle({"if": {}, "else": {"items": REF}}),
    "a circle of references leads through `contains`": circle({"contains": REF}),
    "a circle of references leads through `propertyNames`": circle({"propertyNames": REF}),
    "a circle of references leads through `dependentSchemas`": circle(
        {"dependentSchemas": {"a": {"items": REF}}}
    ),
    "a circle of references leads through `dependencies`": circle(
        {"dependencies": {"a": {"items": REF}}}
    ),
    "a circle of references leads through `unevaluated*`": circle(
        {"items": REF, "unevaluatedProperties": False}
    ),
    "circles of references meet the same part of a value": circle(
        {"properties": {"a": REF}, "patternProperties": {"a": REF}}
    ),
    "a circle of references leads to another by `patternProperties`": circle(
        {"properties": {"a": REF}, "patternProperties": {"a": OTHER}},
        m={"properties": {"a": OTHER}},
    ),
    "a reference leads to itself": circle(REF),
    "it has `$dynamicRef`": {"items": {"$dynamicRef": "#n"}},
    "it has `$recursiveRef`": {"items": {"$recursiveRef": "#"}},
    "a part of it has an `$id`": {"items": {"$id": "x"}},
    "it refers to another document": {"$ref": "https://example.org/x"},
    "it refers to an anchor": {"$ref": "#n"},
    "it refers to a part that is not there": {"$ref": "#/$defs/n"},
    "the pattern '(?=a)' is not linear, or too large": {"items": {"pattern": "(?=a)"}},
    "the pattern '(?!a)' is not linear, or too large": {"patternProperties": {"(?!a)": {}}},
    "its patterns are too many or too large": {
        "properties": {str(at): {"pattern": "a{900}"} for at in range(30)}
    },
    "it has more than 262144 bytes": {"const": "x" * 300_000},
    "it cannot be measured": {"const": object()},
}


@pytest.mark.parametrize("schema", PLAIN)
def test_a_plain_schema_is_checked_here(schema: Any) -> None:
    found = vet(schema)
    assert (found.reason, found.recursive) == ("", False)


@pytest.mark.parametrize("schema", RECURSIVE)
def test_a_circle_that_meets_each_part_of_a_value_once_is_checked_here(schema: Any) -> None:
    found = vet(schema)
    assert (found.reason, found.recursive, found.explains) == ("", True, False)


@pytest.mark.parametrize("reason", SLOW)
def test_any_other_schema_is_checked_by_the_worker(reason: str) -> None:
    assert vet(SLOW[reason]).reason == reason


def test_of_a_long_pattern_the_beginning_is_said() -> None:
    whole = "(?=a)" + 55 * "b"
    for pattern, said in [(whole, whole), (f"{whole}b", f"{whole}...")]:
        reason = vet({"pattern": pattern}).reason
        assert reason == f"the pattern '{said}' is not linear, or too large"


def doubled(levels: int, **more: Any) -> Any:
    """Return a schema that applies 2 ** levels subschemas to one value."""
    steps = {
        f"n{at}": {"allOf": [{"$ref": f"#/$defs/n{at + 1}"}] * 2, **more} for at in range(levels)
    }
    return {"$ref": "#/$defs/n0", "$defs": {**steps, f"n{levels}": {}}}


@pytest.mark.parametrize(
    ("below", "above"),
    [
        (doubled(9), doubled(13)),
        (doubled(2, unevaluatedItems=False), doubled(5, unevaluatedItems=False)),
    ],
)
def test_subschemas_that_multiply_have_a_limit(below: Any, above: Any) -> None:
    assert vet(below).reason == ""
    assert vet(above).reason == f"more than {MAX_PATHS} subschemas apply to one value"


def test_the_number_of_subschemas_has_a_limit() -> None:
    def with_parts(count: int) -> Any:
        return {"properties": {str(at): {"type": "string"} for at in range(count)}}

    assert vet(with_parts(MAX_SUBSCHEMAS - 1)).reason == ""
    assert vet(with_parts(MAX_SUBSCHEMAS)).reason == f"it has more than {MAX_SUBSCHEMAS} subschemas"


def test_the_depth_has_a_limit() -> None:
    schema: Any = {}
    for _ in range(MAX_DEPTH):
        schema = {"items": schema}
    assert vet(schema).reason == ""
    assert vet({"items": schema}).reason == f"it has more than {MAX_DEPTH} schemas in each other"


def test_a_long_chain_of_references_is_walked_without_recursion() -> None:
    links = MAX_SUBSCHEMAS - 2
    chain = {f"n{at}": {"$ref": f"#/$defs/n{at + 1}"} for at in range(links)}
    schema = {"$ref": "#/$defs/n0", "$defs": {**chain, f"n{links}": {}}}
    assert vet(schema).reason == ""


def test_what_no_value_can_reach_is_not_vetted() -> None:
    assert vet({"$defs": {"n": {"pattern": "(?=a)"}}, "type": "object"}).reason == ""


def test_a_small_value_is_checked_here_and_a_large_one_by_the_worker() -> None:
    schema = JsonSchema({"items": {"pattern": "^a{1000}$"}})
    schema.check(["a" * 1000])
    with pytest.raises(NeedsWorker):
        schema.check(["a" * 1000] * 10)


def test_the_error_text_of_a_recursive_schema_is_found_by_the_worker() -> None:
    schema = JsonSchema(circle({"type": "object", "properties": {"next": REF}}))
    schema.check({"next": {}})
    with pytest.raises(NeedsWorker):
        schema.check({"next": 1})


@pytest.mark.parametrize(("count", "expected"), [(5, Misfit), (5_000, NeedsWorker)])
def test_many_errors_of_alternatives_are_found_by_the_worker(
    count: int, expected: type[Exception]
) -> None:
    schema = JsonSchema({"anyOf": [{"items": {"type": "string"}}]})
    with pytest.raises(expected):
        schema.check([1] * count)


@pytest.mark.parametrize("more", [{}, {"pattern": "(?=a)"}], ids=["here", "by the worker"])
def test_compiling_a_schema_that_is_none_is_an_error(more: dict[str, Any]) -> None:
    JsonSchema({"type": "string", **more}).compile()
    with pytest.raises(BadSchema):
        JsonSchema({"type": "nonsense", **more}).compile()
    with pytest.raises(BadSchema):
        JsonSchema({"$schema": "http://127.0.0.1:9/dialect", **more}).compile()


def test_why_a_schema_is_slow_is_said_of_slow_ones_alone() -> None:
    slow = JsonSchema({"pattern": "(?=a)"})
    assert slow.because == f"; {slow.slow}" != "; "
    assert JsonSchema({"type": "string"}).because == ""
