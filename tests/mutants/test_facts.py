"""Changes of facts and of overlay rows."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from tests.mutants.choice.selection import FACT_TABLE
from tests.mutants.facts import allowed_values, facts_changes, overlay_changes

ROOT = Path(__file__).parents[2]

FACTS = b"""\
revision = "2025-11-25"

[facts.tasks]
value  = "core"
source = "https://example.com/#tasks"

[facts.get_stream]
value  = true
source = "https://example.com/#stream"

[facts.version_header]
value = "MCP-Protocol-Version"

[errors.PARSE_ERROR]
code   = -32700
"""


def changed(source: bytes, allowed: Mapping[str, frozenset[object]]) -> list[str]:
    before = source.decode().splitlines()
    after = [
        one.change.applied(source).decode().splitlines()
        for one in facts_changes(source, allowed, "2025-11-25")
    ]
    return [
        next(new for old, new in zip(before, lines, strict=True) if old != new) for lines in after
    ]


def test_a_fact_gets_the_values_of_other_revisions() -> None:
    allowed = {
        "tasks": frozenset({"none", "core", "extension"}),
        "get_stream": frozenset({True}),
        "version_header": frozenset({"MCP-Protocol-Version", None}),
    }
    assert changed(FACTS, allowed) == [
        'value  = "extension"',
        'value  = "none"',
        "value  = false",
        'value = "MCP-Protocol-Versionx"',
        "",
        "code   = -32699",
    ]


def test_a_change_names_the_attribute_and_the_revision() -> None:
    allowed = {"tasks": frozenset({"core", "none"})}
    first, *_, last = facts_changes(FACTS, allowed, "2025-11-25")
    assert (first.fact, first.revision) == ("tasks", "2025-11-25")
    assert first.change.what == 'facts.tasks: "core" becomes "none"'
    assert (last.fact, last.change.what) == ("", "errors.PARSE_ERROR: -32700 becomes -32699")


def test_the_allowed_values_are_those_of_all_revisions() -> None:
    allowed = allowed_values(ROOT / "schema")
    assert allowed["tasks"] == {"none", "core", "extension"}
    assert None in allowed["session_header"]


def test_rows_of_the_overlay_are_dropped_or_point_elsewhere() -> None:
    source = (
        b'# Names.\n[[name]]\npaths = ["A"]\nname = "B"\nreason = "r"\n\n'
        b'[[role]]\nname = "ping"\nmethod = "ping"\nreason = "r"\n\n# More.\n\n'
        b'[[role]]\nname = "log"\nmethod = "notifications/message"\nreason = "r"\n'
    )
    found = {one.change.what: one for one in overlay_changes(source)}
    assert list(found) == [
        'role "ping": dropped',
        'role "ping": method becomes "notifications/message"',
        'role "log": dropped',
        'role "log": method becomes "ping"',
    ]
    dropped = found['role "ping": dropped']
    rows = tomllib.loads(dropped.change.applied(source).decode())
    assert (dropped.fact, [row["name"] for row in rows["role"]]) == ("ping", ["log"])


def test_every_change_of_the_overlay_is_toml() -> None:
    source = (ROOT / "schema" / "overlay.toml").read_bytes()
    before = tomllib.loads(source.decode())
    found = [one.change for one in overlay_changes(source)]
    assert len(found) > 50
    assert all(tomllib.loads(one.applied(source).decode()) != before for one in found)


def test_the_tests_of_the_table_of_facts_are_there() -> None:
    assert (Path(__file__).parents[2] / FACT_TABLE).exists()
