"""Texts and JSON about the credentials of a server."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_gen.auth.client.credentials import AuthorizationStatus

__all__ = ["status_json", "status_rows"]


def status_rows(status: AuthorizationStatus) -> list[tuple[str, str]]:
    """Return labels and texts of the state of credentials, for people."""
    if not status.logged_in:
        ends = "the login has ended"
    elif status.expires_at is None:
        ends = "not told"
    else:
        ends = f"{_time(status.expires_at)}, and is renewed if the server allows it"
    return [
        ("server", status.server),
        ("logged in at", status.issuer),
        ("user", status.subject or "not told"),
        ("client", status.client_id),
        ("scopes", " ".join(status.scopes) or "none"),
        ("token ends", ends),
    ]


def status_json(server: str, status: AuthorizationStatus | None) -> dict[str, Any]:
    """Return the state of credentials, for scripts."""
    if status is None:
        return {"server": server, "logged_in": False}
    return {
        "server": status.server,
        "logged_in": status.logged_in,
        "issuer": status.issuer,
        "subject": status.subject,
        "client_id": status.client_id,
        "scopes": list(status.scopes),
        "expires_at": None if status.expires_at is None else _time(status.expires_at),
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).isoformat().replace("+00:00", "Z")
