"""Checking of DPoP proofs, for servers: every check of RFC 9449, and bounded costs."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from mcp_gen.auth.proofs.keys import (
    ALGORITHMS,
    KeyKind,
    decode_base64url,
    jws,
    key_thumbprint,
    public_part,
)
from mcp_gen.auth.proofs.making import PROOF_TYPE, token_hash
from mcp_gen.auth.proofs.urls import normalize_url
from mcp_gen.core.errors import AuthError, UsageError

if TYPE_CHECKING:
    from mcp_gen.auth.proofs.jws import JoseKey
    from mcp_gen.auth.proofs.nonces import NonceIssuer
    from mcp_gen.auth.proofs.seen_proofs import SeenProofs

__all__ = ["PROOF_ALGORITHMS", "DpopProof", "ProofRefused", "check_proof"]

PROOF_ALGORITHMS = ("ES256", "ES384", "ES512", "PS256", "RS256", "EdDSA", "Ed25519")
"""Algorithms that proofs may be signed with, unless others are given."""

MAX_PROOF_BYTES = 8192
"""Maximum length of a proof."""
MAX_ID_CHARS = 512
"""Maximum length of the `jti` of a proof."""
_RSA_CHARS = range(342, 685)
"""Length of the modulus in base64url: 2048 to 4096 bits."""
_MAX_EXPONENT_CHARS = 6
_KEYS_KEPT = 1024


class DpopProof(Struct, frozen=True):
    """Contents of a valid proof.

    Args:
        thumbprint: SHA-256 thumbprint of its key, to compare with `cnf.jkt` of the token.
        proof_id: Its `jti`.
        issued_at: Its `iat`, in seconds since 1970.
    """

    thumbprint: str
    proof_id: str
    issued_at: float


class ProofRefused(AuthError):
    """A DPoP proof is not accepted. `error` is what the response says.

    It is `use_dpop_nonce` where the proof lacks a valid nonce (the response then carries a new one
    in `DPoP-Nonce`), `invalid_token` where the token is bound to another key, else
    `invalid_dpop_proof`.
    """


class _PublicJwk(Struct):
    kty: str
    crv: str | None = None
    x: str | None = None
    y: str | None = None
    n: str | None = None
    e: str | None = None
    d: Raw | UnsetType = UNSET
    p: Raw | UnsetType = UNSET
    q: Raw | UnsetType = UNSET
    dp: Raw | UnsetType = UNSET
    dq: Raw | UnsetType = UNSET
    qi: Raw | UnsetType = UNSET
    oth: Raw | UnsetType = UNSET
    k: Raw | UnsetType = UNSET


_PRIVATE = ("d", "p", "q", "dp", "dq", "qi", "oth", "k")


class _Header(Struct):
    typ: str
    alg: str
    jwk: _PublicJwk
    crit: Raw | UnsetType = UNSET


class _Claims(Struct):
    jti: str
    htm: str
    htu: str
    iat: float
    ath: str | None = None
    nonce: str | None = None


_read_header = msgspec.json.Decoder(_Header).decode
_read_claims = msgspec.json.Decoder(_Claims).decode


def check_proof(
    proof: str,
    *,
    method: str,
    url: str,
    now: float,
    access_token: str | None = None,
    thumbprint: str | None = None,
    nonce: NonceIssuer | None = None,
    seen: SeenProofs | None = None,
    window_s: float = 300.0,
    algorithms: Collection[str] = PROOF_ALGORITHMS,
) -> DpopProof:
    """Check the DPoP proof of a request.

    The caller refuses a request with more than one `DPoP` header, and verifies the token first:
    a proof that passes is remembered in `seen`.

    Args:
        proof: The value of the header `DPoP`.
        method: The HTTP method of the request.
        url: The URL of the request as clients know it; its query and fragment do not count.
        now: Seconds since 1970.
        access_token: The token of the request; None at a token endpoint.
        thumbprint: The key that the token is bound to (`cnf.jkt`); None if it is not known yet.
        nonce: Issuer whose nonces are demanded; None to demand none.
        seen: Memory of the proofs that were accepted; None to allow replay.
        window_s: Seconds by which `iat` may lie before or after `now`.
        algorithms: The asymmetric algorithms that are accepted.

    Raises:
        ProofRefused: The proof is not valid; its `error` is the code for the response.
        UsageError: An algorithm is not an asymmetric one, or the extra `auth` is not installed.

    Source: https://www.rfc-editor.org/rfc/rfc9449.html#section-4.3
    """
    if not ALGORITHMS.keys() >= set(algorithms):
        raise UsageError(f"algorithms of proofs are of {', '.join(ALGORITHMS)}")
    key, claims = _verify(proof, algorithms)
    if not claims.jti or len(claims.jti) > MAX_ID_CHARS:
        raise _invalid(f"expected a jti of 1 to {MAX_ID_CHARS} characters")
    if claims.htm != method:
        raise _invalid("its htm is another method than that of the request")
    if not _is_same_url(claims.htu, url):
        raise _invalid("its htu is another URL than that of the request")
    if nonce is not None and (claims.nonce is None or not nonce.accepts(claims.nonce, now)):
        raise ProofRefused(
            "the DPoP proof needs the nonce of the header DPoP-Nonce", "use_dpop_nonce"
        )
    # So written that it refuses what no number compares with.
    if not now - window_s <= claims.iat <= now + window_s:
        raise _invalid(f"its iat is more than {window_s:g} s away: check the clock of the client")
    if access_token is not None and not _is_equal(claims.ath, token_hash(access_token)):
        raise _invalid("its ath is not the hash of the access token")
    if thumbprint is not None and not _is_equal(key, thumbprint):
        raise ProofRefused("the access token is bound to another key", "invalid_token")
    if seen is not None:
        if seen.is_full(key, now):
            raise _invalid("too many proofs at present: try again later")
        if not seen.add(key, claims.jti, until=claims.iat + window_s, now=now):
            raise _invalid("it was used before: each request needs a proof of its own")
    return DpopProof(key, claims.jti, claims.iat)


def _verify(proof: str, algorithms: Collection[str]) -> tuple[str, _Claims]:
    """Return the thumbprint of the key and the claims of a proof with a valid signature."""
    if len(proof) > MAX_PROOF_BYTES:
        raise _invalid(f"it has more than {MAX_PROOF_BYTES} bytes")
    parts = proof.split(".")
    if len(parts) != 3:
        raise _invalid("expected a JWT in compact form")
    try:
        header = _read_header(decode_base64url(parts[0]))
        claims = _read_claims(decode_base64url(parts[1]))
        signature = decode_base64url(parts[2])
    except (ValueError, RecursionError):
        # Not the cause: it may quote what was sent.
        raise _invalid("expected a JWT with typ, alg, jwk, jti, htm, htu and iat") from None
    if header.typ != PROOF_TYPE:
        raise _invalid(f"expected the typ {PROOF_TYPE}")
    if header.alg not in algorithms:
        raise _invalid(f"expected an alg of {', '.join(algorithms)}")
    if header.crit is not UNSET:
        raise _invalid("extensions of its header (crit) are not known here")
    if any(getattr(header.jwk, name) is not UNSET for name in _PRIVATE):
        raise _invalid("its jwk has a private key: keep that secret, and make a new one")
    thumbprint, key = _key_of(header)
    signed = f"{parts[0]}.{parts[1]}".encode("ascii")
    if not jws().verify(header.alg, signed, signature, key):
        raise _invalid("its signature is not that of its jwk")
    return thumbprint, claims


def _key_of(header: _Header) -> tuple[str, JoseKey]:
    jwk = header.jwk
    wanted = ALGORITHMS[header.alg]
    if KeyKind(jwk.kty, None if jwk.kty == "RSA" else jwk.crv) != wanted:
        raise _invalid(f"its jwk is no key for {header.alg}")
    if jwk.kty == "RSA" and not (
        len(jwk.n or "") in _RSA_CHARS and len(jwk.e or "") <= _MAX_EXPONENT_CHARS
    ):
        raise _invalid("expected an RSA key of 2048 to 4096 bits with a usual exponent")
    try:
        return _import_key(jwk.kty, jwk.crv, jwk.x, jwk.y, jwk.n, jwk.e)
    except ValueError:
        raise _invalid("its jwk is not a usable public key") from None


@lru_cache(_KEYS_KEPT)
def _import_key(
    kty: str, crv: str | None, x: str | None, y: str | None, n: str | None, e: str | None
) -> tuple[str, JoseKey]:
    """Return the thumbprint and the key of public members; a client uses one key for long."""
    jwk = public_part({"kty": kty, "crv": crv, "x": x, "y": y, "n": n, "e": e})
    return key_thumbprint(jwk), jws().import_key(jwk)


def _is_same_url(claimed: str, url: str) -> bool:
    try:
        return normalize_url(claimed) == normalize_url(url)
    except ValueError:
        return False


def _is_equal(given: str | None, expected: str) -> bool:
    return given is not None and hmac.compare_digest(
        given.encode("utf-8", "replace"), expected.encode("utf-8", "replace")
    )


def _invalid(why: str) -> ProofRefused:
    return ProofRefused(f"the DPoP proof is not valid: {why}", "invalid_dpop_proof")
