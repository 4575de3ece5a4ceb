"""Kept parts of the published schemas: all of the structure, none of the prose."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from codegen.errors import CodegenError
from codegen.schema.sources import parse_sources
from codegen.schema.structure import Json, print_schema, without_prose
from tests.codegen.kept import PROSE, REPOSITORY, every_revision, kept_bytes, keywords


def test_prose_is_removed_from_nested_schemas() -> None:
    schema: Json = {
        "description": "a",
        "items": {"anyOf": [{"title": "b", "type": "string"}, {"$comment": "c"}]},
        "additionalProperties": {"examples": [1], "deprecated": True},
    }
    assert without_prose(schema) == {
        "items": {"anyOf": [{"type": "string"}, {}]},
        "additionalProperties": {"deprecated": True},
    }


@pytest.mark.parametrize("name", [*sorted(PROSE), "const", "enum", "anyOf", "$ref", "oneOf"])
def test_a_property_named_like_a_keyword_survives(name: str) -> None:
    schema: Json = {"properties": {name: {"type": "string"}}, "required": [name]}
    assert without_prose(schema) == schema


def test_a_definition_named_like_a_prose_keyword_survives() -> None:
    assert without_prose({"$defs": {"title": {"title": "b"}}}) == {"$defs": {"title": {}}}


def test_data_that_looks_like_prose_survives() -> None:
    schema: Json = {"const": {"description": "a"}, "enum": [{"title": "b"}]}
    assert without_prose(schema) == schema


def test_an_unknown_keyword_stops_and_is_named_with_its_pointer() -> None:
    schema: Json = {"$defs": {"Tool": {"properties": {"a/b~c": {"x-odd": []}}}}}
    with pytest.raises(CodegenError) as caught:
        without_prose(schema)
    assert str(caught.value) == (
        "unknown keyword `x-odd` at `#/$defs/Tool/properties/a~1b~0c`; "
        "add it to codegen/schema/keywords.py"
    )


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(CodegenError) as caught:
        without_prose({"x-one": 1, "items": {"x-two": 2}, "anyOf": {}})
    assert [line.partition(";")[0] for line in str(caught.value).split("\n")] == [
        "unknown keyword `x-one` at `#`",
        "unknown keyword `x-two` at `#/items`",
        "expected an array at `#/anyOf`, got dict",
    ]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"items": []}, "expected an object at `#/items`, got list"),
        ({"anyOf": {}}, "expected an array at `#/anyOf`, got dict"),
        ({"properties": True}, "expected an object at `#/properties`, got bool"),
    ],
)
def test_a_keyword_of_unexpected_shape_stops_with_its_pointer(
    schema: dict[str, Any], message: str
) -> None:
    with pytest.raises(CodegenError) as caught:
        without_prose(schema)
    assert str(caught.value).startswith(message)


def test_keys_are_sorted_and_arrays_stay_as_they_are() -> None:
    assert print_schema({"required": ["b", "a"], "enum": ["é"]}) == (
        '{\n  "enum": [\n    "é"\n  ],\n  "required": [\n    "b",\n    "a"\n  ]\n}\n'.encode()
    )


@every_revision
def test_a_kept_schema_has_no_prose(revision: str) -> None:
    assert [
        found for found in keywords(json.loads(kept_bytes(revision))) if found[1] in PROSE
    ] == []


@every_revision
def test_a_kept_schema_still_has_the_properties_named_like_prose(revision: str) -> None:
    names = {
        pointer.rpartition("/")[2] for pointer, _, _ in keywords(json.loads(kept_bytes(revision)))
    }
    assert "description" in names


@every_revision
def test_a_kept_schema_is_its_own_structure(revision: str) -> None:
    kept = kept_bytes(revision)
    assert print_schema(without_prose(json.loads(kept))) == kept


@every_revision
def test_the_structure_of_a_kept_schema_is_the_pinned_one(revision: str) -> None:
    sources = parse_sources((REPOSITORY / "schema" / "sources.toml").read_text("utf-8"))
    found = hashlib.sha256(kept_bytes(revision)).hexdigest()
    assert found == sources.revisions[revision].structure_sha256
