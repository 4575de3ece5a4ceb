"""Small hostile schemas: each gives the right types on both surfaces, or stops with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from codegen.errors import CodegenError, Stop, Stopped
from codegen.schema.keywords import ANNOTATIONS
from tests.codegen.hostile.fuzzing import for_any_revision
from tests.codegen.hostile.pipeline import model, surfaces

Case = dict[str, Any]

CORPUS = Path(__file__).parent / "corpus"
FEWEST = 80
TYPE = "Top"
"""The definition that instances are decoded as."""


def cases(verdict: str) -> list[Any]:
    """Return the cases with a verdict, `accepted` or `stops`, as parameters named by sentences."""
    return [
        pytest.param(case, id=f"{file.stem}: {ascii(case['case'])[1:-1]}")
        for file in sorted(CORPUS.glob("*.json"))
        for case in json.loads(file.read_text("utf-8"))
        if verdict in case
    ]


def text_of(case: Case) -> bytes:
    if "definitions" in case:
        return json.dumps({"$defs": case["definitions"]}).encode()
    text: str = case["text"]
    return text.encode()


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """Return an overlay that says of notes that nothing checks them."""
    path = tmp_path / "overlay.toml"
    path.write_text(f'[[unchecked]]\nnames = {json.dumps(ANNOTATIONS)}\nreason = "a test"\n')
    return path


def with_rows(overlay: Path, case: Case) -> Path:
    overlay.write_text(overlay.read_text() + case.get("rows", ""), "utf-8")
    return overlay


@pytest.mark.parametrize("case", cases("accepted"))
def test_a_schema_gives_types_that_take_what_is_valid_and_nothing_else(
    case: Case, overlay: Path
) -> None:
    wanted = [*((one, True) for one in case["accepted"]), *((o, False) for o in case["refused"])]
    with surfaces(model(text_of(case), with_rows(overlay, case))) as made:
        for instance, valid in wanted:
            data = json.dumps(instance).encode()
            assert made.decodes(TYPE, data) == valid, f"msgspec: {instance}"
            if instance not in case.get("deviates", ()):
                assert made.validates(TYPE, data) == valid, f"pydantic: {instance}"


@pytest.mark.parametrize("case", cases("accepted"))
def test_the_verdicts_are_those_of_json_schema(case: Case) -> None:
    definitions = case["definitions"]
    schema = {"$defs": definitions, "$ref": f"#/$defs/{TYPE}"}
    judge = jsonschema_rs.validator_for(schema)
    deviating = case.get("deviates", [])
    valid = [one for one in case["accepted"] if one not in deviating]
    assert [one for one in valid if not judge.is_valid(one)] == []
    assert [one for one in [*case["refused"], *deviating] if judge.is_valid(one)] == []


@pytest.mark.parametrize("case", cases("accepted"))
def test_what_was_decoded_is_valid_when_it_is_encoded_again(case: Case, overlay: Path) -> None:
    schema = {"$defs": case["definitions"], "$ref": f"#/$defs/{TYPE}"}
    judge = jsonschema_rs.validator_for(schema)
    with surfaces(model(text_of(case), with_rows(overlay, case)), pydantic=False) as made:
        again = [made.round_trip(TYPE, json.dumps(one).encode()) for one in case["accepted"]]
    deviating = case.get("deviates", [])
    assert [one for one in again if one not in deviating and not judge.is_valid(one)] == []


@pytest.mark.parametrize("case", cases("stops"))
def test_a_schema_that_no_type_says_stops_once_with_all_its_places(
    case: Case, overlay: Path
) -> None:
    with pytest.raises(CodegenError) as caught:
        model(text_of(case), with_rows(overlay, case))
    stops = caught.value.stops if isinstance(caught.value, Stopped) else ()
    told = {(stop.pointer, str(stop)) for stop in stops} or {("", str(caught.value))}
    for pointer, what, *row in case["stops"]:
        found = [line for at, line in told if at == pointer.replace("\\n", "\n") and what in line]
        assert found, f"{pointer}: {what}\nis not in\n{caught.value}"
        assert all("\n" not in line for line in found)
        if row:
            assert any(row[0] in stop.row for stop in stops if what in str(stop))
    assert len(told) == len(case["stops"]), str(caught.value)


@pytest.mark.parametrize("case", cases("stops"))
def test_the_rows_that_stops_print_end_them(case: Case, overlay: Path) -> None:
    with_rows(overlay, case)
    before = stops_of(case, overlay)
    rows = "".join(for_any_revision(stop.row) for stop in before)
    overlay.write_text(overlay.read_text() + rows)
    ended = {(stop.pointer, stop.construct) for stop in before if stop.row}
    after = {(stop.pointer, stop.construct) for stop in stops_of(case, overlay)}
    assert ended & after == set()


def stops_of(case: Case, overlay: Path) -> tuple[Stop, ...]:
    """Return what stops a schema; nothing if the whole file is refused, or if nothing does."""
    try:
        model(text_of(case), overlay)
    except Stopped as stopped:
        return stopped.stops
    except CodegenError:
        pass
    return ()


def test_the_corpus_is_large_enough() -> None:
    assert len([*cases("accepted"), *cases("stops")]) >= FEWEST
