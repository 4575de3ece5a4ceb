"""Rows of the overlay and facts of another form: each stops with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codegen.__main__ import read_revisions
from tests.codegen.hostile.pipeline import model, surfaces
from tests.codegen.tiny import (
    CAPABILITY,
    FACTS,
    REVISION,
    STRING,
    checkout,
    ref,
    stopped,
    struct,
)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ("[nope]\na = 1", "nope: an unknown table"),
        ('section = "a"', "section: not a table of rows"),
        ("fields = 1", "fields: not a table of rows"),
        ('[[section]]\ntitle = "a"', "[section] 1: Object missing required field `types`"),
        ("[facts.a]\nvalue = 1", "[facts] a: Object missing required field `source`"),
        ('[facts.a]\nvalue = [1]\nsource = "x"', "[facts] a: Expected "),
        ('[facts.a]\nvalue = 2030-01-01\nsource = "x"', "[facts] a: Expected "),
        ('[facts.a]\nvalue = 1\nsource = "x"\nmore = 1', "[facts] a: Object contains unknown"),
        ('[facts."a b"]\nsource = "x"', "[facts] a b: a name that is none in Python"),
        ('[facts.class]\nsource = "x"', "[facts] class: a name that is none in Python"),
        ('[facts.revision]\nsource = "x"', "[facts] revision: a fact that every Profile has"),
        ('[errors.X]\nsource = "x"', "[errors] X: Object missing required field `code`"),
        ('[errors."a b"]\ncode = 1\nsource = "x"', "[errors] a b: a name that is none in Python"),
        ('[fields]\nEchoResult = "text"', "[fields] EchoResult: Expected `array`, got `str`"),
        ('[deprecated]\nEchoResult = "x"', "[deprecated] EchoResult: Expected `object`, got `str`"),
    ],
)
def test_facts_of_another_form_stop_with_their_place(tmp_path: Path, facts: str, told: str) -> None:
    said = stopped(checkout(tmp_path, facts=f"{FACTS}{facts}\n"))
    assert said.startswith(f"{REVISION}: facts.toml {told}")
    assert said.endswith("; write it as the facts of another revision are")


def test_facts_of_another_form_are_told_together(tmp_path: Path) -> None:
    facts = f'{FACTS}[errors.X]\nsource = "x"\n[fields]\nEchoResult = 1\n[enums]\nGone = ["a"]\n'
    assert len(stopped(checkout(tmp_path, facts=facts)).splitlines()) == 3


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ('[patch]\nreason = "x"', "overlay.toml: begin each row of `patch` with [[patch]]"),
        ('[[patch]]\npointer = 3\nold = 1\nnew = 1\nreason = "x"', "pointer: Expected `str`"),
        ('[[typing]]\nnames = "A"\nreason = "x"', "names: Expected `array`, got `str`"),
        ('[[pick]]\nname = "A"\narms = ["x"]\nreason = "x"', "arms: Expected `object`, got `str`"),
        ('[[pick]]\nname = "A"\narms = [{ type = "B" }]\nreason = "x"', "required field `when`"),
        ('[[extra]]\nnames = ["A"]\nsince = 3\nreason = "x"', "since: Expected `str`, got `int`"),
        ('[[extra]]\nnames = ["A"]\nrevisions = "x"\nreason = "x"', "revisions: Expected `array`"),
        ('[[extra]]\nnames = ["A"]\nreason = 3', "reason: Expected `str`, got `int`"),
        ('[[role]]\nname = "a b"\nmethod = "echo"\nreason = "x"', "'a b' cannot name a fact"),
        ('[[role]]\nname = "class"\nmethod = "echo"\nreason = "x"', "'class' cannot name a fact"),
        ('[[role]]\nname = "spec"\nmethod = "echo"\nreason = "x"', "the name of another fact"),
    ],
)
def test_a_row_of_another_form_stops(tmp_path: Path, row: str, told: str) -> None:
    said = stopped(checkout(tmp_path, overlay=f"{CAPABILITY}\n{row}\n"))
    assert told in said
    assert "\n" not in said


def test_a_constant_that_is_no_text_stops_at_its_place(tmp_path: Path) -> None:
    row = '[[const]]\nproperty = "text"\nvalue = 3\nreason = "x"\n'
    said = stopped(checkout(tmp_path, overlay=f"{CAPABILITY}\n{row}"))
    assert "#/$defs/EchoRequestParams/properties/text: `const` with no value" in said


def test_all_that_matches_nothing_is_told_together(tmp_path: Path) -> None:
    row = '[[extra]]\nnames = ["Gone"]\nreason = "x"\n'
    root = checkout(tmp_path, overlay=f"{CAPABILITY}\n{row}{row}")
    (root / "schema" / "docs.toml").write_text('[types]\nNobody = "What is not there."\n')
    assert stopped(root).splitlines() == [
        "overlay.toml: [[extra]] row 1: Gone matched nothing in any revision; remove it",
        "overlay.toml: [[extra]] row 2: Gone matched nothing in any revision; remove it",
        "docs.toml: [types] Nobody: it matched nothing in any revision; remove it",
    ]


def test_all_lines_about_facts_that_no_revision_states_are_told_together(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    lines = '[errors]\nloud = "Too loud by far."\nquiet = "Cannot be heard."\n'
    (root / "schema" / "profile.toml").write_text(lines)
    assert stopped(root).splitlines() == [
        "profile.toml: [errors] loud: no revision states it; remove the line",
        "profile.toml: [errors] quiet: no revision states it; remove the line",
    ]


# --- values that rows give ---

LENIENT = '[[lenient]]\npath = "EchoResult/it"\nvalue = {value}\nreason = "x"\n'
KINDS: dict[str, Any] = {
    "str": STRING,
    "int": {"type": "integer"},
    "number": {"type": "number"},
    "bool": {"type": "boolean"},
    "enum": {"enum": ["a", 1]},
    "list": {"type": "array", "items": STRING},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "union": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "alias": ref("Short"),
    "struct": ref("Box"),
}


def with_value(folder: Path, kind: str, value: str) -> Path:
    more = {"Short": {"enum": ["a"]}, "Box": struct(a=STRING)}
    result = {**more, "EchoResult": struct(it=KINDS[kind])}
    return checkout(folder, result, overlay=f"{CAPABILITY}\n{LENIENT.format(value=value)}")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("str", '""'),
        ("int", "0"),
        ("number", "0"),
        ("number", "0.5"),
        ("bool", "false"),
        ("enum", '"a"'),
        ("enum", "1"),
        ("list", '["a"]'),
        ("map", "{ a = 1 }"),
        ("union", "1"),
        ("alias", '"a"'),
    ],
)
def test_a_value_of_the_type_of_its_field_is_taken(tmp_path: Path, kind: str, value: str) -> None:
    assert list(read_revisions(with_value(tmp_path, kind, value)).stops) == []


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("str", "0"),
        ("int", "true"),
        ("int", "0.5"),
        ("number", '""'),
        ("bool", "0"),
        ("enum", "true"),
        ("enum", '"b"'),
        ("list", "[1]"),
        ("map", '{ a = "" }'),
        ("union", '""'),
        ("alias", '"b"'),
        ("struct", "{}"),
    ],
)
def test_a_value_that_its_field_cannot_hold_stops(tmp_path: Path, kind: str, value: str) -> None:
    (stop,) = read_revisions(with_value(tmp_path, kind, value)).stops
    assert stop.pointer == "overlay.toml/lenient/1"
    assert stop.construct.startswith("[[lenient]] row 1 gives `EchoResult/it` ")


def test_lists_that_stand_for_absent_ones_are_not_shared(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay.toml"
    overlay.write_text('[[lenient]]\npath = "Top/it"\nvalue = []\nreason = "x"\n')
    schema = b'{"$defs": {"Top": {"type": "object", "properties": {"it": {"type": "array"}}, '
    with surfaces(model(schema + b'"required": ["it"]}}}', overlay), pydantic=False) as made:
        made.types.Top().it.append(1)
        assert made.types.Top().it == []


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ({"anyOf": [{"type": "null"}, STRING]}, 'value = ""'),
        (ref("Box"), 'by = "say which file"'),
        ({"anyOf": [ref("Box"), {"type": "integer"}]}, "value = 0"),
    ],
)
def test_the_row_for_a_new_field_fits_it(tmp_path: Path, kind: Any, row: str) -> None:
    box = {"Box": struct(a=STRING)}
    checkout(tmp_path, box, revision="2030-01-01")
    checkout(tmp_path, {**box, "EchoResult": struct(it=kind, text=STRING)}, revision="2030-02-02")
    (stop,) = read_revisions(tmp_path).stops
    assert row in stop.row
