"""Projection of random values: valid by the published schema of the target, and no loss untold.

A few values for each pair of revisions; 4,000 with `--full`.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from typing import Any

import jsonschema_rs
import pytest

import mcp_wire
from codegen.model.normalize import normalize
from codegen.model.overlay import Overlay
from codegen.schema.load import load
from mcp_gen import ProjectionError, project
from mcp_wire import Wire, decode, encode
from tests.wire.as_read import published
from tests.wire.revisions import SCHEMAS, kept, overlay_rows

FEW, MANY = 150, 4000

every_pair = pytest.mark.parametrize(
    ("source", "target"), list(permutations(mcp_wire.REVISIONS, 2))
)

CONSTANTS = {(row["property"], row["value"]) for row in overlay_rows("const")}
"""Constants that say of a message which one it is: the target's type says so without them."""


@cache
def structs(revision: str) -> list[str]:
    """Return the names of the published definitions that are decoded as structs."""
    there = kept(revision)
    return [name for name in there.decoded if issubclass(kind(there.named(name)), Wire)]


def kind(named: Any) -> type:
    return named if isinstance(named, type) else object


@pytest.fixture(name="number")
def _number(request: pytest.FixtureRequest) -> int:
    return MANY if request.config.getoption("full") else FEW


def values(source: str, target: str, number: int) -> Iterator[Wire]:
    """Yield random values of all types of a revision in turn, the same in every run."""
    there, names = kept(source), structs(source)
    for at in range(number):
        name = names[at % len(names)]
        given = there.instance(name, random.Random(f"{source} {target} {at}").choice)
        value: Wire = decode(there.named(name), json.dumps(given).encode())
        yield value


@cache
def validator(revision: str, name: str) -> jsonschema_rs.Validator:
    """Return a validator of the published schema, for the types that it does not name too."""
    there = kept(revision)
    if name in there.definitions:
        return published(there, name)
    document = json.loads((there.folder / "schema.json").read_bytes())
    schema = {**document, "allOf": [{"$ref": pointer(document, origins(revision)[name])}]}
    return jsonschema_rs.validator_for(schema)


@cache
def origins(revision: str) -> dict[str, str]:
    """Return the place in the published schema that each type is made from."""
    source = load(SCHEMAS / revision / "schema.json", None, revision, revision)
    return normalize(source, Overlay(SCHEMAS / "overlay.toml")).origins


def pointer(document: dict[str, Any], path: str) -> str:
    """Return the reference to a place, such as `CallToolRequest/params`."""
    container = "$defs" if "$defs" in document else "definitions"
    name, *steps = path.split("/")
    found, words = document[container][name], ["#", container, name]
    for step in steps:
        more = {"items": ["items"], "values": ["additionalProperties"]}.get(
            step, ["anyOf", step] if step.isdecimal() else ["properties", step]
        )
        if "properties" in found and step in found["properties"]:
            more = ["properties", step]
        for word in more:
            found = found[int(word) if isinstance(found, list) else word]
        words += more
    return "/".join(words)


def carries(given: Any, made: Any) -> bool:
    """Return True if all of a JSON value is found in another, where the target has its place."""
    if isinstance(given, list) and not isinstance(made, list):
        return len(given) == 1 and carries(given[0], made)
    if isinstance(given, list):
        return len(given) == len(made) and all(map(carries, given, made))
    if isinstance(given, dict) and isinstance(made, dict):
        return all(is_carried(key, value, made) for key, value in given.items())
    return bool(given == made or [given] == made)


def is_carried(key: str, value: Any, made: dict[str, Any]) -> bool:
    if key in made:
        return carries(value, made[key])
    if key == "title" and "annotations" in made:
        return bool(made["annotations"].get("title") == value)
    if key == "oneOf" and "enumNames" in made:
        titled = zip(made["enum"], made["enumNames"], strict=True)
        return bool(value == [{"const": const, "title": title} for const, title in titled])
    return isinstance(value, str) and (key, value) in CONSTANTS


@every_pair
def test_what_is_projected_is_valid_by_the_published_schema(
    source: str, target: str, number: int
) -> None:
    made = 0
    for value in values(source, target, number):
        try:
            projected = project(value, target).value
        except ProjectionError:
            continue
        plain = json.loads(encode(projected))
        check = validator(target, type(projected).__name__)
        assert not [error.message for error in check.iter_errors(plain)], (value, plain)
        made += 1
    assert made > number / 3


@every_pair
def test_what_is_projected_is_closed_at_the_target(source: str, target: str, number: int) -> None:
    for value in values(source, target, number):
        try:
            projected = project(value, target).value
        except ProjectionError:
            continue
        assert encode(decode(type(projected), encode(projected))) == encode(projected)


@every_pair
def test_what_is_lost_is_reported(source: str, target: str, number: int) -> None:
    whole = 0
    for value in values(source, target, number):
        try:
            projected, losses = project(value, target)
        except ProjectionError:
            continue
        if not losses:
            whole += 1
            given, made = json.loads(encode(value)), json.loads(encode(projected))
            assert carries(given, made), (given, made)
    assert whole


@every_pair
def test_what_is_refused_is_refused_with_its_path(source: str, target: str, number: int) -> None:
    refusals: list[str] = []
    for value in values(source, target, number):
        try:
            project(value, target)
        except ProjectionError as error:
            refusals.append(str(error))
    assert [text for text in refusals if not re.search(r" - at `\$.*`$", text)] == []
