"""A verified access token: its claims, its scopes, and the principal that it stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["AccessToken"]


class AccessToken:
    """A verified access token: who calls, for which client, and what is allowed.

    The text of the token is given by `raw()` alone: no attribute, repr or log line has it. Never
    send it to another server: its audience is this one.

    Args:
        raw: The token as the client sent it.
        issuer: Issuer of the token; empty if the verifier knows none.
        subject: The user (`sub`); None where no user takes part.
        client_id: The OAuth client; None if the token does not say.
        scopes: Scopes that are granted.
        expires_at: End of validity, in seconds since 1970; None for no end.
        claims: All claims of the token, or all members of the introspection response.
        key_thumbprint: SHA-256 thumbprint of the key that the token is bound to (`cnf.jkt`); None
            for a bearer token.

    Source: https://www.rfc-editor.org/rfc/rfc9068.html#section-2.2
    """

    __slots__ = (
        "_raw",
        "claims",
        "client_id",
        "expires_at",
        "issuer",
        "key_thumbprint",
        "principal",
        "scopes",
        "subject",
    )

    def __init__(
        self,
        raw: str,
        *,
        issuer: str = "",
        subject: str | None = None,
        client_id: str | None = None,
        scopes: frozenset[str] = frozenset(),
        expires_at: float | None = None,
        claims: Mapping[str, Any] | None = None,
        key_thumbprint: str | None = None,
    ) -> None:
        self._raw = raw
        self.issuer = issuer
        self.subject = subject
        self.client_id = client_id
        self.scopes = scopes
        self.expires_at = expires_at
        self.claims: Mapping[str, Any] = {} if claims is None else claims
        self.key_thumbprint = key_thumbprint
        self.principal = _principal(issuer, subject, client_id)
        """Stable name of who calls: issuer and user; without a user, issuer and client."""

    def raw(self) -> str:
        """Return the token as the client sent it. It is a secret."""
        return self._raw

    def __repr__(self) -> str:
        return (
            f"AccessToken(issuer={self.issuer!r}, subject={self.subject!r}, "
            f"client_id={self.client_id!r}, scopes={sorted(self.scopes)!r}, "
            f"expires_at={self.expires_at!r})"
        )

    def __reduce__(self) -> Any:
        raise TypeError("an AccessToken is not pickled: it holds a secret")


def _principal(issuer: str, subject: str | None, client_id: str | None) -> str | None:
    """Return an unambiguous name: no issuer, user or client can be taken for another's.

    The length of the issuer stands first, so that its end is known whatever it contains.
    """
    if subject is not None:
        return f"user:{len(issuer)}:{issuer} {subject}"
    if client_id is not None:
        return f"client:{len(issuer)}:{issuer} {client_id}"
    return None
