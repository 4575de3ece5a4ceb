"""The text that a user must see before a browser opens: server, issuer, scopes and client."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_gen.auth.flows.authorization_code import AuthorizationRequest

__all__ = ["consent_text"]

MAX_CHARS = 500
"""Number of characters that are shown of one text of a server."""


def consent_text(request: AuthorizationRequest) -> str:
    """Return the lines that a user must see before a browser opens.

    Texts of servers are shown without control characters, and cut off where they are very long.

    Args:
        request: The authorization request.
    """
    if request.scopes is None:
        scopes = "what the authorization server gives"
    else:
        scopes = " ".join(request.scopes) or "none"
    name = request.client_name
    client = f"{name} ({request.client_id})" if name else request.client_id
    rows = (
        ("server", request.resource),
        ("log in at", request.issuer),
        ("scopes", scopes),
        ("client", client),
    )
    return "\n".join(f"  {label:<10} {_shown(value)}" for label, value in rows)


def _shown(text: str) -> str:
    plain = "".join(one if one.isprintable() else "�" for one in text[:MAX_CHARS])
    return f"{plain}…" if len(text) > MAX_CHARS else plain
