"""Challenges of a server: which scopes they name."""

from __future__ import annotations

import pytest

from mcp_gen.auth.server.challenges import MAX_SCOPES_CHARS, Challenger


def scopes_of(granted: str) -> str:
    """Return the scopes of a challenge for a token that has one scope."""
    challenger = Challenger(["mcp"], bearer=True, dpop_algorithms=())
    ((_, line),) = challenger.lines(None, error="insufficient_scope", granted=[granted])
    return line.decode().partition('scope="')[2].partition('"')[0]


@pytest.mark.parametrize(("more", "are_repeated"), [(-1, True), (0, True), (1, False)])
def test_the_scopes_of_the_token_are_repeated_up_to_a_limit(more: int, are_repeated: bool) -> None:
    granted = "s" * (MAX_SCOPES_CHARS - len("mcp ") + more)
    assert scopes_of(granted) == (f"mcp {granted}" if are_repeated else "mcp")
