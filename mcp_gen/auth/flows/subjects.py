"""Subjects: whom an ID token names."""

from __future__ import annotations

import base64

import msgspec
from msgspec import Struct

__all__ = ["subject_of"]


class _IdClaims(Struct):
    iss: str
    sub: str
    aud: str | list[str]


def subject_of(id_token: str | None, issuer: str, client_id: str) -> str | None:
    """Return the user that an ID token of a token endpoint names; None if it names none.

    The signature is not checked: it came from the token endpoint itself, over TLS. The subject is
    shown to the user, and decides nothing.

    Args:
        id_token: The ID token; None for none.
        issuer: The authorization server that issued it.
        client_id: The client that it was issued to.

    Source: https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation
    """
    parts = (id_token or "").split(".")
    if len(parts) != 3:
        return None
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        payload = base64.b64decode(padded, altchars=b"-_", validate=True)
        claims = msgspec.json.decode(payload, type=_IdClaims)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None
    audience = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    return claims.sub if claims.iss == issuer and client_id in audience else None
