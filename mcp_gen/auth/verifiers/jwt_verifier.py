"""Verifies access tokens that are signed JWTs, with the keys of their issuer."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from mcp_gen.auth.proofs.keys import ALGORITHMS, decode_base64url, jws
from mcp_gen.auth.verifiers.claims import check_audience, check_times, token_of_claims
from mcp_gen.auth.verifiers.configured_urls import check_url
from mcp_gen.auth.verifiers.issuer_keys import IssuerKeys, KeyTimes
from mcp_gen.auth.verifiers.token_verifier import InvalidToken
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.access_token import AccessToken

if TYPE_CHECKING:
    from mcp_gen.auth.flows.exchange import FlowRunner

__all__ = ["JwtVerifier"]

MAX_TOKEN_CHARS = 16 * 1024
MAX_KEY_ID_CHARS = 512
TYPES = ("at+jwt", "JWT")
"""The `typ` of access tokens, and that of JWTs whose issuer does not say what they are."""


class _JoseHeader(Struct):
    # `jku`, `x5u`, `jwk` and `x5c` are not read: keys come from the issuer alone.
    alg: str
    kid: str | None = None
    typ: str | None = None
    crit: Raw | UnsetType = UNSET


_read_header = msgspec.json.Decoder(_JoseHeader).decode
_read_claims = msgspec.json.Decoder(dict[str, Any]).decode


class JwtVerifier:
    """Verifies JWTs by the keys that their issuer publishes (RFC 9068).

    The keys are found in the issuer's metadata, kept for as long as their headers allow (within
    `times`), and fetched again when a token names one that is unknown. The `kid` of a token
    selects among these keys and does nothing else; URLs and keys in a token are not read.

    `ResourceServer` makes one if it is given an issuer alone. It checks the audience.

    Args:
        issuer: The issuer, or several, exactly as tokens and metadata state it.
        jwks_uri: URL of the keys; None to read it in the metadata of the issuer. For several
            issuers a URL for each.
        algorithms: The algorithms that are accepted, asymmetric ones alone.
        types: The `typ` that are accepted. Add "" for issuers that leave it out.
        leeway_s: Seconds by which clocks may differ.
        cache_s: Seconds for which `ResourceServer` remembers a verified token: so long a key that
            the issuer withdraws is still believed.
        times: When keys are fetched; None for the defaults of `KeyTimes`.
        fetcher: Fetches metadata and keys; None for one with its defaults.
        clock: Returns the time in seconds since 1970.

    Raises:
        UsageError: An option has a value that cannot work, or the extra `auth` is not installed.

    Source: https://www.rfc-editor.org/rfc/rfc9068.html#section-4
    """

    key_bound = True
    """Tokens may be bound to a key (DPoP)."""

    def __init__(
        self,
        issuer: str | Collection[str],
        *,
        jwks_uri: str | Mapping[str, str] | None = None,
        algorithms: Collection[str] = tuple(ALGORITHMS),
        types: Collection[str] = TYPES,
        leeway_s: float = 30.0,
        cache_s: float = 60.0,
        times: KeyTimes | None = None,
        fetcher: FlowRunner | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        issuers = [issuer] if isinstance(issuer, str) else list(issuer)
        if not issuers:
            raise UsageError("issuer: expected at least one")
        unknown = sorted(set(algorithms) - ALGORITHMS.keys())
        if isinstance(algorithms, str) or unknown or not algorithms:
            raise UsageError(f"algorithms: {unknown}: expected some of {', '.join(ALGORITHMS)}")
        if isinstance(jwks_uri, str) and len(issuers) > 1:
            raise UsageError("jwks_uri: expected a URL for each issuer: {issuer: url}")
        urls = {issuers[0]: jwks_uri} if isinstance(jwks_uri, str) else dict(jwks_uri or {})
        for url in (*issuers, *urls, *urls.values()):
            check_url("issuer and jwks_uri", url)
        if not urls.keys() <= set(issuers):
            raise UsageError("jwks_uri: expected issuers of `issuer` alone")
        self.cache_s = cache_s
        self._jws = jws()
        self._algorithms = frozenset(algorithms)
        self._types = frozenset(map(str.lower, types))
        self._leeway_s = leeway_s
        self._fetcher = fetcher
        self._clock = clock
        when = KeyTimes() if times is None else times
        self._keys = {
            one: IssuerKeys(one, urls.get(one), self._runner, when, clock) for one in issuers
        }

    async def verify(self, token: str) -> AccessToken:
        """Return what a token says.

        Args:
            token: The token as the client sent it.

        Raises:
            InvalidToken: It is not a valid access token of the issuer.
            VerifierUnavailable: The keys of the issuer cannot be had.
        """
        if len(token) > MAX_TOKEN_CHARS:
            raise InvalidToken("the token is too long")
        parts = token.split(".")
        if len(parts) != 3:
            raise InvalidToken("the token is not a signed JWT")
        try:
            header = _read_header(decode_base64url(parts[0]))
            claims = _read_claims(decode_base64url(parts[1]))
            signature = decode_base64url(parts[2])
        except (ValueError, RecursionError):
            # Not the cause: it may quote what was sent.
            raise InvalidToken("the token is not a JWT that can be read") from None
        algorithm, key_id = header.alg, header.kid
        if algorithm not in self._algorithms:
            raise InvalidToken("the token is signed with an algorithm that is not accepted")
        if header.crit is not UNSET:
            raise InvalidToken("the token needs extensions (crit) that are not known here")
        if (header.typ or "").lower().removeprefix("application/") not in self._types:
            raise InvalidToken("the `typ` of the token is not that of an access token")
        if key_id is not None and len(key_id) > MAX_KEY_ID_CHARS:
            raise InvalidToken("the `kid` of the token is too long")
        issuer = claims.get("iss")
        source = self._keys.get(issuer) if isinstance(issuer, str) else None
        if source is None:
            raise InvalidToken("the token is of another authorization server")
        # What costs nothing comes first: no key is fetched for a token that has ended.
        if claims.get("exp") is None:
            raise InvalidToken("the token has no end (exp)")
        check_times(claims, self._clock(), self._leeway_s)
        check_audience(claims)
        keys = source.fresh(key_id, algorithm) or await source.find(key_id, algorithm)
        if not keys:
            raise InvalidToken("the token is signed with a key that its issuer does not publish")
        signed = token[: len(parts[0]) + 1 + len(parts[1])].encode("ascii")
        verify = self._jws.verify
        if not any(verify(algorithm, signed, signature, key) for key in keys):
            raise InvalidToken("the signature of the token is not valid")
        return token_of_claims(token, claims)

    def _runner(self) -> FlowRunner:
        if self._fetcher is None:
            # Loads the HTTP client, which a server that is given one need not.
            from mcp_gen.auth.fetching.fetcher import Fetcher

            self._fetcher = Fetcher()
        return self._fetcher

    async def aclose(self) -> None:
        """End what is being fetched, and close the connections."""
        for keys in self._keys.values():
            await keys.aclose()
        if self._fetcher is not None:
            await self._fetcher.aclose()

    def __repr__(self) -> str:
        return f"JwtVerifier({', '.join(self._keys)})"
