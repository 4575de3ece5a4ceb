"""Checks of access tokens: what they take beyond the signature, and of tokens that are known."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from bench.sampling import Row, Settings, at_most, compare, cost_ns, in_turn, row_of
from mcp_gen.auth import JwtVerifier, ResourceServer, SeenProofs
from mcp_gen.auth.flows.exchange import Flow, HttpAnswer
from mcp_gen.auth.proofs.keys import SigningKey, decode_base64url
from mcp_gen.auth.proofs.making import make_proof
from mcp_gen.auth.server.dpop_checks import DpopChecks
from mcp_gen.core.transport.authorizing import Admission
from mcp_gen.core.transport.headers import Headers

__all__ = ["rows"]

ISSUER = "https://login.example.com"
RESOURCE = "https://api.example.com/mcp"
NOW = 1_800_000_000.0
VERIFY_LIMIT_US = 40.0
"""Limit of what checking a JWT may take beyond the signature."""
KNOWN_LIMIT_US = 8.0
"""Limit of a token that was verified before."""
LONG_TOKEN = 4
"""Times that a token with many claims is as long."""


class _Keys:
    """The issuer's keys, without a network."""

    def __init__(self, key: SigningKey) -> None:
        self._body = msgspec.json.encode({"keys": [{**key.public_jwk, "kid": "one"}]})

    async def run(self, flow: Flow[Any], *, configured: str | None = None) -> Any:
        next(flow)
        try:
            flow.send(HttpAnswer(200, {"cache-control": "max-age=3600"}, self._body))
        except StopIteration as end:
            return end.value
        raise AssertionError("one request for keys was expected")

    async def aclose(self) -> None: ...


def rows(settings: Settings) -> Iterator[Row]:
    """Measure a JWT against its signature alone, a known token and DPoP against the same."""
    for algorithm in ("ES256", "RS256"):
        key = SigningKey.generate(algorithm)
        token, verifier = _token(key), _verifier(key)
        bare = _signature_alone(key, token)
        calls, pairs = settings.calls(1500), settings.repetitions(15)
        verified = in_turn(
            partial(_cost_us, partial(verifier.verify, token), calls),
            partial(_bare_us, bare, calls),
            pairs,
        )
        yield row_of(
            f"a JWT, {algorithm} / its signature by cryptography", "CPU us", verified, None
        )
        added = [(ours - theirs, VERIFY_LIMIT_US) for ours, theirs in verified]
        name = f"a JWT takes beyond its signature, {algorithm} / {VERIFY_LIMIT_US:g} us"
        yield row_of(name, "CPU us", added, at_most(1))
    key = SigningKey.generate("ES256")
    for name, padding in (("", {}), (f" of {LONG_TOKEN} KB", {"groups": "g" * 3000})):
        known = _known(key, _token(key, **padding))
        yield row_of(
            f"a token that was verified before{name} / {KNOWN_LIMIT_US:g} us",
            "CPU us",
            [
                (cost_ns(known, settings.calls(30000)) / 1000, KNOWN_LIMIT_US)
                for _ in range(settings.repetitions(9))
            ],
            at_most(1),
        )
    yield _dpop(settings)


def _dpop(settings: Settings) -> Row:
    """Measure requests with a proof each; the token is known, its proof cannot be."""
    key, holder = SigningKey.generate("ES256"), SigningKey.generate("ES256")
    token = _token(key, cnf={"jkt": holder.thumbprint})
    gate = _gate(key)
    calls = settings.calls(600)
    scopes = [_scope(f"DPoP {token}", _proof(holder, token, number)) for number in range(calls)]

    def ours() -> float:
        # A proof is accepted once: each turn begins with an empty memory.
        gate = _gate(key)
        return _proven_us(gate, scopes)

    bare = _signature_alone(key, token)
    assert isinstance(asyncio.run(gate.admit(scopes[0], Headers(scopes[0]["headers"]))), Admission)
    return compare(
        "DPoP: a known token with a new proof / one signature by cryptography",
        "CPU us",
        ours,
        partial(_bare_us, bare, calls),
        repetitions=settings.repetitions(15),
        goal=None,
    )


def _proven_us(gate: ResourceServer, scopes: list[dict[str, Any]]) -> float:
    async def run() -> float:
        started = time.process_time_ns()
        for scope in scopes:
            found = await gate.admit(scope, Headers(scope["headers"]))
            assert isinstance(found, Admission), found
        return (time.process_time_ns() - started) / len(scopes) / 1000

    return asyncio.run(run())


def _token(key: SigningKey, **more: Any) -> str:
    claims = {
        "iss": ISSUER,
        "sub": "5f1d6a3e-8f0b-4a40-9d2b-2f3c9d1f5b7a",
        "client_id": "https://client.example.com/metadata.json",
        "aud": RESOURCE,
        "iat": NOW,
        "exp": NOW + 3600,
        "jti": "0b9f5d0a-3c55-4d55-8f30-7a0d8f8e6a11",
        "scope": "mcp files:read files:write",
    }
    return key.sign({"typ": "at+jwt", "kid": "one"}, claims | more)


def _proof(holder: SigningKey, token: str, number: int) -> str:
    proof_id = f"proof-{number}"
    return make_proof(holder, "POST", RESOURCE, now=NOW, proof_id=proof_id, access_token=token)


def _verifier(key: SigningKey) -> JwtVerifier:
    return JwtVerifier(ISSUER, jwks_uri=f"{ISSUER}/keys", fetcher=_Keys(key), clock=lambda: NOW)


def _gate(key: SigningKey) -> ResourceServer:
    return ResourceServer(
        ISSUER,
        audience=RESOURCE,
        scopes=["mcp"],
        verifier=_verifier(key),
        dpop=DpopChecks(seen=SeenProofs()),
        clock=lambda: NOW,
    )


def _scope(authorization: str, proof: str | None = None) -> dict[str, Any]:
    headers = [
        (b"host", b"api.example.com"),
        (b"accept", b"application/json, text/event-stream"),
        (b"content-type", b"application/json"),
        (b"mcp-protocol-version", b"2025-11-25"),
        (b"authorization", authorization.encode()),
    ]
    if proof is not None:
        headers.append((b"dpop", proof.encode()))
    return {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": headers,
    }


def _known(key: SigningKey, token: str) -> Callable[[], object]:
    """Return the question about a token that the gate has verified."""
    gate, scope = _gate(key), _scope(f"Bearer {token}")
    headers = Headers(scope["headers"])
    assert isinstance(asyncio.run(gate.admit(scope, headers)), Admission)
    assert gate.known(scope, headers) is not None
    return partial(gate.known, scope, headers)


def _signature_alone(key: SigningKey, token: str) -> Callable[[], object]:
    """Return the check of a token's signature by cryptography, with all that it needs ready."""
    # Loaded by this benchmark alone.
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
    from joserfc.jwk import ECKey, RSAKey

    signed, _, signature = token.rpartition(".")
    message, raw = signed.encode(), decode_base64url(signature)
    if key.algorithm == "RS256":
        public = RSAKey.import_key(dict(key.public_jwk)).public_key
        return partial(public.verify, raw, message, padding.PKCS1v15(), hashes.SHA256())
    half = len(raw) // 2
    der = encode_dss_signature(*(int.from_bytes(one) for one in (raw[:half], raw[half:])))
    curve_key = ECKey.import_key(dict(key.public_jwk)).public_key
    return partial(curve_key.verify, der, message, ec.ECDSA(hashes.SHA256()))


def _bare_us(run: Callable[[], object], calls: int) -> float:
    return cost_ns(run, calls) / 1000


def _cost_us(ask: Callable[[], Awaitable[object]], calls: int) -> float:
    async def run() -> float:
        await ask()
        started = time.process_time_ns()
        for _ in range(calls):
            await ask()
        return (time.process_time_ns() - started) / calls / 1000

    return asyncio.run(run())
