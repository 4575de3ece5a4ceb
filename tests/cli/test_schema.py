"""Tests of `mcp-gen schema`: the JSON Schema of the types of a revision."""

from __future__ import annotations

import json

import mcp_wire
from mcp_wire.json_schemas import json_schema
from tests.cli.running import complaint, run


def test_the_types_of_the_newest_revision_are_printed() -> None:
    assert json.loads(run("schema").stdout) == json_schema(mcp_wire.LATEST)


def test_the_types_of_a_revision_are_printed() -> None:
    shown = json.loads(run("schema", "--revision", "2024-11-05").stdout)
    assert shown == json_schema("2024-11-05")


def test_one_type_is_printed_with_what_it_refers_to() -> None:
    shown = json.loads(run("schema", "--revision", "2025-11-25", "--type", "Tool").stdout)
    assert shown == json_schema("2025-11-25", "Tool")


def test_an_open_schema_is_printed() -> None:
    shown = json.loads(run("schema", "--type", "Tool", "--open").stdout)
    assert shown == json_schema(mcp_wire.LATEST, "Tool", closed=False)


def test_an_unknown_type_is_refused_with_what_is_close() -> None:
    assert complaint("schema", "--type", "Tol") == (
        f"mcp-gen schema: {mcp_wire.LATEST} has no type 'Tol'; there is Tool"
    )


def test_an_unknown_revision_is_refused_with_those_there_are() -> None:
    assert complaint("schema", "--revision", "2025-06-19") == (
        f"mcp-gen schema: no revision '2025-06-19'; there are {', '.join(mcp_wire.REVISIONS)}"
    )
