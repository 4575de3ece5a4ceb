"""Tests of `mcp-gen diff`: changes between two revisions, and which side each one breaks."""

from __future__ import annotations

import pytest

import mcp_wire
from mcp_wire.changes import changes
from tests.cli.running import complaint, lines, printed_json, run

STEP = ("2025-03-26", "2025-06-18")


def test_the_first_line_counts_the_changes() -> None:
    first = f"2025-03-26 to 2025-06-18: {len(changes(*STEP))} changes"
    assert run("diff", *STEP).stdout.splitlines()[0] == first


def test_one_change_is_counted_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    first = changes(*STEP)[:1]
    monkeypatch.setattr("mcp_wire.changes.changes", lambda before, after: first)
    said = run("diff", *STEP).stdout.splitlines()[0]
    assert said == "2025-03-26 to 2025-06-18: 1 change"


def test_a_change_stands_under_whom_it_breaks() -> None:
    shown = lines("diff", *STEP)
    headings = [line for line in shown if line[0] in ("breaks", "additive:")]
    above = shown[: shown.index(["widened", "ContentBlock", "+", "ResourceLink"])]
    assert [line for line in headings if line in above][-1] == ["breaks", "receivers:", "3"]


def test_every_change_is_listed() -> None:
    words = {word for line in lines("diff", *STEP) for word in line}
    assert {change.path for change in changes(*STEP)} - words == set()


def test_brackets_of_a_type_are_shown() -> None:
    assert ["optional", "field", "added", "Tool.icons", "list[Icon]?"] in lines(
        "diff", "2025-06-18", "2025-11-25"
    )


def test_a_revision_has_not_changed_from_itself() -> None:
    newest = mcp_wire.LATEST
    assert run("diff", newest, newest).stdout == f"{newest} to {newest}: no changes\n"


def test_json_has_every_change_with_its_effect() -> None:
    assert printed_json("diff", *STEP) == [
        {
            "kind": change.kind,
            "path": change.path,
            "from": change.before,
            "to": change.after,
            "detail": change.detail,
            "effect": change.effect,
        }
        for change in changes(*STEP)
    ]


def test_markdown_escapes_the_bar_of_a_union() -> None:
    row = (
        "| type removed | `JSONRPCBatchRequestItem` | `JSONRPCRequest \\| JSONRPCNotification` |  |"
    )
    assert row in run("diff", *STEP, "--markdown").stdout.splitlines()


def test_markdown_has_a_row_for_every_change() -> None:
    shown = run("diff", *STEP, "--markdown").stdout.splitlines()
    rows = [line for line in shown if line.startswith("| ") and "`" in line]
    assert len(rows) == len(changes(*STEP))


def test_json_and_markdown_at_once_is_refused() -> None:
    assert complaint("diff", *STEP, "--json", "--markdown") == (
        "mcp-gen diff: --json and --markdown are two ways to print; give one of them"
    )


def test_an_unknown_revision_is_refused_with_those_there_are() -> None:
    assert complaint("diff", "2025-03-26", "2025-06-19") == (
        f"mcp-gen diff: no revision '2025-06-19'; there are {', '.join(mcp_wire.REVISIONS)}"
    )


def test_the_help_has_examples() -> None:
    assert "mcp-gen diff 2025-06-18 2025-11-25" in run("diff", "--help").stdout
