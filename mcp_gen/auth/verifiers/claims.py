"""Claims of tokens, as JWTs and introspection responses have them: types, times, meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from mcp_gen.auth.verifiers.token_verifier import InvalidToken
from mcp_gen.core.transport.access_token import AccessToken

__all__ = ["check_audience", "check_times", "token_of_claims"]


def check_times(claims: Mapping[str, Any], now: float, leeway_s: float) -> None:
    """Check that a token has begun and not ended; one without times passes.

    Args:
        claims: Its claims.
        now: The time in seconds since 1970.
        leeway_s: Seconds by which clocks may differ.

    Raises:
        InvalidToken: It has ended, has not begun, or a time is no time.
    """
    ends = _time(claims, "exp")
    if ends is not None and now >= ends + leeway_s:
        raise InvalidToken("the token has expired")
    begins = _time(claims, "nbf")
    if begins is not None and now < begins - leeway_s:
        raise InvalidToken("the token is not valid yet (nbf)")
    issued = _time(claims, "iat")
    if issued is not None and now < issued - leeway_s:
        raise InvalidToken("the token is issued in the future (iat)")


def check_audience(claims: Mapping[str, Any]) -> None:
    """Check that a token names an audience, whichever: `ResourceServer` knows its own.

    Args:
        claims: Its claims.

    Raises:
        InvalidToken: It names none.
    """
    named = claims.get("aud")
    items = cast("list[object]", named) if isinstance(named, list) else [named]
    if not items or not all(one and isinstance(one, str) for one in items):
        raise InvalidToken("the token names no audience (aud)")


def token_of_claims(
    token: str,
    claims: Mapping[str, Any],
    *,
    issuer: str | None = None,
    scopes: frozenset[str] = frozenset(),
) -> AccessToken:
    """Return a token with the meaning that its claims have by RFC 9068 and RFC 7662.

    Args:
        token: The token as the client sent it.
        claims: Its claims. Members of a wrong type are refused.
        issuer: The issuer that is known without the claims; None to take theirs.
        scopes: Scopes if the claims name none.

    Raises:
        InvalidToken: A claim has a wrong type.
    """
    client = _text(claims, "client_id") or _text(claims, "azp") or _text(claims, "appid")
    subject = _text(claims, "sub")
    confirmation = claims.get("cnf")
    thumbprint = None
    if confirmation is not None:
        is_object = isinstance(confirmation, Mapping)
        thumbprint = cast("Any", confirmation).get("jkt") if is_object else None
        if not isinstance(thumbprint, str) or not thumbprint:
            # Bound to something that is not checked here, such as a TLS certificate.
            raise InvalidToken("the token is bound to a kind of key that is not known here")
    return AccessToken(
        token,
        issuer=issuer or _text(claims, "iss") or "",
        # A client that acts for itself has its own id as subject.
        subject=None if subject == client else subject,
        client_id=client,
        scopes=_scopes(claims) or scopes,
        expires_at=_time(claims, "exp"),
        claims=claims,
        key_thumbprint=thumbprint,
    )


def _text(claims: Mapping[str, Any], name: str) -> str | None:
    value = claims.get(name)
    if value is None or (isinstance(value, str) and value):
        return value
    raise InvalidToken(f"the claim `{name}` is not a text")


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    # NaN compares with nothing, and infinity never ends.
    if isinstance(value, bool) or not isinstance(value, int | float) or not -1e12 < value < 1e12:
        raise InvalidToken(f"the claim `{name}` is not a time")
    return float(value)


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """Return the scopes of `scope` (RFC 9068) or `scp` (Entra, Okta), a text or a list."""
    found = claims.get("scope")
    if found is None:
        found = claims.get("scp", "")
    items: Any = found.split() if isinstance(found, str) else found
    named = cast("list[object]", items) if isinstance(items, list) else [None]
    scopes = [one for one in named if isinstance(one, str)]
    if len(scopes) != len(named):
        raise InvalidToken("the claim `scope` is not a text")
    return frozenset(scopes)
