"""Kept parts of the published schemas: all of the structure, none of the prose."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.errors import CodegenError
from codegen.schema.structure import Json, print_schema, without_prose
from tests.instances import Schema, instance, mutations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

REPOSITORY = Path(__file__).parents[2]
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
PROSE = {"$comment", "description", "examples", "title"}

every_revision = pytest.mark.parametrize("revision", REVISIONS)


def kept_bytes(revision: str) -> bytes:
    return (REPOSITORY / "schema" / revision / "schema.json").read_bytes()


def published_bytes(revision: str) -> bytes:
    """Return the published file, which is not in the repository but may lie beside it."""
    file = REPOSITORY.parent / "shared" / "upstream" / revision / "schema.json"
    if not file.exists():
        pytest.skip(f"the published schema is not here: ../shared/upstream/{revision}/schema.json")
    return file.read_bytes()


def keywords(schema: Any, pointer: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield pointer, keyword and value of every keyword; for nested schemas, names or number.

    Independent of `codegen.schema.structure`, as a second opinion.
    """
    if isinstance(schema, bool):
        return
    for keyword, value in schema.items():
        match keyword:
            case "properties" | "$defs" | "definitions":
                yield pointer, keyword, json.dumps(sorted(value))
                for name in value:
                    yield from keywords(value[name], f"{pointer}/{keyword}/{name}")
            case "anyOf" | "allOf":
                yield pointer, keyword, str(len(value))
                for index, arm in enumerate(value):
                    yield from keywords(arm, f"{pointer}/{keyword}/{index}")
            case "items" | "additionalProperties":
                yield pointer, keyword, json.dumps(isinstance(value, bool) and value)
                yield from keywords(value, f"{pointer}/{keyword}")
            case _:
                yield pointer, keyword, json.dumps(value)


@cache
def validators(schema: bytes) -> Mapping[str, jsonschema_rs.Validator]:
    """Return one validator for each definition."""
    document = json.loads(schema)
    container = "$defs" if "$defs" in document else "definitions"
    # Formats are checked too, so that a lost `format` changes a verdict.
    return {
        name: jsonschema_rs.validator_for(
            {**document, "$ref": f"#/{container}/{name}"}, validate_formats=True
        )
        for name in document[container]
    }


class Verdicts:
    """Verdicts of the published and the kept schema of one revision on the same values."""

    def __init__(self, revision: str) -> None:
        self.document: Schema = json.loads(published_bytes(revision))
        self.definitions: Mapping[str, Schema] = (
            self.document.get("$defs") or self.document["definitions"]
        )
        self._published = validators(published_bytes(revision))
        self._kept = validators(kept_bytes(revision))
        self.seen: Counter[tuple[str, bool]] = Counter()

    def same(self, definition: str, value: object) -> bool:
        """Return the common verdict of both schemas, after counting it."""
        published = self._published[definition].is_valid(value)
        kept = self._kept[definition].is_valid(value)
        assert kept is published, f"{definition}: published says {published} of {value}"
        self.seen[definition, kept] += 1
        return kept


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
    schema: Json = {"$defs": {"Tool": {"properties": {"a/b~c": {"oneOf": []}}}}}
    with pytest.raises(CodegenError) as caught:
        without_prose(schema)
    assert str(caught.value) == (
        "unknown keyword `oneOf` at `#/$defs/Tool/properties/a~1b~0c`; "
        "add it to codegen/schema/structure.py"
    )


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
def test_the_kept_schema_is_what_the_step_makes_of_the_published_one(revision: str) -> None:
    assert print_schema(without_prose(json.loads(published_bytes(revision)))) == kept_bytes(
        revision
    )


@every_revision
def test_the_kept_schema_differs_from_the_published_one_in_prose_only(revision: str) -> None:
    published = Counter(keywords(json.loads(published_bytes(revision))))
    gone = published - Counter(keywords(json.loads(kept_bytes(revision))))
    assert gone == Counter({found: 1 for found in published if found[1] in PROSE})


@every_revision
def test_the_kept_schema_adds_nothing_to_the_published_one(revision: str) -> None:
    kept = Counter(keywords(json.loads(kept_bytes(revision))))
    assert kept - Counter(keywords(json.loads(published_bytes(revision)))) == Counter()


TOOL = {"name": "add", "inputSchema": {"type": "object"}}


@every_revision
@pytest.mark.parametrize(
    ("definition", "value", "valid"),
    [
        ("Tool", TOOL, True),
        ("Tool", {**TOOL, "description": "adds"}, True),
        ("Tool", {**TOOL, "description": 3}, False),
        ("Tool", {**TOOL, "inputSchema": {"type": "string"}}, False),
        ("Tool", {"name": "add"}, False),
        ("TextContent", {"type": "text", "text": ""}, True),
        ("TextContent", {"type": "image", "text": ""}, False),
        ("Resource", {"uri": "file:///a", "name": "a"}, True),
        ("Resource", {"uri": "no uri", "name": "a"}, False),
        ("ModelPreferences", {"costPriority": 1}, True),
        ("ModelPreferences", {"costPriority": 1.1}, False),
        ("LoggingLevel", "alert", True),
        ("LoggingLevel", "loud", False),
        ("RequestId", 1, True),
        ("RequestId", 1.5, False),
    ],
)
def test_published_and_kept_schema_agree_on_hand_made_instances(
    revision: str, definition: str, value: object, valid: bool
) -> None:
    assert Verdicts(revision).same(definition, value) is valid


@every_revision
def test_published_and_kept_schema_agree_on_every_step_away_from_valid(revision: str) -> None:
    verdicts = Verdicts(revision)
    for name, schema in verdicts.definitions.items():
        for end in (0, -1):
            value = instance(verdicts.document, schema, itemgetter(end))
            verdicts.same(name, value)
            for changed in mutations(value):
                verdicts.same(name, changed)
    both = {(name, verdict) for name in verdicts.definitions for verdict in (True, False)}
    assert both - set(verdicts.seen) == set()


@every_revision
def test_published_and_kept_schema_agree_on_random_instances(revision: str) -> None:
    verdicts = Verdicts(revision)

    @st.composite
    def cases(draw: st.DrawFn) -> tuple[str, object]:
        def choose(options: Any) -> Any:
            return draw(st.sampled_from(options))

        name = choose(sorted(verdicts.definitions))
        value = instance(verdicts.document, verdicts.definitions[name], choose)
        return name, choose(list(mutations(value))) if choose([False, True]) else value

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(cases())
    def agree(case: tuple[str, object]) -> None:
        verdicts.same(*case)

    agree()
    valid = sum(count for (_, verdict), count in verdicts.seen.items() if verdict)
    assert 40 < valid < verdicts.seen.total() - 40
