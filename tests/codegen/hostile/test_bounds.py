"""Bounds as data: the model of a revision has them beside the types of fields and aliases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codegen.errors import Stopped
from codegen.model import ir
from codegen.schema.keywords import ANNOTATIONS, BOUNDS
from tests.codegen.hostile.pipeline import model


def built(
    folder: Path, unchecked: tuple[str, ...] = ANNOTATIONS, **definitions: Any
) -> ir.Revision:
    overlay = folder / "overlay.toml"
    overlay.write_text(f'[[unchecked]]\nnames = {json.dumps(unchecked)}\nreason = "a test"\n')
    return model(json.dumps({"$defs": definitions}).encode(), overlay)


def field_of(made: ir.Revision) -> ir.Field:
    (field,) = made.structs["Top"].fields
    return field


def test_the_bounds_of_an_alias_are_beside_its_type(tmp_path: Path) -> None:
    alias = built(tmp_path, Top={"type": "string", "pattern": "^a", "minLength": 2}).aliases["Top"]
    assert alias.type == ir.Scalar("str")
    assert alias.bounds == (ir.Bound((), "minLength", 2), ir.Bound((), "pattern", "^a"))


def test_the_bounds_inside_of_a_field_have_the_steps_to_them(tmp_path: Path) -> None:
    amount = {"type": "number", "exclusiveMinimum": 0.5}
    items = {"type": "array", "maxItems": 3, "items": {"anyOf": [{"type": "null"}, amount]}}
    top = {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": items}}}
    assert field_of(built(tmp_path, Top=top)).bounds == (
        ir.Bound(("values",), "maxItems", 3),
        ir.Bound(("values", "items", "1"), "exclusiveMinimum", 0.5),
    )


def test_the_bounds_of_a_definition_are_not_those_of_its_uses(tmp_path: Path) -> None:
    short = {"type": "string", "maxLength": 3}
    top = {"type": "object", "properties": {"a": {"$ref": "#/$defs/Short"}}}
    made = built(tmp_path, Top=top, Short=short)
    assert field_of(made).bounds == ()
    assert made.aliases["Short"].bounds == (ir.Bound((), "maxLength", 3),)


def test_the_stricter_bound_of_an_all_of_is_kept(tmp_path: Path) -> None:
    both = [{"type": "integer", "maximum": 5, "minimum": 1}, {"type": "integer", "maximum": 3}]
    bounds = built(tmp_path, Top={"allOf": both}).aliases["Top"].bounds
    assert bounds == (ir.Bound((), "maximum", 3), ir.Bound((), "minimum", 1))


def test_a_bound_of_listed_values_is_kept_beside_them(tmp_path: Path) -> None:
    values = {"enum": ["a", "bbb", 1, None], "minLength": 2, "minItems": 1}
    alias = built(tmp_path, Top=values).aliases["Top"]
    assert alias.type == ir.OneOf((ir.Choice(("a", "bbb", 1)), ir.Scalar("null")))
    assert [bound.keyword for bound in alias.bounds] == ["minLength"]


def test_a_bound_of_values_that_no_bound_is_about_is_left_out(tmp_path: Path) -> None:
    assert built(tmp_path, Top={"enum": [True, False], "minLength": 2}).aliases["Top"].bounds == ()


def test_a_bound_of_another_type_is_left_out(tmp_path: Path) -> None:
    assert built(tmp_path, Top={"type": "integer", "minLength": 3}).aliases["Top"].bounds == ()


def value_of(word: str) -> Any:
    """Return a limit that fits a keyword."""
    return "a" if word in ("pattern", *ANNOTATIONS) else True if word == "uniqueItems" else 1


@pytest.mark.parametrize("word", [word for word in BOUNDS if word not in ANNOTATIONS])
def test_a_bound_is_data_without_a_row(tmp_path: Path, word: str) -> None:
    made = built(tmp_path, ("none",), Top={word: value_of(word)})
    assert made.aliases["Top"].bounds == (ir.Bound((), word, value_of(word)),)


@pytest.mark.parametrize("word", [word for word in BOUNDS if word not in ANNOTATIONS])
def test_a_bound_that_a_row_leaves_unchecked_is_left_out(tmp_path: Path, word: str) -> None:
    assert built(tmp_path, (word,), Top={word: value_of(word)}).aliases["Top"].bounds == ()


def test_a_pattern_that_cannot_be_compiled_stops(tmp_path: Path) -> None:
    with pytest.raises(Stopped, match=r"#/\$defs/Top/pattern: expected a pattern"):
        built(tmp_path, Top={"type": "string", "pattern": "("})


@pytest.mark.parametrize("word", ANNOTATIONS)
def test_a_note_that_nothing_checks_stops_and_says_the_row(tmp_path: Path, word: str) -> None:
    with pytest.raises(Stopped) as caught:
        built(tmp_path, ("none",), Top={word: value_of(word)})
    (stop,) = caught.value.stops
    assert (stop.pointer, stop.construct) == ("#/$defs/Top", f"nothing checks `{word}`")
    assert stop.row == f'[[unchecked]]\nnames = ["{word}"]\nreason = "say why"\n'
