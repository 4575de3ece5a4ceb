"""Keys, assertions and DPoP proofs of the tests' clients and other issuers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey

__all__ = ["Signer"]


class Signer:
    """Key of somebody who signs JWTs."""

    def __init__(self) -> None:
        self.key = ECKey.generate_key("P-256")
        self.key.ensure_kid()

    @property
    def jwks(self) -> dict[str, Any]:
        """The public key, as a key set."""
        return {"keys": [self.key.as_dict(private=False)]}

    @property
    def thumbprint(self) -> str:
        return self.key.thumbprint()

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        """Return a JWT; header members replace the usual ones."""
        usual = {"alg": "ES256", "kid": self.key.kid}
        return jwt.encode({**usual, **header}, dict(claims), self.key, ["ES256"])

    def assertion(self, now: float, **claims: Any) -> str:
        """Return an assertion; a claim that is None is left out."""
        usual = {"iat": int(now), "exp": int(now) + 60, "jti": secrets.token_urlsafe(8)}
        sent = {**usual, **claims}
        return self.sign({name: value for name, value in sent.items() if value is not None})

    def proof(
        self, now: float, url: str, header: Mapping[str, Any] | None = None, **claims: Any
    ) -> str:
        """Return a DPoP proof of a POST; claims and header members replace the usual ones."""
        usual = {"htm": "POST", "htu": url, "iat": int(now), "jti": secrets.token_urlsafe(8)}
        jwk = self.key.as_dict(private=False)
        sent = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        members = {"typ": "dpop+jwt", "jwk": jwk, **(header or {})}
        return self.sign(sent, **{name: one for name, one in members.items() if one is not None})
