"""The closed check and extra keys of open types."""

from __future__ import annotations

import pytest

import mcp_wire
from mcp_gen.core.projection.closed import violations
from mcp_wire import extra_keys


def found(revision: str, kind: str, data: bytes) -> list[str]:
    """Return the violations of a JSON text."""
    return [*map(str, violations(getattr(mcp_wire.types(revision), kind), data, revision, "$"))]


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
@pytest.mark.parametrize("kind", ["ClientCapabilities", "ServerCapabilities"])
def test_capabilities_may_have_any_keys(revision: str, kind: str) -> None:
    assert found(revision, kind, b'{"x": 1, "experimental": {"y": {}}, "a\\"b": [{}]}') == []


def test_keys_that_decoding_would_drop_are_allowed_too() -> None:
    long = b"x" * (extra_keys.MAX_KEY_CHARS + 1)
    assert found("2025-11-25", "ClientCapabilities", b'{"%s": 1}' % long) == []


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
def test_a_key_inside_a_known_capability_is_not_allowed_beside_an_extra_key(revision: str) -> None:
    data = b'{"x": 1, "tools": {"y": 1}}'
    assert found(revision, "ServerCapabilities", data) == [f"$.tools.y: not a key at {revision}"]


def test_an_unknown_content_kind_is_still_a_violation() -> None:
    data = b'{"content": [{"type": "hologram"}]}'
    assert found("2025-11-25", "CallToolResult", data) == [
        "$: not valid at 2025-11-25: Invalid value 'hologram' - at `$.content[0].type`"
    ]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"x": "\xff"}', "not UTF-8"),
        (b'{"x": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"x": NaN}', "JSON is malformed: invalid character (byte 6)"),
    ],
)
def test_an_extra_key_with_what_is_not_json_is_a_violation(data: bytes, problem: str) -> None:
    wanted = [f"$: not valid at 2025-11-25: {problem}"]
    assert found("2025-11-25", "ClientCapabilities", data) == wanted
