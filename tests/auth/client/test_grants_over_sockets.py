"""Each grant as a whole: our client, our server, and the example authorization server."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from examples.oauth.authorization_server.clients import Client as RegisteredAs
from examples.oauth.authorization_server.settings import JWT_BEARER, TOKEN_EXCHANGE
from mcp_gen.auth import (
    ClientCredentials,
    DPoP,
    DpopChecks,
    EnterpriseManaged,
    MemoryTokenStore,
    NonceIssuer,
    OAuth,
    SigningKey,
    WorkloadIdentity,
)
from mcp_gen.core.errors import AuthError
from tests.auth.client.over_sockets import (
    REDIRECT,
    agree,
    called,
    lifetime,
    placed,
    serving_issuer,
)
from tests.auth.client.scripted import claims_of

KEY = SigningKey.generate()
SECRET = "s3cret:%"


def machine(**more: Any) -> RegisteredAs:
    """Return a client that acts for itself."""
    usual: dict[str, Any] = {
        "client_id": "robot",
        "secret": SECRET,
        "auth_method": "client_secret_basic",
        "grant_types": frozenset({"client_credentials", JWT_BEARER, TOKEN_EXCHANGE}),
    }
    return RegisteredAs(**usual | more)


async def test_a_program_calls_a_tool_by_its_secret() -> None:
    async with placed() as place:
        place.issuer.clients.add(machine())
        said = await called(place, ClientCredentials("robot", SECRET, issuer=place.issuer.issuer))
    assert place.issuer.issuer in said
    assert "robot" in said
    assert said.endswith("['mcp']")
    assert len(place.issuer.received("token")) == 1


async def test_a_wrong_secret_is_an_error_of_the_authorization_server() -> None:
    async with placed() as place:
        place.issuer.clients.add(machine())
        with pytest.raises(AuthError) as caught:
            await called(place, ClientCredentials("robot", "wrong"))
    assert caught.value.error == "invalid_client"
    assert place.authorizations() == []


@pytest.mark.parametrize("algorithm", ["ES256", "RS256", "PS256", "Ed25519"])
async def test_a_program_calls_a_tool_by_its_key(algorithm: str) -> None:
    key = SigningKey.generate(algorithm)
    async with placed() as place:
        jwks = {"keys": [key.public_jwk]}
        place.issuer.clients.add(machine(secret=None, auth_method="private_key_jwt", jwks=jwks))
        said = await called(place, ClientCredentials("robot", private_key=key.private_jwk()))
    assert "robot" in said


async def test_a_workload_calls_a_tool_by_the_jwt_of_its_platform() -> None:
    platform = "https://platform.example"
    async with placed() as place:
        issuer = place.issuer
        issuer.clients.add(machine(secret=None, auth_method="none"))
        issuer.trusted_issuers = {platform: {"keys": [KEY.public_jwk]}}
        issuer.workloads = {(platform, "job"): "robot"}
        claims = {"iss": platform, "sub": "job", "aud": issuer.issuer, **lifetime()}
        jwt = KEY.sign({}, {**claims, "jti": secrets.token_urlsafe()})
        said = await called(place, WorkloadIdentity("robot", jwt))
    assert "robot" in said


async def test_an_employee_calls_a_tool_by_the_sign_in_at_the_employer() -> None:
    async with placed() as place, serving_issuer() as idp:
        idp.clients.add(machine(client_id="robot at the IdP", secret="another"))
        idp.foreign_client_ids = {(place.issuer.issuer, "robot at the IdP"): "robot"}
        place.issuer.clients.add(machine())
        place.issuer.trusted_issuers = {idp.issuer: idp.keys.public}
        claims = {"iss": idp.issuer, "sub": "ann", "aud": "robot at the IdP", **lifetime()}
        auth = EnterpriseManaged(
            "robot",
            SECRET,
            id_token=idp.keys.sign("JWT", claims),
            idp_issuer=idp.issuer,
            idp_client_id="robot at the IdP",
            idp_client_secret="another",
        )
        said = await called(place, auth)
    assert "ann" in said


async def test_a_bound_token_is_had_and_used_with_the_nonces_of_both_servers() -> None:
    checks = DpopChecks(required=True, nonces=NonceIssuer())
    async with placed(checks, dpop="required", dpop_nonces=True) as place:
        place.issuer.clients.add(machine())
        auth = DPoP(ClientCredentials("robot", SECRET))
        said = await called(place, auth)
    assert "robot" in said
    assert place.authorizations() == ["DPoP"]
    assert len(place.issuer.received("token")) == 2
    proofs = [got.headers["dpop"] for got in place.web.got if "dpop" in got.headers]
    assert len(set(proofs)) == len(proofs) >= 2
    assert all(claims_of(proof)["nonce"] for proof in proofs)


async def test_without_proofs_a_server_that_demands_them_is_not_reached() -> None:
    async with placed(DpopChecks(required=True)) as place:
        place.issuer.clients.add(machine())
        with pytest.raises(AuthError):
            await called(place, ClientCredentials("robot", SECRET))


async def test_the_key_of_a_stored_login_is_used_after_a_restart() -> None:
    store = MemoryTokenStore()

    def browser() -> DPoP:
        return DPoP(OAuth(redirect_uri=REDIRECT, on_authorize=agree, store=store))

    async with placed(DpopChecks(required=True), dpop="required") as place:
        first = await called(place, browser())
        again = await called(place, browser())
    assert first == again
    assert "demo" in first
    assert len(place.issuer.received("authorize")) == 1
    assert place.authorizations() == ["DPoP"]
