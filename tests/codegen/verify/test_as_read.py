"""The schema as it is read: the published one where no row deviates, whatever it is made of."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from codegen.verify.as_read import AsRead, Validators, container, patched
from codegen.verify.instances import Mutator, instance, property_names
from codegen.verify.judge import Judge, Reading
from codegen.verify.rows import DEVIATIONS, Rows
from tests.codegen.tiny import STRING, const, ref, struct
from tests.support.checks.failures import failures
from tests.wire.revisions import every_revision, kept

INTEGER = {"type": "integer"}

CONSTRUCTS: dict[str, Any] = {
    "an optional constant that tells arms apart": {
        "anyOf": [ref("A"), {**struct(kind=const("b")), "required": []}]
    },
    "a union of arms that need no tag": {"anyOf": [ref("LooseA"), ref("LooseB")]},
    "oneOf of definitions": {"oneOf": [ref("A"), ref("B")]},
    "oneOf of scalars": {"oneOf": [STRING, INTEGER]},
    "integer constants that tell arms apart": {"anyOf": [ref("One"), ref("Two")]},
    "siblings of anyOf": {"type": "object", "required": ["x"], "anyOf": [ref("A"), ref("B")]},
    "anyOf beside oneOf": {
        "anyOf": [STRING, INTEGER],
        "oneOf": [STRING, {**INTEGER, "minimum": 1}],
    },
    "allOf of objects": {"allOf": [ref("A"), struct(x=INTEGER)]},
    "allOf that narrows a member": {"allOf": [ref("A"), struct(kind=STRING, x=INTEGER)]},
    "allOf that contradicts itself": {"allOf": [struct(x=STRING), struct(x=INTEGER)]},
    "allOf of a scalar": {"allOf": [INTEGER, {"minimum": 1}]},
    "allOf with anyOf": {"allOf": [ref("A"), {"anyOf": [struct(x=STRING), struct(y=STRING)]}]},
    "allOf with an arm that is closed": {
        "allOf": [ref("A"), {"properties": {"kind": {}}, "additionalProperties": False}]
    },
    "no other keys": {**struct(x=INTEGER), "additionalProperties": False},
    "other keys of a type": {**struct(x=INTEGER), "additionalProperties": STRING},
    "a required name without a property": {"type": "object", "required": ["x"]},
    "a required name beside properties": {**struct(y=STRING), "required": ["x"]},
    "a list of types with an object": {"type": ["object", "null"], "properties": {"x": INTEGER}},
    "type beside enum": {"type": "string", "enum": ["a", 1, None]},
    "an array without items": {"type": "array", "minItems": 1},
    "an object that holds itself": {
        "type": "object",
        "properties": {"next": ref("Tested"), "x": INTEGER},
    },
    "a union that holds itself": {
        "anyOf": [STRING, {"type": "array", "items": ref("Tested")}, ref("A")]
    },
    "boolean schemas": {"properties": {"x": True, "y": False}, "type": "object"},
    "properties without a type": {"properties": {"x": INTEGER}, "required": ["x"]},
}

DEFINITIONS: dict[str, Any] = {
    "A": struct(kind=const("a")),
    "B": struct(kind=const("b")),
    "LooseA": {**struct(kind=const("a")), "required": []},
    "LooseB": {**struct(kind=const("b")), "required": []},
    "One": struct(kind={"const": 1}),
    "Two": struct(kind={"const": 2}),
}

NO_ROWS = Rows({})


def verdicts(document: Any, name: str, reading: Validators, count: int) -> set[bool]:
    """Compare the verdicts of a document and of a reading of it; return those that were met."""
    random = Random(name)
    mutator = Mutator(random, [*sorted(property_names(document)), "x"])
    published, met = Validators(document).of(name), set[bool]()
    for number in range(count):
        choose = {0: lambda one: one[0], 1: lambda one: one[-1]}.get(number, random.choice)
        value = instance(document, document[container(document)][name], choose)
        for one in [value, *mutator.each_part(value, 3), *mutator.changes(value, 30)]:
            valid = published.is_valid(one)
            assert reading.of(name).is_valid(one) == valid, json.dumps(one)
            met.add(valid)
    return met


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_without_rows_a_construct_is_read_as_it_is_published(construct: str) -> None:
    document = {"$defs": {**DEFINITIONS, "Tested": CONSTRUCTS[construct]}}
    reading = Validators(AsRead(document, NO_ROWS).document)
    assert verdicts(document, "Tested", reading, 10) >= {False}


@every_revision
def test_without_its_rows_a_revision_is_read_as_it_is_published(revision: str) -> None:
    there = kept(revision)
    reading = Validators(AsRead(there.document, there.deviations.without(DEVIATIONS)).document)

    def check(name: str) -> None:
        verdicts(there.document, name, reading, 3)

    assert failures(there.decoded, check) == {}


def test_arms_of_one_of_that_overlap_differ_without_a_row() -> None:
    overlapping = {"oneOf": [INTEGER, {"type": ["integer", "null"]}]}
    judge = Judge("2030-01-01", {"$defs": {"Tested": overlapping}}, NO_ROWS, [])
    judge.of("Tested")(1)
    (told,) = judge.tally.examples
    assert told == ("2030-01-01", "Tested", "overlay", "no row says so")


def test_a_whole_float_is_an_integer_unless_a_row_says_otherwise() -> None:
    document = {"$defs": {"Tested": INTEGER}}
    strict = Rows({"reads": [{"rule": "integer"}]})
    assert Reading(document, NO_ROWS).accepts("Tested", 1.0, plain=False)
    assert not Reading(document, strict).accepts("Tested", 1.0, plain=False)
    assert Reading(document, strict).accepts("Tested", 1, plain=False)


PATCHES = Rows({"patch": [{"pointer": "/A/properties/kind/const", "old": "a", "new": "b"}]})


def test_a_patch_replaces_the_value_that_it_names() -> None:
    document = {"$defs": {"A": struct(kind=const("a"))}}
    assert patched(document, PATCHES) == {"$defs": {"A": struct(kind=const("b"))}}
    assert document == {"$defs": {"A": struct(kind=const("a"))}}


@pytest.mark.parametrize("there", [struct(kind=const("c")), STRING], ids=["another", "none"])
def test_a_patch_leaves_what_it_does_not_name(there: dict[str, Any]) -> None:
    assert patched({"$defs": {"A": there}}, PATCHES) == {"$defs": {"A": there}}
