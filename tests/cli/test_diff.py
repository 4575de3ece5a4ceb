"""Tests of `mcp-gen diff`: changes between two revisions, and which side each one breaks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import mcp_wire
from mcp_wire.changes import RULES, changes
from tests.cli.running import complaint, lines, printed_json, run

STEP = ("2025-03-26", "2025-06-18")


def test_the_first_line_counts_the_changes() -> None:
    on_wire = sum(change.effect != "none" for change in changes(*STEP))
    text_alone = len(changes(*STEP)) - on_wire
    assert run("diff", *STEP).stdout.splitlines()[0] == (
        f"2025-03-26 to 2025-06-18: {on_wire} changes on the wire, "
        f"{text_alone} in the schema's text alone"
    )


def test_one_change_is_counted_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    first = [change for change in changes(*STEP) if change.effect != "none"][:1]
    monkeypatch.setattr("mcp_wire.changes.changes", lambda before, after: first)
    said = run("diff", *STEP).stdout.splitlines()[0]
    assert said == "2025-03-26 to 2025-06-18: 1 change on the wire"


def test_a_change_stands_under_whom_it_breaks() -> None:
    shown = lines("diff", *STEP)
    headings = [line for line in shown if line[0] in ("breaks", "additive:")]
    above = shown[: shown.index(["widened", "ContentBlock", "+", "ResourceLink"])]
    assert [line for line in headings if line in above][-1] == ["breaks", "clients:", "1"]


def test_every_change_on_the_wire_is_listed() -> None:
    words = {word for line in lines("diff", *STEP) for word in line}
    assert {change.path for change in changes(*STEP) if change.effect != "none"} - words == set()


def test_changes_of_the_text_alone_are_counted() -> None:
    text_alone = sum(change.effect == "none" for change in changes(*STEP))
    assert run("diff", *STEP).stdout.splitlines()[-1] == (
        f"in the schema's text alone: {text_alone} (--all lists them)"
    )


def test_all_lists_the_changes_of_the_text_alone_too() -> None:
    words = {word for line in lines("diff", *STEP, "--all") for word in line}
    assert {change.path for change in changes(*STEP)} - words == set()


def test_the_order_does_not_depend_on_the_hash_seed() -> None:
    program = "from mcp_gen.cli.app import app; app(['diff', '2026-07-28', '2024-11-05'])"
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


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
            "breaks": list(change.breaks),
            "on_wire": change.effect != "none",
        }
        for change in changes(*STEP)
    ]


def test_markdown_escapes_the_bar_of_a_union() -> None:
    row = (
        "| type removed | `JSONRPCBatchRequestItem` | `JSONRPCRequest \\| JSONRPCNotification` |  |"
    )
    assert row in run("diff", *STEP, "--markdown", "--all").stdout.splitlines()


def test_markdown_has_a_row_for_every_change() -> None:
    shown = run("diff", *STEP, "--markdown").stdout.splitlines()
    rows = [line for line in shown if line.startswith("| ") and "`" in line]
    assert len(rows) == sum(change.effect != "none" for change in changes(*STEP))


def test_markdown_says_why_a_change_breaks_somebody() -> None:
    shown = run("diff", *STEP, "--markdown").stdout.splitlines()
    assert f"* *narrowed*: {RULES['narrowed'].reason}" in shown


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
