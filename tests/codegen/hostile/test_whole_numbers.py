"""Integers written with a fraction, such as 5.0: JSON Schema takes them, and no surface does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.codegen.hostile.pipeline import Surfaces, model, surfaces

CONSTANT = {"const": 5}
INTEGERS: dict[str, Any] = {
    "type": {"type": "integer"},
    "constant": CONSTANT,
    "enum": {"enum": [5, 6]},
    "enum of numbers": {"type": "number", "enum": [5, 7]},
    "enum of several types": {"enum": [5, "a", None]},
    "enum with a boolean": {"enum": [True, 5]},
    "arm": {"anyOf": [CONSTANT, {"type": "string"}]},
}
OPEN: dict[str, Any] = {
    "number": {"type": "number"},
    "number beside a constant": {"anyOf": [CONSTANT, {"type": "number"}]},
    "anything": {},
}
PLACES = {"Alone": "5.0", "Member": '{"x":5.0}', "Items": "[5.0]", "Values": '{"k":5.0}'}


def definitions(schema: Any) -> dict[str, Any]:
    """Return the schema alone, and in each place where it may stand."""
    return {
        "Alone": schema,
        "Member": {"type": "object", "properties": {"x": schema}, "required": ["x"]},
        "Items": {"type": "array", "items": schema},
        "Values": {"type": "object", "additionalProperties": schema},
    }


def taken(there: Surfaces, name: str, text: str) -> tuple[bool, bool]:
    """Return the verdicts of the wire type and of the pydantic model."""
    return there.decodes(name, text.encode()), there.validates(name, text.encode())


def verdicts(folder: Path, schema: Any) -> dict[str, list[tuple[bool, bool]]]:
    """Return what both surfaces say, by place, of 5.0, 50e-1 and 5."""
    overlay = folder / "overlay.toml"
    overlay.write_text("")
    document = json.dumps({"$defs": definitions(schema)}).encode()
    with surfaces(model(document, overlay)) as there:
        return {
            name: [taken(there, name, text.replace("5.0", one)) for one in ("5.0", "50e-1", "5")]
            for name, text in PLACES.items()
        }


@pytest.mark.parametrize("kind", INTEGERS)
def test_an_integer_with_a_fraction_is_refused_by_both_surfaces(tmp_path: Path, kind: str) -> None:
    refused, accepted = (False, False), (True, True)
    assert jsonschema_rs.is_valid(INTEGERS[kind], 5.0)
    said = verdicts(tmp_path, INTEGERS[kind])
    assert said == {place: [refused, refused, accepted] for place in PLACES}


@pytest.mark.parametrize("kind", OPEN)
def test_a_number_with_a_fraction_that_is_whole_is_taken_by_both(tmp_path: Path, kind: str) -> None:
    said = verdicts(tmp_path, OPEN[kind])
    assert said == {place: [(True, True)] * 3 for place in PLACES}
