"""DPoP at the token endpoint of the example authorization server."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from joserfc.jwk import OctKey
from msgspec.structs import replace

from tests.auth.authorization_server.signing import Signer
from tests.auth.authorization_server.visitor import (
    ISSUER,
    Visitor,
    given,
    redirect_params,
    refusal,
    visiting,
)

URL = f"{ISSUER}/token"
REFUSED = (400, "invalid_dpop_proof")


async def exchanged(visitor: Visitor, proof: str | None, **params: str) -> httpx2.Response:
    """Exchange a new code with a proof."""
    code = await visitor.code(**params)
    visitor.http.headers.pop("dpop", None)
    if proof is not None:
        visitor.http.headers["dpop"] = proof
    return await visitor.exchange(code)


async def test_a_token_is_bound_to_the_key_of_the_proof() -> None:
    signer = Signer()
    async with visiting() as visitor:
        tokens = given(await exchanged(visitor, signer.proof(visitor.clock(), URL)))
        claims = await visitor.claims(tokens["access_token"])
    assert tokens["token_type"] == "DPoP"
    assert claims["cnf"] == {"jkt": signer.thumbprint}


@pytest.mark.parametrize("url", [f"{URL}?query#part", "HTTP://AS.example:80/token"])
async def test_a_proof_for_the_same_url_written_otherwise_is_taken(url: str) -> None:
    async with visiting() as visitor:
        response = await exchanged(visitor, Signer().proof(visitor.clock(), url))
    assert given(response)["token_type"] == "DPoP"


@pytest.mark.parametrize(
    "claims",
    [
        {"htm": "GET"},
        {"htm": None},
        {"htu": f"{ISSUER}/other"},
        {"htu": "https://as.example/token"},
        {"htu": None},
        {"iat": 1_799_999_939},
        {"iat": 1_800_000_061},
        {"iat": None},
        {"jti": None},
        {"jti": ""},
        {"jti": "x" * 201},
    ],
)
async def test_a_proof_with_a_wrong_claim_is_refused(claims: dict[str, Any]) -> None:
    async with visiting() as visitor:
        proof = Signer().proof(visitor.clock(), URL, **claims)
        assert refusal(await exchanged(visitor, proof)) == REFUSED


@pytest.mark.parametrize(
    "header",
    [
        {"typ": "JWT"},
        {"jwk": Signer().key.as_dict(private=False)},
        {"jwk": Signer().key.as_dict(private=True)},
        {"jwk": OctKey.generate_key(256).as_dict()},
        {"jwk": None},
        {"jwk": {}},
    ],
)
async def test_a_proof_with_a_wrong_header_is_refused(header: dict[str, Any]) -> None:
    async with visiting() as visitor:
        proof = Signer().proof(visitor.clock(), URL, header)
        assert refusal(await exchanged(visitor, proof)) == REFUSED


async def test_a_proof_that_holds_its_private_key_is_refused() -> None:
    signer = Signer()
    async with visiting() as visitor:
        private = {"jwk": signer.key.as_dict(private=True)}
        proof = signer.proof(visitor.clock(), URL, private)
        assert refusal(await exchanged(visitor, proof)) == REFUSED


@pytest.mark.parametrize("proof", ["made up", "a.b.c", ""])
async def test_a_proof_that_is_no_jwt_is_refused(proof: str) -> None:
    async with visiting() as visitor:
        assert refusal(await exchanged(visitor, proof)) == REFUSED


async def test_a_proof_is_taken_once() -> None:
    async with visiting() as visitor:
        proof = Signer().proof(visitor.clock(), URL)
        first, second = [await exchanged(visitor, proof) for _ in range(2)]
    assert (first.status_code, refusal(second)) == (200, REFUSED)


async def test_without_a_proof_a_server_that_requires_one_refuses() -> None:
    async with visiting(dpop="required") as visitor:
        assert refusal(await exchanged(visitor, None)) == REFUSED


async def test_without_a_proof_a_client_that_registered_to_send_one_is_refused() -> None:
    async with visiting() as visitor:
        visitor.server.clients.add(replace(visitor.client, dpop_bound=True))
        assert refusal(await exchanged(visitor, None)) == REFUSED


async def test_a_server_without_dpop_does_not_look_at_proofs() -> None:
    async with visiting(dpop="off") as visitor:
        assert given(await exchanged(visitor, "made up"))["token_type"] == "Bearer"


async def test_a_nonce_is_asked_for_and_then_taken() -> None:
    signer = Signer()
    async with visiting(dpop_nonces=True) as visitor:
        asked = await exchanged(visitor, signer.proof(visitor.clock(), URL))
        nonce = asked.headers["dpop-nonce"]
        proof = signer.proof(visitor.clock(), URL, nonce=nonce)
        taken = await exchanged(visitor, proof)
    assert refusal(asked) == (400, "use_dpop_nonce")
    assert (taken.status_code, taken.headers["dpop-nonce"]) == (200, nonce)


@pytest.mark.parametrize(("later_s", "taken"), [(299, True), (601, False)])
async def test_a_nonce_ends(later_s: int, taken: bool) -> None:
    async with visiting(dpop_nonces=True) as visitor:
        nonce = visitor.server.proofs.nonce()
        visitor.clock.now += later_s
        proof = Signer().proof(visitor.clock(), URL, nonce=nonce)
        assert ((await exchanged(visitor, proof)).status_code == 200) is taken


async def test_a_nonce_that_was_taken_back_is_refused() -> None:
    async with visiting(dpop_nonces=True) as visitor:
        nonce = visitor.server.proofs.nonce()
        visitor.server.proofs.rotate_nonces()
        response = await exchanged(visitor, Signer().proof(visitor.clock(), URL, nonce=nonce))
    assert refusal(response) == (400, "use_dpop_nonce")


@pytest.mark.parametrize("same", [True, False])
async def test_a_refresh_token_of_a_public_client_needs_the_same_key(same: bool) -> None:
    signer = Signer()
    async with visiting() as visitor:
        tokens = given(await exchanged(visitor, signer.proof(visitor.clock(), URL)))
        other = signer if same else Signer()
        visitor.http.headers["dpop"] = other.proof(visitor.clock(), URL)
        response = await visitor.refresh(tokens["refresh_token"])
    found = response.json().get("error", response.json().get("token_type"))
    assert found == ("DPoP" if same else "invalid_grant")


@pytest.mark.parametrize("same", [True, False])
async def test_a_code_that_is_bound_to_a_key_needs_it(same: bool) -> None:
    signer = Signer()
    async with visiting() as visitor:
        proof = (signer if same else Signer()).proof(visitor.clock(), URL)
        response = await exchanged(visitor, proof, dpop_jkt=signer.thumbprint)
    assert (response.status_code == 200) is same


async def test_a_code_request_itself_needs_no_proof() -> None:
    async with visiting(dpop="required") as visitor:
        assert "code" in redirect_params(await visitor.authorize())
