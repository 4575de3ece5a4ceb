"""Proofs that break one rule each, signed as an attacker would sign them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mcp_gen.auth.proofs import jws
from mcp_gen.auth.proofs.keys import SigningKey, encode_base64url

__all__ = ["METHOD", "NOW", "TOKEN", "URL", "forge"]

NOW = 1_800_000_000.0
METHOD = "POST"
URL = "https://api.example/mcp"
TOKEN = "a token"

_CLAIMS = {"jti": "once", "htm": METHOD, "htu": URL, "iat": int(NOW)}


def forge(
    key: SigningKey,
    *,
    header: Mapping[str, Any] | None = None,
    claims: Mapping[str, Any] | None = None,
    without: str = "",
    signed_with: str | None = None,
) -> str:
    """Return a proof for a POST to `URL` at `NOW`, with changes.

    Args:
        key: The key that signs it.
        header: Members of the header that are changed or added.
        claims: Claims that are changed or added.
        without: A member of the header or a claim that is left out.
        signed_with: The algorithm of the signature; None for that of the key.
    """
    whole_header = {
        "typ": "dpop+jwt",
        "alg": key.algorithm,
        "jwk": key.public_jwk,
        **(header or {}),
    }
    whole_claims = {**_CLAIMS, **(claims or {})}
    whole_header.pop(without, None)
    whole_claims.pop(without, None)
    text = ".".join(
        encode_base64url(msgspec.json.encode(part)) for part in (whole_header, whole_claims)
    )
    signature = jws.sign(
        signed_with or key.algorithm, text.encode(), jws.import_key(key.private_jwk())
    )
    return f"{text}.{encode_base64url(signature)}"
