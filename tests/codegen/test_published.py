"""Kept schemas compared with the published ones, which are not in this repository.

`MCP_GEN_PUBLISHED_SCHEMAS` names a folder with `<revision>/schema.json`, such as `schema` in a
checkout of the specification. Without it these tests are not collected: the hash of each structure
is pinned, and `nox -s schema` computes it from the published file.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from codegen.schema.structure import print_schema, without_prose
from codegen.verify.instances import Schema, instance, mutations
from tests.codegen.kept import PROSE, every_revision, kept_bytes, keywords
from tests.support.property_tests import given, settings, st

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "MCP_GEN_PUBLISHED_SCHEMAS"


def published_bytes(revision: str) -> bytes:
    """Return the published file."""
    return (Path(os.environ[FOLDER]) / revision / "schema.json").read_bytes()


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
