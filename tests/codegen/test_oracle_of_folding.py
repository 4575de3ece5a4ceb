"""Oracle of folding: datamodel-code-generator reads `allOf` before this generator merges it.

It makes a class with bases of each: what a class inherits must be what our fold has.
"""

from __future__ import annotations

import ast
import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import mcp_wire
from codegen.emit.pydantic_models import document, printed
from codegen.schema.json_values import Object
from codegen.verify.as_read import container, patched
from tests.codegen.test_oracle import Property, Seen, properties, read
from tests.wire.revisions import every_revision, kept

Members = dict[str, Property]

_MARKS = re.compile(r"#-datamodel-code-generator-#.*?#-special-#")
"""Marks of datamodel-code-generator in the pointers of anonymous schemas."""

EXTRAS = "__pydantic_extra__"
"""Field of theirs that stands for `additionalProperties`."""


def with_all_of(schema: Any, path: str) -> Iterator[str]:
    """Yield the places of `allOf`: a definition, and the properties below it."""
    if isinstance(schema, dict):
        if isinstance(schema.get("allOf"), list):
            yield path
        for wire, member in schema.get("properties", {}).items():
            yield from with_all_of(member, f"{path}/{wire}")


def places(definitions: Object) -> set[str]:
    return {path for name, schema in definitions.items() for path in with_all_of(schema, name)}


@cache
def unfolded(revision: str) -> Object:
    """Return the definitions with the overlay's patches, and nothing else done to them."""
    there = kept(revision)
    made = patched(there.document, there.deviations)
    text = json.dumps(made[container(made)]).replace(f"#/{container(made)}/", "#/$defs/")
    definitions: Object = json.loads(text)
    return definitions


@cache
def theirs(revision: str) -> Mapping[str, Members]:
    """Return the members of each class that has bases, inherited ones included, by its place."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "metadata.json"
        made = printed(document(unfolded(revision)), {}, constants_default=False, metadata=file)
        models: list[dict[str, Any]] = json.loads(file.read_bytes())["models"]
    bases = {
        node.name: [base.id for base in node.bases if isinstance(base, ast.Name)]
        for node in ast.parse(made).body
        if isinstance(node, ast.ClassDef)
    }
    home = {model["class_name"]: place_of(model) for model in models}
    own = {
        model["class_name"]: {
            field["alias"]: Property(
                field["required"], read(field["type"], home, optional=not field["required"])
            )
            for field in model["fields"]
            if field["alias"] != EXTRAS
        }
        for model in models
    }

    def inherited(name: str) -> Members:
        members: Members = {}
        for base in reversed(bases.get(name, [])):
            members |= inherited(base)
        return members | own.get(name, {})

    return {home[name]: inherited(name) for name in bases if set(bases[name]) & own.keys()}


def place_of(model: dict[str, Any]) -> str:
    return _MARKS.sub("", str(model["source_ref"])).removeprefix("#/$defs/")


@cache
def ours(revision: str) -> Mapping[str, Members]:
    """Return the members of each struct, by the place that it was made from."""
    origins = kept(revision).origins
    return {
        origins[name]: {
            wire: Property(one.required, placed(one.type, origins))
            for wire, one in properties(struct)
        }
        for name, struct in kept(revision).model.structs.items()
    }


def placed(seen: Seen, origins: Mapping[str, str]) -> Seen:
    """Return a type with the places of definitions instead of their names."""
    match seen:
        case ("definition", str(name)):
            return ("definition", origins[name])
        case (str(kind), inner):
            return (kind, placed(inner, origins))
        case frozenset():
            return frozenset(placed(one, origins) for one in seen)
        case _:
            return seen


def differences(
    revision: str, there: Mapping[str, Members], here: Mapping[str, Members]
) -> dict[str, tuple[Property | None, Property | None]]:
    """Return all differences by place and property; maps of [[open]] rows are left out."""
    rows = kept(revision).deviations
    return {
        f"{place}/{wire}": (said, meant)
        for place in sorted(there)
        for wire in sorted(there[place].keys() | here[place].keys())
        if (said := there[place].get(wire)) != (meant := here[place].get(wire))
        and not rows.match("open", f"{place}/{wire}")
    }


@every_revision
def test_every_fold_is_a_class_with_bases_of_theirs(revision: str) -> None:
    assert theirs(revision).keys() == places(unfolded(revision))


@every_revision
def test_a_fold_has_what_the_class_inherits(revision: str) -> None:
    assert differences(revision, theirs(revision), ours(revision)) == {}


def test_there_are_folds_of_both_kinds() -> None:
    found = {place for revision in mcp_wire.REVISIONS for place in places(unfolded(revision))}
    assert {"GetTaskResult", "HeaderMismatchError/error"} <= found


@pytest.mark.parametrize("place", ["GetTaskResult/status", "GetTaskResult/ttl"])
def test_what_a_fold_loses_is_seen(place: str) -> None:
    revision = "2025-11-25"
    name, _, wire = place.partition("/")
    members = dict(ours(revision)[name])
    required = members.pop(wire)
    dropped = {**ours(revision), name: members}
    optional = {**ours(revision), name: {**members, wire: Property(False, required.type)}}
    for wrong in (dropped, optional):
        assert list(differences(revision, theirs(revision), wrong)) == [place]
