"""Tools of a list, as a client over HTTP reads them: header parameters and invalid tools."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw, json

from mcp_gen import UsageError
from mcp_gen.session.http_client.headers import _param_headers, valid_tools

MARK = "x-mcp-header"


def kept(*tools: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the tools that stay in a list, and the header parameters by tool."""
    learned: dict[str, Any] = {}
    result = valid_tools(Raw(json.encode({"tools": tools})), learned.__setitem__)
    return json.decode(result)["tools"], learned


def marked(**schema: Any) -> dict[str, Any]:
    return {"name": "t", "inputSchema": {"type": "object", **schema}}


def test_a_tool_with_a_header_parameter_is_kept_and_learned() -> None:
    tool = marked(properties={"city": {"type": "string", MARK: "City"}})
    assert kept(tool) == ([tool], {"t": {"City": ("city",)}})


@pytest.mark.parametrize(
    "tool",
    [
        {"name": 1, "inputSchema": {}},
        {"name": 1, "inputSchema": {MARK: "City"}},
        {"name": "t", "inputSchema": [MARK]},
        {"inputSchema": {}},
        {"inputSchema": {MARK: "City"}},
        [MARK],
        1,
    ],
)
def test_a_tool_that_is_no_tool_stays_for_whoever_decodes_the_list(tool: Any) -> None:
    assert kept(tool, {"name": "good", "inputSchema": {}})[0][0] == tool


# --- arguments that are mirrored ---

GREATEST = 2**53 - 1


@pytest.mark.parametrize("value", [0, GREATEST, -GREATEST, float(GREATEST)])
def test_an_integer_that_every_reader_can_hold_is_mirrored(value: float) -> None:
    assert _param_headers({b"mcp-param-n": ("n",)}, {"n": value}) == [
        (b"mcp-param-n", str(int(value)).encode())
    ]


@pytest.mark.parametrize("value", [GREATEST + 1, -GREATEST - 1, 1e300, 10**400])
def test_an_integer_that_not_every_reader_can_hold_is_refused(value: float) -> None:
    with pytest.raises(UsageError, match=r"argument `a\.n` is mirrored in a header: an integer"):
        _param_headers({b"mcp-param-n": ("a", "n")}, {"a": {"n": value}})
