"""Rows that stops print: pasted as they are, they end the run at once, and mean what they say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from codegen.errors import CodegenError, Stopped
from codegen.schema.keywords import ANNOTATIONS
from tests.codegen.hostile.fuzzing import for_any_revision
from tests.codegen.hostile.pipeline import model, surfaces
from tests.codegen.hostile.test_corpus import cases, text_of, with_rows

TEXT = {"type": "string"}
INTEGER = {"type": "integer"}


def members(*names: str, **schema: Any) -> dict[str, Any]:
    """Return an object with these members, all of them texts."""
    return {"type": "object", "properties": dict.fromkeys(names, TEXT), **schema}


@dataclass(frozen=True)
class Case:
    definitions: dict[str, Any]
    accepted: tuple[Any, ...]
    refused: tuple[Any, ...]


CASES = {
    "arms that require one member each": Case(
        {"Top": members("a", "b", anyOf=[{"required": ["a"]}, {"required": ["b"]}])},
        ({"a": "x"}, {"b": "x"}, {"a": "x", "b": "y"}),
        ({}, {"a": 1}, {"b": 1}, []),
    ),
    "arms that require members, one of them more": Case(
        {
            "Top": members(
                "a", "b", "c", anyOf=[{"required": ["a", "c"]}, {"required": ["b", "c", "a"]}]
            )
        },
        ({"a": "x", "c": "x"}, {"a": "x", "b": "x", "c": "x"}),
        ({"a": "x"}, {"b": "x", "c": "x"}, {}),
    ),
    "one arm of three without a member of its own": Case(
        {
            "Top": members(
                "a",
                "b",
                "c",
                anyOf=[{"required": ["a"]}, {"required": ["b", "c"]}, {"required": ["b"]}],
            )
        },
        ({"a": "x"}, {"b": "x"}, {"b": "x", "c": "x"}),
        ({"c": "x"}, {}),
    ),
    "objects that only the type of a member tells apart": Case(
        {
            "A": {**members(required=["x"]), "properties": {"x": TEXT}},
            "B": {**members(required=["x"]), "properties": {"x": INTEGER}},
            "Top": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]},
        },
        ({"x": "a"}, {"x": 1}),
        ([], "x"),
    ),
    "bounds of one arm": Case(
        {"Top": {"anyOf": [{**INTEGER, "minimum": 5}, {"type": "number"}]}}, (1, 7, 1.5), ("a",)
    ),
    "bounds of both arms": Case(
        {"Top": {"anyOf": [{**INTEGER, "minimum": 10}, {**INTEGER, "maximum": 0}]}},
        (11, -1, 5),
        ("a", 1.5),
    ),
    "bounds inside of a list": Case(
        {
            "Top": {
                "anyOf": [
                    {"type": "array", "items": {**TEXT, "minLength": 1}},
                    {"type": "array", "items": TEXT},
                ]
            }
        },
        ([], [""], ["a"]),
        ([1], "a"),
    ),
    "bounds behind a name": Case(
        {
            "Short": {**TEXT, "maxLength": 2},
            "Both": {"anyOf": [{"$ref": "#/$defs/Short"}, {"type": "null"}]},
            "Top": members(
                properties={"a": {"anyOf": [{"$ref": "#/$defs/Both"}, TEXT]}}, required=["a"]
            ),
        },
        ({"a": "abc"}, {"a": "a"}, {"a": None}),
        ({}, {"a": 1}),
    ),
    "bounds of arms beside an allOf": Case(
        {
            "Base": {"type": ["string", "integer"]},
            "Top": {
                "allOf": [{"$ref": "#/$defs/Base"}],
                "anyOf": [{**TEXT, "minLength": 2}, {"enum": ["", 7]}],
                "description": "Prose stays in a draft.",
            },
        },
        ("", "ab", 7),
        (None, 8, []),
    ),
    "a oneOf beside an allOf": Case(
        {
            "Base": {"type": ["string", "number"]},
            "Top": {"allOf": [{"$ref": "#/$defs/Base"}], "oneOf": [INTEGER, {"type": "number"}]},
        },
        (1, 1.5),
        ("a", None),
    ),
}


def started(folder: Path) -> Path:
    overlay = folder / "overlay.toml"
    overlay.write_text(f'[[unchecked]]\nnames = {json.dumps(ANNOTATIONS)}\nreason = "a test"\n')
    return overlay


def paste(document: bytes, overlay: Path) -> None:
    """Write the rows that the first run prints into the overlay, once."""
    with pytest.raises(Stopped) as caught:
        model(document, overlay)
    assert [stop.pointer for stop in caught.value.stops if not stop.row] == []
    rows = {for_any_revision(stop.row) for stop in caught.value.stops}
    overlay.write_text(overlay.read_text("utf-8") + "".join(sorted(rows)), "utf-8")


@pytest.mark.parametrize("name", CASES)
def test_with_the_rows_of_the_first_run_the_second_gives_types(tmp_path: Path, name: str) -> None:
    case, overlay = CASES[name], started(tmp_path)
    document = json.dumps({"$defs": case.definitions}).encode()
    paste(document, overlay)
    wanted = [*((one, True) for one in case.accepted), *((one, False) for one in case.refused)]
    with surfaces(model(document, overlay)) as made:
        for instance, valid in wanted:
            data = json.dumps(instance).encode()
            assert made.decodes("Top", data) == valid, f"msgspec: {instance}"
            assert made.validates("Top", data) == valid, f"pydantic: {instance}"


@pytest.mark.parametrize("case", cases("stops"))
def test_a_stop_says_place_construct_and_what_to_do(case: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(CodegenError) as caught:
        model(text_of(case), with_rows(started(tmp_path), case))
    for stop in caught.value.stops if isinstance(caught.value, Stopped) else ():
        assert stop.pointer.startswith("#")
        assert stop.construct
        assert stop.advice
