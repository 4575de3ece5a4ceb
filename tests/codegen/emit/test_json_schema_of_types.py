"""The JSON Schema that is written of the types of a revision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from codegen.__main__ import read
from codegen.emit.json_schema import json_schema
from codegen.model.docs import NO_DOCS, Docs
from codegen.model.overlay import Overlay
from tests.codegen.tiny import FACTS, REVISION, checkout

DEPRECATED = '[deprecated]\nEchoResult = { advice = "Say nothing.", source = "https://x.org" }\n'


def written(folder: Path, docs: Docs = NO_DOCS, facts: str = FACTS) -> dict[str, Any]:
    """Return what is written of the result of the tiny schema."""
    schemas = checkout(folder, facts=facts) / "schema"
    revision = read(schemas / REVISION, Overlay(schemas / "overlay.toml"))
    definition: dict[str, Any] = json.loads(json_schema(revision, docs))["$defs"]["EchoResult"]
    return definition


def test_a_type_and_a_field_are_described_by_their_rows(tmp_path: Path) -> None:
    docs = Docs(
        "docs.toml", {"EchoResult": "What was heard."}, {"EchoResult.text": "The same text."}
    )
    result = written(tmp_path, docs)
    assert result["description"] == "What was heard."
    assert result["properties"]["text"] == {"description": "The same text.", "type": "string"}


def test_what_has_no_row_has_no_description(tmp_path: Path) -> None:
    assert written(tmp_path)["properties"]["text"] == {"type": "string"}


def test_the_advice_of_a_deprecated_type_is_behind_its_description(tmp_path: Path) -> None:
    docs = Docs("docs.toml", {"EchoResult": "What was heard."}, {})
    result = written(tmp_path, docs, FACTS + DEPRECATED)
    assert result["description"] == "What was heard. Deprecated: Say nothing."
    assert result["deprecated"] is True
