"""The JSON Schema that is written of the types of a revision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from codegen.__main__ import read
from codegen.emit.json_schema import json_schema
from codegen.model.docs import NO_DOCS, Docs
from codegen.model.overlay import Overlay
from tests.codegen.tiny import FACTS, REVISION, STRING, checkout, ref, struct

DEPRECATED = '[deprecated]\nEchoResult = { advice = "Say nothing.", source = "https://x.org" }\n'


def written(folder: Path, docs: Docs = NO_DOCS, facts: str = FACTS) -> dict[str, Any]:
    """Return what is written of the result of the tiny schema."""
    return definition(checkout(folder, facts=facts), "EchoResult", docs)


def definition(root: Path, name: str, docs: Docs = NO_DOCS) -> dict[str, Any]:
    """Return what is written of a type of a checkout."""
    schemas = root / "schema"
    revision = read(schemas / REVISION, Overlay(schemas / "overlay.toml"))
    made: dict[str, Any] = json.loads(json_schema(revision, docs))["$defs"][name]
    return made


def test_a_type_and_a_field_are_described_by_their_rows(tmp_path: Path) -> None:
    docs = Docs(
        "docs.toml", {"EchoResult": "What was heard."}, {"EchoResult.text": "The same text."}
    )
    result = written(tmp_path, docs)
    assert result["description"] == "What was heard."
    assert result["properties"]["text"] == {"description": "The same text.", "type": "string"}


def test_a_type_that_stands_twice_in_a_union_is_listed_once(tmp_path: Path) -> None:
    twice = {"anyOf": [{"type": ["number", "null"]}, {"type": "null"}]}
    schemas = checkout(tmp_path, {"Top": struct(a={"anyOf": [twice, {"type": "string"}]})})
    assert definition(schemas, "Top")["properties"]["a"] == {"type": ["number", "null", "string"]}


def test_a_reference_to_a_name_beyond_ascii_is_a_uri(tmp_path: Path) -> None:
    schemas = checkout(tmp_path, {"Größe": struct(a=STRING), "Top": struct(a=ref("Größe"))})
    assert definition(schemas, "Top")["properties"]["a"] == {"$ref": "#/$defs/Gr%C3%B6%C3%9Fe"}


def test_what_has_no_row_has_no_description(tmp_path: Path) -> None:
    assert written(tmp_path)["properties"]["text"] == {"type": "string"}


def test_the_advice_of_a_deprecated_type_is_behind_its_description(tmp_path: Path) -> None:
    docs = Docs("docs.toml", {"EchoResult": "What was heard."}, {})
    result = written(tmp_path, docs, FACTS + DEPRECATED)
    assert result["description"] == "What was heard. Deprecated: Say nothing."
    assert result["deprecated"] is True
