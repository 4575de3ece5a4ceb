"""Signing with keys that rotate, and checking JWTs of this server and of others."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import msgspec
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, Key, KeySet

from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.settings import JwksSource, Settings

__all__ = [
    "ALGORITHMS",
    "SIGNING_ALGORITHM",
    "SigningKeys",
    "audiences",
    "checked",
    "header_of",
    "new_id",
    "signed_claims",
    "unchecked",
]

SIGNING_ALGORITHM = "ES256"
ALGORITHMS = ("ES256", "ES384", "PS256", "RS256", "Ed25519")
"""Algorithms of assertions and proofs: each needs a private key to sign."""


class SigningKeys:
    """Keys of the server: the newest one signs, older ones may stay published."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self.rotate()

    def rotate(self, keep: int = 1) -> None:
        """Sign with a new key from now on; of the old ones the newest `keep` stay published."""
        key = ECKey.generate_key("P-256", {"use": "sig", "alg": SIGNING_ALGORITHM})
        key.ensure_kid()
        self._keys = [key, *self._keys[:keep]]

    def public(self) -> Mapping[str, Any]:
        """Return the JSON Web Key Set."""
        return {"keys": [key.as_dict(private=False) for key in self._keys]}

    def sign(self, typ: str, claims: Mapping[str, Any]) -> str:
        """Return a JWT of this type."""
        header = {"alg": SIGNING_ALGORITHM, "typ": typ, "kid": self._keys[0].kid}
        return jwt.encode(header, dict(claims), self._keys[0], [SIGNING_ALGORITHM])


def header_of(token: str) -> Mapping[str, Any]:
    """Return the header of a JWT whose signature was not checked; empty if it is none."""
    try:
        return jws.extract_compact(token.encode()).headers()
    except (JoseError, ValueError):
        return {}


def unchecked(token: str, claim: str) -> str:
    """Return a text claim of a JWT whose signature was not checked; empty without it."""
    try:
        payload = msgspec.json.decode(
            jws.extract_compact(token.encode()).payload, type=dict[str, Any]
        )
    except (JoseError, ValueError):
        return ""
    found = payload.get(claim)
    return found if isinstance(found, str) else ""


def checked(
    token: str, keys: JwksSource, settings: Settings, *, error: str, issuer: str, lives_s: float
) -> Mapping[str, Any]:
    """Return the claims of a JWT after its signature, issuer and times have been checked.

    Args:
        token: The JWT.
        keys: Keys of its issuer.
        settings: Clock and leeway.
        error: Error code for one that is refused.
        issuer: Expected `iss`.
        lives_s: Longest time from now to `exp`.

    Raises:
        OAuthError: it is refused.
    """
    claims = signed_claims(token, keys, error)
    now, leeway = settings.clock(), settings.leeway_s
    if claims.get("iss") != issuer:
        raise OAuthError(error, "iss is another issuer")
    expires = claims.get("exp")
    if not isinstance(expires, int | float) or expires <= now - leeway:
        raise OAuthError(error, "the JWT has expired, or has no exp")
    if expires > now + lives_s + leeway:
        raise OAuthError(error, f"exp is more than {lives_s:.0f} s from now")
    for claim in ("iat", "nbf"):
        since = claims.get(claim, now)
        if not isinstance(since, int | float) or since > now + leeway:
            raise OAuthError(error, f"{claim} is in the future")
    return claims


def signed_claims(token: str, keys: JwksSource, error: str) -> Mapping[str, Any]:
    """Return the claims of a JWT that one of the keys has signed.

    Raises:
        OAuthError: none has.
    """
    published = keys() if callable(keys) else keys
    kid = header_of(token).get("kid")
    for data in published.get("keys", ()):
        if kid is not None and data.get("kid") not in (None, kid):
            continue
        try:
            return jwt.decode(token, KeySet.import_key_set({"keys": [data]}), ALGORITHMS).claims
        except (JoseError, ValueError):
            continue
    raise OAuthError(error, "the signature of the JWT is of no key of its issuer")


def audiences(claims: Mapping[str, Any]) -> tuple[str, ...]:
    """Return `aud`, which may be a text or a list."""
    found = claims.get("aud", ())
    return (found,) if isinstance(found, str) else tuple(found)


def new_id() -> str:
    """Return an identifier that cannot be guessed."""
    return secrets.token_urlsafe(32)
