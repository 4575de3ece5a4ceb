"""Tests of `mcp-gen types`: a type or a field at each revision, side by side."""

from __future__ import annotations

import pytest

import mcp_wire
from mcp_wire.changes import shapes
from tests.cli.running import complaint, lines, printed_json, run


def test_a_type_has_a_column_for_each_date_at_which_it_changed() -> None:
    assert lines("types", "Tool")[1] == list(mcp_wire.REVISIONS)


def test_dates_between_which_nothing_changes_share_a_column() -> None:
    assert lines("types", "ContentBlock")[1:3] == [
        ["2025-06-18"],
        ["2024-11-05", "2025-03-26", "to", "2026-07-28"],
    ]


def test_a_field_has_its_shape_at_each_date() -> None:
    row = ["execution", "-", "-", "-", "ToolExecution?", "-"]
    assert row in lines("types", "Tool")


def test_an_arm_of_a_union_says_at_which_dates_it_is_one() -> None:
    assert ["AudioContent", "-", "yes", "yes"] in lines("types", "ContentBlock")


def test_a_shape_that_stays_as_it_was_is_dim() -> None:
    shown = run("types", "ContentBlock", color=True).stdout
    (row,) = [line for line in shown.splitlines() if "TextContent" in line]
    assert (row.count("yes"), row.count("\x1b[2myes")) == (3, 2)


def test_one_field_can_be_asked_for() -> None:
    assert lines("types", "Tool.icons")[-1] == ["list[Icon]?"]


def test_an_enum_shows_its_values() -> None:
    assert lines("types", "Role")[-1] == ['Literal["user",', '"assistant"]']


def test_a_method_shows_what_it_is_answered_with() -> None:
    (shown,) = [line for line in lines("types", "tools/call") if line[0] == "results"]
    assert " ".join(shown[1:]) == (
        "CallToolResult CallToolResult | CreateTaskResult CallToolResult | InputRequiredResult"
    )


@pytest.mark.parametrize(("method", "capability"), [("tools/call", {"tools"}), ("ping", {"-"})])
def test_a_method_shows_the_capability_that_it_needs(method: str, capability: set[str]) -> None:
    (shown,) = [line for line in lines("types", method) if line[0] == "capability"]
    assert set(shown[1:]) == capability


@pytest.mark.parametrize("name", ["Tool", "Tool.icons", "ContentBlock"])
def test_json_has_the_shape_at_each_date(name: str) -> None:
    assert printed_json("types", name) == shapes(name)


def test_json_has_the_columns_of_a_method_by_name() -> None:
    assert printed_json("types", "roots/list")["2024-11-05"]["params"] == "RequestParams"


def test_an_unknown_name_is_refused_with_one_that_is_close() -> None:
    assert complaint("types", "Toool") == (
        "mcp-gen types: no method, type or field 'Toool'; there is Tool"
    )


def test_the_help_has_examples() -> None:
    assert "mcp-gen types Tool.icons" in run("types", "--help").stdout
