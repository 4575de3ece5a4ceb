"""Tokens that are bound to a key: each needs the proof of its own request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from mcp_gen import UsageError
from mcp_gen.auth import DpopChecks, ResourceServer, StaticTokens
from mcp_gen.auth.proofs.keys import SigningKey
from mcp_gen.auth.proofs.making import make_proof
from mcp_gen.auth.proofs.nonces import NonceIssuer
from mcp_gen.core.transport.headers import Headers
from tests.auth.server.requests import (
    ISSUER,
    NOW,
    RESOURCE,
    Clock,
    admitted,
    ask,
    bearer,
    challenges,
    refused,
    scope,
)
from tests.auth.verifiers.issuers import Documents, claims, ec_key, sign

ISSUER_KEY = ec_key()
KEY = SigningKey.generate()
OTHER = SigningKey.generate()
BOUND = sign(ISSUER_KEY, claims(cnf={"jkt": KEY.thumbprint}))
PLAIN = sign(ISSUER_KEY)


def gate(dpop: DpopChecks | None = None, **options: Any) -> ResourceServer:
    documents = Documents()
    documents.publish(ISSUER_KEY)
    return ResourceServer(
        ISSUER,
        audience=options.pop("audience", RESOURCE),
        dpop=dpop,
        fetcher=documents,
        clock=options.pop("clock", Clock()),
        **options,
    )


def proof(
    token: str = BOUND,
    *,
    key: SigningKey = KEY,
    method: str = "POST",
    url: str = RESOURCE,
    now: float = NOW,
    proof_id: str = "1",
    nonce: str | None = None,
) -> tuple[str, str]:
    made = make_proof(key, method, url, now=now, proof_id=proof_id, access_token=token, nonce=nonce)
    return "dpop", made


def dpop(token: str = BOUND) -> tuple[str, str]:
    return "authorization", f"DPoP {token}"


async def test_a_bound_token_with_the_proof_of_its_request_is_admitted() -> None:
    found = await admitted(gate(), dpop(), proof())
    assert found.token is not None
    assert found.token.key_thumbprint == KEY.thumbprint


async def test_a_bound_token_that_is_shown_as_a_bearer_token_is_refused() -> None:
    server = gate()
    found = await refused(server, bearer(BOUND), proof())
    assert found.status == 401
    assert 'Bearer error="invalid_token"' in challenges(found)[0]
    await admitted(server, bearer(PLAIN))


async def test_a_bound_token_is_refused_as_a_bearer_token_also_after_it_was_admitted() -> None:
    server = gate()
    await admitted(server, dpop(), proof())
    assert (await refused(server, bearer(BOUND))).status == 401


async def test_a_token_that_is_bound_to_no_key_is_no_dpop_token() -> None:
    found = await refused(gate(), dpop(PLAIN), proof(PLAIN))
    assert found.status == 401
    assert challenges(found)[1].startswith('DPoP error="invalid_token"')


@pytest.mark.parametrize(
    "wrong",
    [
        list,
        lambda: [proof(proof_id="a"), proof(proof_id="b")],
        lambda: [("dpop", "no.jwt.x")],
        lambda: [("dpop", "ä")],
        lambda: [proof(method="GET")],
        lambda: [proof(url="https://api.example.com/other")],
        lambda: [proof(url="https://evil.example/mcp")],
        lambda: [proof(now=NOW - 301)],
        lambda: [proof(now=NOW + 301)],
        lambda: [proof(PLAIN)],
    ],
)
async def test_a_proof_that_is_not_of_this_request_is_refused(
    wrong: Callable[[], list[tuple[str, str]]],
) -> None:
    server = gate()
    found = await refused(server, dpop(), *wrong())
    assert found.status == 401
    assert challenges(found)[1].startswith('DPoP error="invalid_dpop_proof"')
    await admitted(server, dpop(), proof())


async def test_the_method_of_a_proof_is_that_of_its_request() -> None:
    server = gate()
    await admitted(server, dpop(), proof(method="GET"), method="GET")
    found = await refused(server, dpop(), proof(proof_id="2"), method="GET")
    assert found.status == 401


async def test_the_proof_of_another_key_is_refused() -> None:
    found = await refused(gate(), dpop(), proof(key=OTHER))
    assert challenges(found)[1].startswith('DPoP error="invalid_token"')


async def test_a_proof_is_accepted_once() -> None:
    server = gate()
    await admitted(server, dpop(), proof())
    found = await refused(server, dpop(), proof())
    assert 'error="invalid_dpop_proof"' in challenges(found)[1]
    await admitted(server, dpop(), proof(proof_id="2"))


async def test_a_proof_of_a_token_that_is_refused_is_not_used_up() -> None:
    clock = Clock()
    server = gate(clock=clock, audience=[RESOURCE])
    elsewhere = sign(ISSUER_KEY, claims(aud="https://b.example", cnf={"jkt": KEY.thumbprint}))
    await refused(server, dpop(elsewhere), proof(elsewhere))
    await admitted(server, dpop(), proof())


async def test_requests_with_a_proof_are_never_answered_from_memory() -> None:
    server = gate()
    await admitted(server, dpop(), proof())
    asked = scope(dpop(), proof(proof_id="2"))
    assert server.known(asked, Headers(asked["headers"])) is None


async def test_the_url_of_a_proof_is_the_public_one_also_under_a_mount() -> None:
    public = "https://api.example.com/base/mcp"
    server = gate(audience=[public, RESOURCE])
    mounted = {"root_path": "/base", "path": "/base/mcp"}
    await admitted(server, dpop(), proof(url=public), **mounted)
    inner = proof(url="http://10.0.0.5:8000/base/mcp", proof_id="2")
    assert (await refused(server, dpop(), inner, **mounted)).status == 401


async def test_the_url_of_a_path_beside_the_endpoint_is_the_public_one_of_that_path() -> None:
    public = "https://api.example.com/base/mcp"
    server = gate(audience=[public, RESOURCE])
    url = "https://api.example.com/base/messages"
    await admitted(server, dpop(), proof(url=url), path="/messages")
    again = proof(url=public, proof_id="2")
    assert (await refused(server, dpop(), again, path="/messages")).status == 401


async def test_a_token_that_lacks_scopes_is_forbidden_with_a_dpop_challenge() -> None:
    found = await refused(gate(scopes=["admin"]), dpop(), proof())
    assert found.status == 403
    assert challenges(found)[1].startswith('DPoP error="insufficient_scope"')


# --- challenges and metadata ---


async def test_both_schemes_are_named_where_both_are_taken_and_bearer_comes_first() -> None:
    first, second = challenges(await refused(gate()))
    assert first.startswith("Bearer resource_metadata=")
    assert second.startswith("DPoP resource_metadata=")
    assert 'algs="ES256 ' in second


async def test_where_a_key_is_required_bearer_tokens_are_refused_and_not_named() -> None:
    server = gate(DpopChecks(required=True))
    found = await refused(server, bearer(PLAIN))
    assert found.status == 401
    assert [one.split(" ")[:2] for one in challenges(found)] == [["DPoP", 'error="invalid_token",']]
    await admitted(server, dpop(), proof())


async def test_the_metadata_names_the_algorithms_of_proofs_and_that_keys_are_required() -> None:
    path = "/.well-known/oauth-protected-resource"
    both = msgspec.json.decode(await gate().document(scope(path=path), path) or b"")
    assert "ES256" in both["dpop_signing_alg_values_supported"]
    assert "dpop_bound_access_tokens_required" not in both
    server = gate(DpopChecks(required=True, algorithms=["ES256"]))
    only = msgspec.json.decode(await server.document(scope(path=path), path) or b"")
    assert only["dpop_bound_access_tokens_required"] is True
    assert only["dpop_signing_alg_values_supported"] == ["ES256"]


async def test_a_proof_with_another_algorithm_than_the_listed_ones_is_refused() -> None:
    rsa = SigningKey.generate("PS256")
    token = sign(ISSUER_KEY, claims(cnf={"jkt": rsa.thumbprint}))
    server = gate(DpopChecks(algorithms=["ES256"]))
    assert (await refused(server, dpop(token), proof(token, key=rsa))).status == 401
    await admitted(gate(), dpop(token), proof(token, key=rsa))


async def test_a_server_whose_verifier_knows_no_keys_takes_no_proofs() -> None:
    server = ResourceServer(
        ISSUER, audience=RESOURCE, verifier=StaticTokens({"token-of-alice": "alice"})
    )
    found = await refused(server, dpop("token-of-alice"), proof("token-of-alice"))
    assert found.status == 401
    assert [one.partition(" ")[0] for one in challenges(found)] == ["Bearer"]


def test_symmetric_algorithms_of_proofs_cannot_be_accepted() -> None:
    with pytest.raises(UsageError, match="algorithms"):
        DpopChecks(algorithms=["HS256"])


# --- nonces ---


async def test_a_proof_without_the_demanded_nonce_is_told_one_and_passes_with_it() -> None:
    server = gate(DpopChecks(nonces=NonceIssuer()))
    found = await refused(server, dpop(), proof())
    assert found.status == 401
    assert challenges(found)[1].startswith('DPoP error="use_dpop_nonce"')
    nonce = dict(found.headers)[b"dpop-nonce"].decode()
    await admitted(server, dpop(), proof(nonce=nonce, proof_id="2"))


async def test_a_nonce_of_another_server_or_of_long_ago_is_refused() -> None:
    clock = Clock()
    server = gate(DpopChecks(nonces=NonceIssuer()), clock=clock)
    foreign = NonceIssuer().issue(NOW)
    assert (await refused(server, dpop(), proof(nonce=foreign))).status == 401
    own = dict((await refused(server, dpop())).headers)[b"dpop-nonce"].decode()
    await admitted(server, dpop(), proof(nonce=own, proof_id="2"))
    clock.now += 600
    token_is_still_valid = sign(ISSUER_KEY, claims(exp=NOW + 10_000, cnf={"jkt": KEY.thumbprint}))
    late = proof(token_is_still_valid, nonce=own, proof_id="3", now=clock.now)
    found = await refused(server, dpop(token_is_still_valid), late)
    assert 'error="use_dpop_nonce"' in challenges(found)[1]


async def test_a_token_with_a_proof_is_verified_once_and_its_proof_each_time() -> None:
    server = gate()
    for number in range(3):
        await ask(server, dpop(), proof(proof_id=str(number)))
    assert (await refused(server, dpop(), proof(proof_id="0"))).status == 401
