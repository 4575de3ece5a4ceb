"""Errors of the library: what their texts say."""

from __future__ import annotations

import pytest

from mcp_gen import McpError
from mcp_gen.core.errors import MAX_TEXT


@pytest.mark.parametrize(
    ("length", "end"),
    [(MAX_TEXT, "x (-32000)"), (MAX_TEXT + 1, f"x... ({MAX_TEXT + 1} characters) (-32000)")],
)
def test_the_text_of_a_peers_error_has_a_part_of_a_very_long_message(length: int, end: str) -> None:
    error = McpError(-32000, "x" * length)
    assert str(error).endswith(end)
    assert len(error.message) == length


def test_the_text_of_an_error_of_8_mb_is_short() -> None:
    assert len(str(McpError(-32000, "x" * 8_000_000))) < MAX_TEXT + 100
