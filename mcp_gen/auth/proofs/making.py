"""Making of DPoP proofs and of client assertions. Time and randomness are handed in."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from mcp_gen.auth.proofs.keys import encode_base64url
from mcp_gen.auth.proofs.urls import without_query

if TYPE_CHECKING:
    from mcp_gen.auth.proofs.keys import SigningKey

__all__ = ["PROOF_TYPE", "make_client_assertion", "make_proof", "token_hash"]

PROOF_TYPE = "dpop+jwt"
"""The `typ` of a proof.

Source: https://www.rfc-editor.org/rfc/rfc9449.html#section-4.2
"""


def token_hash(access_token: str) -> str:
    """Return the `ath` of an access token: its SHA-256, in base64url."""
    return encode_base64url(hashlib.sha256(access_token.encode("utf-8")).digest())


def make_proof(
    key: SigningKey,
    method: str,
    url: str,
    *,
    now: float,
    proof_id: str,
    access_token: str | None = None,
    nonce: str | None = None,
) -> str:
    """Return a DPoP proof for one request.

    Args:
        key: The key that tokens are bound to.
        method: The HTTP method.
        url: The URL; its query and fragment do not count.
        now: Seconds since 1970.
        proof_id: The `jti`: random text that is used once.
        access_token: The token that is sent along; None at the token endpoint.
        nonce: The nonce that the server gave last; None if it gave none.

    Source: https://www.rfc-editor.org/rfc/rfc9449.html#section-4.2
    """
    claims: dict[str, str | int] = {
        "jti": proof_id,
        "htm": method,
        "htu": without_query(url),
        "iat": int(now),
    }
    if access_token is not None:
        claims["ath"] = token_hash(access_token)
    if nonce is not None:
        claims["nonce"] = nonce
    return key.sign({"typ": PROOF_TYPE, "jwk": key.public_jwk}, claims)


def make_client_assertion(
    key: SigningKey,
    client_id: str,
    audience: str,
    *,
    now: float,
    assertion_id: str,
    lifetime_s: float = 60.0,
) -> str:
    """Return a client assertion for `private_key_jwt`.

    Args:
        key: The private key of the client.
        client_id: The client: issuer and subject of the assertion.
        audience: The issuer of the authorization server.
        now: Seconds since 1970.
        assertion_id: The `jti`: random text that is used once.
        lifetime_s: Seconds until it expires.

    Source: https://www.rfc-editor.org/rfc/rfc7523.html#section-3
    """
    header = {"typ": "JWT"} if key.key_id is None else {"typ": "JWT", "kid": key.key_id}
    issued = int(now)
    return key.sign(
        header,
        {
            "iss": client_id,
            "sub": client_id,
            "aud": audience,
            "jti": assertion_id,
            "iat": issued,
            "exp": issued + max(1, int(lifetime_s)),
        },
    )
