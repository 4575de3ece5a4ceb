"""Marks for headers, as the checks of the doctor read them."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen.compat.checks.servers.http_headers import are_marks_right, integers
from mcp_gen.core.transport.header_params import MARK
from tests.support.frames import PER_REQUEST

PROFILE = mcp_wire.profile(PER_REQUEST)


def tool(**properties: Any) -> dict[str, Any]:
    return {"name": "t", "inputSchema": {"type": "object", "properties": properties}}


@pytest.mark.parametrize(
    ("described", "is_right"),
    [
        (tool(), True),
        (tool(count={"type": "integer", MARK: "Count"}), True),
        (tool(count={"type": "object", MARK: "Count"}), False),
        (tool(count={"type": "integer", MARK: "Co unt"}), False),
        ({"name": "t", "inputSchema": "none"}, True),
    ],
    ids=["no mark", "a mark", "on an object", "no name of a header", "no schema"],
)
def test_marks_are_right_where_clients_accept_them(
    described: dict[str, Any], is_right: bool
) -> None:
    assert are_marks_right(described) is is_right


def test_integers_that_headers_repeat_are_those_of_right_marks() -> None:
    marked = {"type": "integer", MARK: "Count"}
    given = {"count": 3, "is_open": True, "note": "a"}
    header = f"{PROFILE.param_header_prefix}Count"
    right = tool(count=marked, is_open={"type": "boolean", MARK: "Open"})
    wrong = tool(count=marked, note={"type": "string", MARK: "COUNT"})
    assert [*integers(PROFILE, right, given)] == [(header, 3)]
    assert [*integers(PROFILE, wrong, given)] == []
    assert [*integers(PROFILE, right, {"count": 3.0})] == []
