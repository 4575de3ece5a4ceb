"""DPoP at the token endpoint (RFC 9449): proofs, nonces, and the memory of proofs."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey, import_key

from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.jwts import ALGORITHMS, header_of
from examples.oauth.authorization_server.memory import ReplayMemory
from examples.oauth.authorization_server.settings import Settings

__all__ = ["ProofChecker"]


class ProofChecker:
    """Checks proofs of possession, and gives nonces for them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._secret = secrets.token_bytes(32)
        self._seen = ReplayMemory(settings.max_held, settings.clock)

    def rotate_nonces(self) -> None:
        """Refuse every nonce that was given so far."""
        self._secret = secrets.token_bytes(32)

    def nonce(self, age: int = 0) -> str:
        """Return the nonce of now, or of the time before it."""
        window = int(self._settings.clock() // self._settings.dpop_nonce_lifetime_s) - age
        mac = hmac.digest(self._secret, str(window).encode(), hashlib.sha256)
        return urlsafe_b64encode(mac[:18]).decode()

    def thumbprint(self, proof: str, method: str, url: str) -> str:
        """Return the thumbprint of the key of a proof that was made for this request.

        Raises:
            OAuthError: the proof is refused.
        """
        header = header_of(proof)
        if header.get("typ") != "dpop+jwt":
            raise _invalid("typ is not dpop+jwt")
        try:
            jwk = msgspec.convert(header.get("jwk"), dict[str, str | list[str]])
            key = import_key(jwk)
            if "d" in jwk or not isinstance(key, ECKey | RSAKey | OKPKey):
                raise _invalid("jwk is no public key")
            claims = jwt.decode(proof, key, ALGORITHMS).claims
        except (JoseError, ValueError, KeyError):
            raise _invalid("jwk is no key, or has not signed the proof") from None
        self._check_claims(claims, method, url)
        thumbprint = key.thumbprint()
        identifier = f"{thumbprint} {claims['jti']}"
        if not self._seen.first_use(identifier, 2 * self._settings.dpop_proof_lifetime_s):
            raise _invalid("the proof was used before")
        return thumbprint

    def _check_claims(self, claims: Mapping[str, Any], method: str, url: str) -> None:
        settings = self._settings
        jti, issued = claims.get("jti"), claims.get("iat")
        if not isinstance(jti, str) or not 1 <= len(jti) <= 200:
            raise _invalid("jti is missing")
        if claims.get("htm") != method:
            raise _invalid("htm is another method")
        if without_query(claims.get("htu")) != without_query(url):
            raise _invalid("htu is another URL")
        if not isinstance(issued, int | float):
            raise _invalid("iat is missing")
        if abs(settings.clock() - issued) > settings.dpop_proof_lifetime_s:
            raise _invalid("iat is not now")
        if settings.dpop_nonces and claims.get("nonce") not in (self.nonce(), self.nonce(1)):
            raise OAuthError("use_dpop_nonce", "the proof needs the nonce of DPoP-Nonce")


def without_query(url: object) -> str | None:
    """Return a URL without query and fragment, normalized for comparison."""
    if not isinstance(url, str):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    standard = {"http": 80, "https": 443}.get(parts.scheme)
    authority = parts.hostname if port in (None, standard) else f"{parts.hostname}:{port}"
    return f"{parts.scheme}://{authority}{parts.path or '/'}"


def _invalid(description: str) -> OAuthError:
    return OAuthError("invalid_dpop_proof", description)
