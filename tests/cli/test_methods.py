"""Tests of `mcp-gen methods`: direction, params and result of each method."""

from __future__ import annotations

import pytest

import mcp_wire
from mcp_wire.changes import METHODS
from tests.cli.running import complaint, lines, printed_json, run


def row(name: str, *arguments: str) -> list[str]:
    (found,) = [line for line in lines("methods", *arguments) if line[0] == name]
    return found


def test_a_method_is_shown_with_all_there_is_to_know() -> None:
    assert row("completion/complete") == [
        "completion/complete",
        "client",
        "CompleteRequestParams",
        "CompleteResult",
        "completions",
        "since",
        "2024-11-05",
    ]


def test_a_method_that_is_gone_says_until_when_it_was_there() -> None:
    assert row("initialize")[-3:] == ["2024-11-05", "to", "2025-11-25"]


def test_a_method_of_one_date_says_which() -> None:
    assert row("tasks/get")[-2:] == ["tasks", "2025-11-25"]


def test_without_a_revision_every_method_is_listed() -> None:
    assert [one["name"] for one in printed_json("methods")] == list(METHODS)


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
def test_with_a_revision_its_methods_are_listed(revision: str) -> None:
    found = printed_json("methods", "--revision", revision)
    assert {one["name"] for one in found} == set(mcp_wire.profile(revision).methods)


def test_with_a_revision_a_method_is_shown_as_it_is_there() -> None:
    assert row("roots/list", "--revision", "2024-11-05")[1:4] == [
        "server",
        "RequestParams",
        "ListRootsResult",
    ]


@pytest.mark.parametrize("kind", ["request", "notification"])
def test_requests_and_notifications_have_a_table_each(kind: str) -> None:
    names = [one["name"] for one in printed_json("methods") if one["kind"] == kind]
    printed = [line[0] for line in lines("methods")]
    begin = printed.index(f"{kind}s:")
    assert [one for one in printed[begin:] if one in METHODS][: len(names)] == names


def test_json_has_all_there_is_to_know() -> None:
    (found,) = [one for one in printed_json("methods") if one["name"] == "roots/list"]
    assert found == {
        "name": "roots/list",
        "kind": "request",
        "direction": "embedded",
        "params": "ListRootsRequestParams",
        "results": ["ListRootsResult"],
        "capability": "roots",
        "revisions": list(mcp_wire.REVISIONS),
    }


def test_an_unknown_revision_is_refused_with_those_there_are() -> None:
    assert complaint("methods", "--revision", "2025-06-19") == (
        f"mcp-gen methods: no revision '2025-06-19'; there are {', '.join(mcp_wire.REVISIONS)}"
    )


def test_the_help_has_examples() -> None:
    assert "mcp-gen methods --revision 2024-11-05" in run("methods", "--help").stdout
