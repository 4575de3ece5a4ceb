"""Large schemas: thousands of definitions become two surfaces in seconds."""

from __future__ import annotations

import json
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from codegen.errors import Stopped
from tests.codegen.hostile.pipeline import model, surfaces

USUAL, FULL = 300, 5000
"""Definitions usually, and with `--full`."""
LIMIT_S = 30.0


def definitions(count: int) -> dict[str, Any]:
    """Return definitions of all kinds; they refer to earlier ones, and objects to themselves."""
    random = Random(count)
    made: dict[str, Any] = {}
    for number in range(count):
        ref, base = ({"$ref": f"#/$defs/D{place}"} for place in places(random, number))
        name = f"D{number}"
        match number % 5 if number >= 10 else 0:
            case 0:
                tag, itself = {"const": f"k{number}"}, {"$ref": f"#/$defs/{name}"}
                members = {"kind": tag, "name": {"type": "string"}, "next": itself, "other": ref}
                made[name] = {"type": "object", "properties": members, "required": ["kind"]}
            case 1:
                made[name] = {"anyOf": [base, {"type": "null"}]}
            case 2:
                made[name] = {"enum": [f"v{number}", "x", "y"]}
            case 3:
                more = {"type": "object", "properties": {"more": ref}, "required": ["more"]}
                made[name] = {"allOf": [base, more]}
            case _:
                made[name] = {"type": "array", "items": ref}
    return made


def places(random: Random, number: int) -> tuple[int, int]:
    """Return the number of any earlier definition, and of one that is an object."""
    half = max(number // 2, 1)
    return random.randrange(half), random.randrange(half) // 5 * 5


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    path = tmp_path / "overlay.toml"
    path.write_text("")
    return path


def test_thousands_of_definitions_become_both_surfaces(
    request: pytest.FixtureRequest, overlay: Path
) -> None:
    count = FULL if request.config.getoption("full") else USUAL
    document = json.dumps({"$defs": definitions(count)}).encode()
    started = time.process_time()
    made = model(document, overlay)
    with surfaces(made, pydantic=False) as there:
        took_s = time.process_time() - started
        assert there.decodes("D0", b'{"kind":"k0"}')
        assert not there.decodes("D0", b'{"kind":"k5"}')
    assert took_s < LIMIT_S
    with surfaces(made) as there:
        assert there.validates("D0", b'{"kind":"k0"}')
        assert not there.validates("D0", b'{"kind":"k5"}')


@pytest.mark.parametrize("turned", [False, True], ids=["forwards", "backwards"])
def test_a_long_chain_of_names_stops(overlay: Path, turned: bool) -> None:
    chain: dict[str, Any] = {f"A{i}": {"$ref": f"#/$defs/A{i + 1}"} for i in range(1000)}
    chain["A1000"] = {"type": "string"}
    ordered = dict(reversed(chain.items())) if turned else chain
    with pytest.raises(Stopped, match="names for names over 64 deep"):
        model(json.dumps({"$defs": ordered}).encode(), overlay)


def test_a_long_chain_of_bases_is_one_object(overlay: Path) -> None:
    chain: dict[str, Any] = {}
    for i in range(300):
        own = {"type": "object", "properties": {f"p{i}": {"type": "string"}}}
        chain[f"A{i}"] = {"allOf": [{"$ref": f"#/$defs/A{i + 1}"}, own]}
    chain["A300"] = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    with surfaces(model(json.dumps({"$defs": chain}).encode(), overlay), pydantic=False) as there:
        assert there.decodes("A0", b'{"x":"","p7":""}')
        assert not there.decodes("A0", b'{"x":"","p7":1}')
        assert not there.decodes("A0", b'{"p7":""}')


def test_a_union_of_a_thousand_objects_is_told_apart_by_its_tag(overlay: Path) -> None:
    arms: dict[str, Any] = {
        f"A{i}": {"type": "object", "properties": {"k": {"const": i}}, "required": ["k"]}
        for i in range(1000)
    }
    arms["Top"] = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in arms]}
    with surfaces(model(json.dumps({"$defs": arms}).encode(), overlay), pydantic=False) as there:
        assert there.decodes("Top", b'{"k":999}')
        assert not there.decodes("Top", b'{"k":1000}')


def test_copies_without_end_stop(overlay: Path) -> None:
    itself = {"$ref": "#/$defs/Top"}
    members = {name: {**itself, "required": [name]} for name in ("a", "b", "c")}
    document = json.dumps({"$defs": {"Top": {"type": "object", "properties": members}}}).encode()
    with pytest.raises(Stopped, match="an `allOf` of types that contain themselves"):
        model(document, overlay)
