"""Definitions in the forms that the model is made of, or what stops them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codegen.errors import Stopped
from codegen.model import ir
from tests.codegen.hostile.pipeline import model
from tests.codegen.tiny import STRING, const, ref, struct

NUMBER_OR_MORE = {"type": ["number", "null", "string"]}
NULL_OR_MORE = {"type": ["null", "number", "boolean"]}
CLOSED = '[[closed]]\npaths = ["Top"]\nreason = "a test"\n'
MAP = {"type": "object", "additionalProperties": STRING}


def built(folder: Path, rows: str = "", **definitions: Any) -> ir.Revision:
    overlay = folder / "overlay.toml"
    overlay.write_text(rows)
    return model(json.dumps({"$defs": definitions}).encode(), overlay)


def stop_of(folder: Path, **definitions: Any) -> tuple[str, str]:
    """Return the place and the construct that stop these definitions."""
    with pytest.raises(Stopped) as caught:
        built(folder, **definitions)
    (stop,) = caught.value.stops
    return stop.pointer, stop.construct


def test_lists_of_types_that_share_numbers_and_null_leave_both(tmp_path: Path) -> None:
    made = built(tmp_path, Top={"allOf": [NUMBER_OR_MORE, NULL_OR_MORE]})
    assert made.aliases["Top"].type == ir.OneOf((ir.Scalar("number"), ir.Scalar("null")))


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_a_value_of_more_than_64_bits_stops(tmp_path: Path, value: int) -> None:
    said = "`const` with an integer of more than 64 bits among the values"
    assert stop_of(tmp_path, Top={"const": value}) == ("#/$defs/Top", said)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_a_value_of_64_bits_is_a_constant(tmp_path: Path, value: int) -> None:
    assert built(tmp_path, Top={"const": value}).aliases["Top"].type == ir.Choice((value,))


def test_a_reference_to_a_name_that_is_not_among_the_definitions_stops(tmp_path: Path) -> None:
    there = {"A": struct(x=STRING), "Top": {"$ref": "#/components/A"}}
    said = "a `$ref` to `#/components/A`, which is no definition"
    assert stop_of(tmp_path, **there) == ("#/$defs/Top", said)


@pytest.mark.parametrize("word", ["anyOf", "allOf"])
def test_references_in_a_circle_stop_where_a_union_or_an_intersection_follows_them(
    tmp_path: Path, word: str
) -> None:
    circle = {"A": ref("B"), "B": ref("A"), "Top": {word: [ref("A"), struct(x=STRING)]}}
    with pytest.raises(Stopped) as caught:
        built(tmp_path, **circle)
    found = [(one.pointer, one.construct) for one in caught.value.stops]
    assert ("#/$defs/B", "a `$ref` that comes back to itself") in found


def test_a_required_name_without_a_property_has_the_type_of_other_keys(tmp_path: Path) -> None:
    made = built(tmp_path, CLOSED, Top={**MAP, "required": ["x"]})
    (field,) = made.structs["Top"].fields
    assert (field.wire, field.type) == ("x", ir.Scalar("str"))


@pytest.mark.parametrize("outer", ["items", "additionalProperties"])
def test_a_union_that_cannot_be_decoded_stops_inside_a_list_or_a_map(
    tmp_path: Path, outer: str
) -> None:
    kind = "array" if outer == "items" else "object"
    inner = {"anyOf": [ref("A"), MAP]}
    there = {"A": struct(kind=const("a")), "Top": struct(a={"type": kind, outer: inner})}
    pointer = "#/$defs/Top/properties/a"
    assert stop_of(tmp_path, **there) == (pointer, "a union of A and a map")
