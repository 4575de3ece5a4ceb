"""Pairs of schemas that look compatible and are not: nothing unproven passes."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from mcp_gen.contracts.subsumption.comparing import compare_schemas
from mcp_gen.contracts.subsumption.json_values import Unreadable
from mcp_gen.contracts.subsumption.members import Patterns

TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def members(*required: str, **named: Any) -> dict[str, Any]:
    """Return a schema of objects."""
    return {"type": "object", "properties": named, "required": [*required]}


def mutual(leaf: dict[str, Any]) -> dict[str, Any]:
    """Return definitions of two objects that hold each other."""
    return {
        "T": members(p={"$ref": "#/$defs/P"}, bad=leaf),
        "P": members(t={"$ref": "#/$defs/T"}),
    }


T, P = {"$ref": "#/$defs/T"}, {"$ref": "#/$defs/P"}

TRAPS: dict[str, tuple[Any, Any, Any]] = {
    # What is proven while a pair is taken to hold must be forgotten if it does not.
    "proof that rests on a pair that does not hold": (
        {"$defs": mutual(WHOLE), **members("x", "z", x=T, z=P)},
        {"$defs": mutual(TEXT), "anyOf": [members(x=T, z={}), members(x={}, z=P)]},
        {"x": {"bad": 1}, "z": {"t": {"bad": 1}}},
    ),
    "other members that match a pattern": (
        {"type": "object", "additionalProperties": NUMBER},
        {"patternProperties": {"^x-": WHOLE}, "additionalProperties": NUMBER},
        {"x-a": 0.5},
    ),
    "members of one pattern that match another one": (
        {"type": "object", "patternProperties": {"a$": NUMBER}, "additionalProperties": False},
        {"patternProperties": {"a$": NUMBER, "^b": WHOLE}, "additionalProperties": False},
        {"ba": 0.5},
    ),
    "both of two alternatives": (WHOLE, {"oneOf": [WHOLE, NUMBER]}, 1),
    "an alternative that is added to oneOf": (
        {"oneOf": [members("a", a=TEXT), members("b", b=TEXT)]},
        {"oneOf": [members("a", a=TEXT), members("b", b=TEXT), members("c", c=TEXT)]},
        {"a": "x", "c": "x"},
    ),
    "parts of allOf that each close the object": (
        members(a=TEXT, b=TEXT),
        {"allOf": [{**members(a=TEXT), "additionalProperties": False}, members(b=TEXT)]},
        {"b": "x"},
    ),
    "a member that is named and matches a pattern": (
        members("x-a", **{"x-a": NUMBER}),
        {"properties": {"x-a": NUMBER}, "patternProperties": {"^x-": WHOLE}},
        {"x-a": 0.5},
    ),
    "a name that is too long": (
        members("abc", abc=TEXT),
        {"type": "object", "propertyNames": {"maxLength": 2}},
        {"abc": "x"},
    ),
    "fewer members than are needed": (members(a=TEXT), {"minProperties": 1}, {}),
    "keywords beside a reference, from 2019-09": (
        members(a=NUMBER),
        {"$defs": {"A": NUMBER}, **members(a={"$ref": "#/$defs/A", "minimum": 0})},
        {"a": -1},
    ),
    "an item behind a tuple": (
        {"type": "array", "prefixItems": [TEXT], "items": NUMBER},
        {"type": "array", "prefixItems": [TEXT, TEXT], "items": NUMBER},
        ["a", 1],
    ),
    "items of a tuple that are equal": (
        {"type": "array", "prefixItems": [TEXT, TEXT], "items": False},
        {"type": "array", "uniqueItems": True},
        ["a", "a"],
    ),
    "a number that is no multiple of both": (
        {"type": "integer", "multipleOf": 2},
        {"multipleOf": 4, "type": "integer"},
        2,
    ),
    "an exclusive bound": ({"minimum": 1, "type": "number"}, {"exclusiveMinimum": 1}, 1),
    "true, which is not 1": ({"const": True}, {"const": 1}, True),
    "a value between two ranges": (
        {"type": "number", "minimum": 0, "maximum": 3},
        {"anyOf": [{"maximum": 1}, {"minimum": 2}]},
        1.5,
    ),
    "a case of which a member is narrower": (
        members("k", "a", k={"enum": ["x", "y"]}, a=NUMBER),
        {
            "anyOf": [
                members("k", k={"const": "x"}, a={"maximum": 6}),
                members("k", k={"const": "y"}),
            ]
        },
        {"k": "x", "a": 7},
    ),
    "an object among values": ({"enum": [{"a": 1}, {}]}, members(a=TEXT), {"a": 1}),
    "an array among values": ({"enum": [[1], []]}, {"type": "array", "items": TEXT}, [1]),
    "members that are evaluated elsewhere": (
        members("a", "b", a=TEXT, b=TEXT),
        {"allOf": [members(a=TEXT)], "unevaluatedProperties": False},
        {"a": "", "b": ""},
    ),
    "an object that depends on others": (
        members("a", a=TEXT, b=TEXT),
        {"dependentSchemas": {"a": {"required": ["b"]}}},
        {"a": ""},
    ),
    "too many that contain": (
        {"type": "array", "items": WHOLE},
        {"contains": {"const": 1}, "minContains": 0, "maxContains": 1},
        [1, 1],
    ),
    "definitions of one name with other content": (
        {"$defs": {"A": TEXT}, **members("a", a={"not": {"$ref": "#/$defs/A"}})},
        {"$defs": {"A": WHOLE}, **members("a", a={"not": {"$ref": "#/$defs/A"}})},
        {"a": 1},
    ),
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_pair_that_only_looks_compatible_does_not_pass(name: str) -> None:
    narrow, wide, value = TRAPS[name]
    assert jsonschema_rs.is_valid(narrow, value)
    assert not jsonschema_rs.is_valid(wide, value)
    for as_sent in (True, False):
        assert compare_schemas(wide, narrow, "results", as_sent=as_sent).verdict != "compatible"


SAME: dict[str, tuple[Any, Any]] = {
    "an alternative that is in another one": ({"anyOf": [WHOLE, NUMBER]}, NUMBER),
    "values of two alternatives": ({"enum": ["a", 1]}, {"anyOf": [TEXT, WHOLE]}),
    "an integer between bounds": (
        {"type": "integer", "exclusiveMinimum": 0.5, "maximum": 2.9},
        {"enum": [1, 2]},
    ),
    "the only number of a range": (
        {"type": "number", "minimum": 4, "maximum": 4},
        {"type": "number", "multipleOf": 2},
    ),
    "null, which is all there is": ({"type": "null"}, {"enum": [None, 1]}),
    "both booleans": ({"type": "boolean"}, {"enum": [True, False, 1]}),
    "1.0, which is an integer": ({"const": 1.0}, WHOLE),
    "a member that no value fits": (members("a", a=False), members("b", b=WHOLE)),
    "a tuple without room for more": (
        {"type": "array", "prefixItems": [TEXT], "items": False, "minItems": 1},
        {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 1},
    ),
    "cases of a member that must be there": (
        members("k", k={"enum": ["a", "b"]}),
        {"anyOf": [members("k", k={"const": "a"}), members("k", k={"const": "b"})]},
    ),
    "the same condition under other names": (
        {"$defs": {"A": {"not": {"const": 1}}}, **members(a={"$ref": "#/$defs/A"})},
        members(a={"not": {"const": 1}}),
    ),
    "names in another order, where they must not be": (
        {**members(a=TEXT), "not": {"required": ["a", "b"]}},
        {"not": {"required": ["b", "a"]}},
    ),
    "a pattern of both": (
        {"type": "object", "patternProperties": {"^x": WHOLE}, "additionalProperties": False},
        {"patternProperties": {"^x": NUMBER}, "additionalProperties": {"type": "null"}},
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_a_pair_that_looks_otherwise_and_is_compatible_passes(name: str) -> None:
    narrow, wide = SAME[name]
    assert compare_schemas(wide, narrow, "results").verdict == "compatible"


def between(low: int, high: int) -> dict[str, Any]:
    return {"type": "number", "minimum": low, "maximum": high}


def kind(*values: str, **named: Any) -> dict[str, Any]:
    return members("kind", kind={"enum": [*values]}, **named)


COVERED: dict[str, tuple[Any, Any]] = {
    "a member in two ranges": (
        members("a", a=between(0, 10)),
        {"anyOf": [members("a", a=between(0, 6)), members("a", a=between(4, 10))]},
    ),
    "a text of two lengths": (
        {"type": "string", "maxLength": 9},
        {"anyOf": [{"type": "string", "maxLength": 6}, {"type": "string", "minLength": 4}]},
    ),
    "a case in two ranges": (
        kind("k", "l", a=between(0, 10)),
        {
            "anyOf": [
                kind("k", a=between(0, 6)),
                kind("k", a=between(4, 10)),
                kind("l", a=between(0, 10)),
            ]
        },
    ),
    "a closed object, of whose names others are limited": (
        {**members(a=TEXT), "additionalProperties": False},
        {**members(a=TEXT), "propertyNames": {"pattern": "^a$"}},
    ),
}


@pytest.mark.parametrize("name", COVERED)
def test_a_pair_that_is_compatible_is_never_said_to_break(name: str) -> None:
    narrow, wide = COVERED[name]
    assert compare_schemas(wide, narrow, "results").verdict != "breaks"


def test_where_one_alternative_alone_is_near_a_pair_breaks_without_an_example() -> None:
    # No text is made for such a pattern.
    text = {"type": "string", "pattern": "a(?=b)"}
    for old in (text, {**text, "minLength": 1}):
        sent = {"anyOf": [kind("k", a=old), kind("l")]}
        taken = {"anyOf": [kind("k", a=WHOLE), kind("l")]}
        found = compare_schemas(taken, sent, "results")
        assert (found.verdict, [one.witness for one in found.findings]) == ("breaks", [()])


def test_members_that_need_not_be_there_are_in_the_examples() -> None:
    sent = {"type": "object", "properties": {"a": TEXT, "b": TEXT}}
    taken = {**sent, "dependentSchemas": {"a": {"required": ["b"]}}}
    found = compare_schemas(taken, sent, "results")
    assert [one.witness for one in found.findings] == [({"a": ""},)]


@pytest.mark.parametrize(
    ("sent", "taken", "path"),
    [
        ({"items": TEXT}, {"items": False}, ("[*]",)),
        ({"prefixItems": [TEXT, TEXT]}, {"prefixItems": [TEXT], "items": False}, (1,)),
    ],
    ids=["all of them", "those behind others"],
)
def test_items_that_are_not_taken_any_more_are_excluded(sent: Any, taken: Any, path: Any) -> None:
    sent, taken = ({"type": "array", **one} for one in (sent, taken))
    found = compare_schemas(taken, sent, "results")
    assert ("excluded", path) in [(one.kind, one.path) for one in found.findings]


def test_the_example_of_a_member_that_is_needed_inside_has_what_it_is_in() -> None:
    many = {f"m{number:02}": TEXT for number in range(20)}
    sent, taken = (members(**many, o=members(*names)) for names in ([], ["q"]))
    found = compare_schemas(taken, sent, "results")
    assert [one.witness for one in found.findings] == [({"o": {}},)]


@pytest.mark.parametrize(
    ("names", "verdict"),
    [({"pattern": "^b"}, "breaks"), ({"not": {"const": "b"}}, "cannot tell")],
    ids=["it does not", "it may not"],
)
def test_a_name_that_does_not_fit_breaks_and_one_that_may_not_does_not(
    names: dict[str, Any], verdict: str
) -> None:
    sent = {**members("a", a=TEXT), "additionalProperties": False}
    taken = {**sent, "propertyNames": names}
    found = compare_schemas(taken, sent, "results")
    assert (found.verdict, [one.path for one in found.findings]) == (verdict, [("a",)])


def test_a_closed_object_has_no_other_names() -> None:
    narrow, wide = COVERED["a closed object, of whose names others are limited"]
    assert compare_schemas(wide, narrow, "results").verdict == "compatible"


def test_that_nothing_fits_is_proven_as_deep_as_allowed_and_no_deeper() -> None:
    def nothing(deep: int) -> Any:
        return members("a", a=nothing(deep - 1)) if deep else False

    def either(deep: int) -> Any:
        return {"oneOf": [nothing(deep), members("b")]}

    verdicts = [
        compare_schemas(either(deep - 1), either(deep), "results").verdict for deep in (7, 8)
    ]
    assert verdicts == ["compatible", "cannot tell"]


def test_a_pattern_that_is_not_linear_is_not_compiled() -> None:
    with pytest.raises(Unreadable, match="not linear"):
        Patterns().matches("(?=a)", "a")
