"""Secrets and assertions of programs: lured to another authorization server, shown again there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from examples.oauth.authorization_server import Client as RegisteredClient
from mcp_gen.auth import ClientCredentials, EnterpriseManaged, SigningKey, WorkloadIdentity
from mcp_gen.auth.client.grant_authorizer import GrantAuthorizer
from mcp_gen.auth.proofs.keys import decode_base64url
from mcp_gen.core.errors import AuthError
from tests.auth.authorization_server.signing import Signer
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.world import EVIL, HONEST, METADATA, URL, World, opened_world

KEY = SigningKey.generate()
PLATFORM = Signer()
PLATFORM_ISSUER = "https://platform.example"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
SHOWN = ("client_secret", "client_assertion", "assertion")
"""Fields of token requests that must go to one authorization server alone."""


def by_key(world: World, **options: Any) -> GrantAuthorizer:
    """Return a client that signs assertions, known to both authorization servers."""
    jwk = {name: value for name, value in KEY.public_jwk.items() if name != "alg"}
    for server in (world.server, world.evil):
        server.clients.add(
            RegisteredClient(
                client_id="machine",
                auth_method="private_key_jwt",
                jwks={"keys": [jwk]},
                grant_types=frozenset({"client_credentials"}),
            )
        )
    return ClientCredentials(
        "machine", private_key=KEY, fetcher=world.fetcher(), clock=world.clock, **options
    )


def by_secret(world: World, **options: Any) -> GrantAuthorizer:
    """Return a client with a secret, which the honest server knows."""
    world.add_machine("machine", "its-secret")
    return ClientCredentials(
        "machine", "its-secret", fetcher=world.fetcher(), clock=world.clock, **options
    )


def by_workload(world: World, **options: Any) -> GrantAuthorizer:
    """Return a workload with a JWT of its platform, which is for the honest server."""
    world.server.trusted_issuers = {PLATFORM_ISSUER: PLATFORM.jwks}
    world.server.workloads = {(PLATFORM_ISSUER, "pod"): "machine"}
    world.server.clients.add(
        RegisteredClient(client_id="machine", grant_types=frozenset({JWT_BEARER}))
    )

    def jwt() -> str:
        return PLATFORM.assertion(world.clock.now, iss=PLATFORM_ISSUER, sub="pod", aud=HONEST)

    return WorkloadIdentity("machine", jwt, fetcher=world.fetcher(), clock=world.clock, **options)


def name_issuer(world: World, issuer: str) -> None:
    world.resource_metadata({"resource": URL, "authorization_servers": [issuer]})


def shown_at(world: World, issuer: str) -> list[str]:
    """Return the secrets and assertions that an authorization server was shown."""
    found: list[str] = []
    for one in world.sent(issuer, "/token"):
        found += [one.form[name] for name in SHOWN if name in one.form]
        found += [one.token] * ("authorization" in one.headers)
    return found


Kind = Callable[..., GrantAuthorizer]


@attacks(
    "a program that is lured to another authorization server",
    Attack("with a secret", (by_secret, EVIL), (by_secret, HONEST), "another authorization"),
    Attack("with a key", (by_key, EVIL), (by_key, HONEST), "another authorization"),
    Attack("with a workload's JWT", (by_workload, EVIL), (by_workload, HONEST), "another author"),
)
async def test_a_program_with_an_issuer_goes_to_no_other(case: Case[tuple[Kind, str]]) -> None:
    make, issuer = case.given
    async with opened_world() as world:
        auth = make(world, issuer=HONEST)
        name_issuer(world, issuer)
        outcome = await world.call(auth=auth)
        assert shown_at(world, EVIL) == []
        case.judge(outcome, shown_at(world, HONEST))
        await auth.aclose()


@attacks(
    "a server that changes its authorization server",
    Attack("with a secret", (by_secret, EVIL), (by_secret, HONEST), "another authorization"),
    Attack("with a key", (by_key, EVIL), (by_key, HONEST), "another authorization"),
    Attack("with a workload's JWT", (by_workload, EVIL), (by_workload, HONEST), "another author"),
)
async def test_a_program_stays_with_its_first_authorization_server(
    case: Case[tuple[Kind, str]],
) -> None:
    make, issuer = case.given
    async with opened_world(access_token_lifetime_s=60) as world:
        auth = make(world)
        name_issuer(world, HONEST)
        assert await world.call(auth=auth) == PASSED
        del world.called[:]
        world.net.log.clear()
        name_issuer(world, issuer)
        # No document is cached any more, and no token is valid.
        world.clock.now += 4_000
        outcome = await relogin(auth)
        if outcome == PASSED:
            outcome = await world.call(auth=auth)
        assert shown_at(world, EVIL) == []
        case.judge(outcome, world.called)
        await auth.aclose()


async def relogin(auth: GrantAuthorizer) -> str:
    try:
        await auth.login(URL)
    except AuthError as error:
        return str(error)
    return PASSED


@attacks(
    "an assertion that is shown again",
    Attack("one that another server was shown", EVIL, HONEST, "invalid_client"),
)
async def test_an_assertion_for_one_authorization_server_is_of_no_use_at_another(
    case: Case[str],
) -> None:
    """The evil server names the token endpoint of the honest one, or shows the assertion itself."""
    async with opened_world() as world:
        name_issuer(world, case.given)
        auth = by_key(world)
        # The request does not arrive, so that no server has seen the assertion.
        world.answer(f"{case.given}/token", {}, 503)
        await world.call(auth=auth)
        del world.net.answers[f"{case.given}/token"]
        (form,) = [one.form for one in world.sent(case.given, "/token")]
        response = await world.http.post(f"{HONEST}/token", data=form)
        told = response.json()
        given = [told["access_token"]] if "access_token" in told else []
        case.judge(told.get("error", PASSED), given)
        await auth.aclose()


@attacks(
    "an assertion at a token endpoint of another server",
    Attack("metadata that mixes two servers", EVIL, HONEST, "invalid_client"),
)
async def test_metadata_that_names_the_endpoint_of_another_server_gets_no_token(
    case: Case[str],
) -> None:
    async with opened_world() as world:
        servers = {EVIL: world.evil, HONEST: world.server}
        mixed = {**servers[case.given].document(), "token_endpoint": f"{HONEST}/token"}
        world.answer(case.given + METADATA, mixed)
        name_issuer(world, case.given)
        auth = by_key(world)
        case.judge(await world.call(auth=auth), world.called)
        await auth.aclose()


@attacks(
    "an ID token at an identity provider",
    Attack(
        "whose metadata is another's",
        {"issuer": EVIL},
        {"issuer": PLATFORM_ISSUER},
        "that of another one",
    ),
    Attack(
        "whose token endpoint is not https",
        {"token_endpoint": "http://platform.example/token"},
        {"token_endpoint": "https://platform.example/token"},
        "is not safe",
    ),
)
async def test_an_id_token_is_shown_to_its_identity_provider_alone(
    case: Case[dict[str, str]],
) -> None:
    async with opened_world() as world:
        name_issuer(world, HONEST)
        usual = {
            "issuer": PLATFORM_ISSUER,
            "token_endpoint": f"{PLATFORM_ISSUER}/token",
            "authorization_endpoint": f"{PLATFORM_ISSUER}/authorize",
        }
        world.net.serve(PLATFORM_ISSUER, world.evil.app)
        world.answer(PLATFORM_ISSUER + METADATA, {**usual, **case.given})
        jag = PLATFORM.assertion(
            world.clock.now,
            iss=PLATFORM_ISSUER,
            sub="demo",
            aud=HONEST,
            client_id="machine",
            resource=URL,
            scope="mcp",
        )
        granted = {
            "access_token": PLATFORM.sign(json.loads(_payload(jag)), typ="oauth-id-jag+jwt"),
            "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "token_type": "N_A",
        }
        world.answer(f"{PLATFORM_ISSUER}/token", granted)
        world.server.trusted_issuers = {PLATFORM_ISSUER: PLATFORM.jwks}
        world.server.clients.add(
            RegisteredClient(
                client_id="machine",
                secret="its-secret",
                auth_method="client_secret_basic",
                grant_types=frozenset({JWT_BEARER}),
            )
        )
        auth = EnterpriseManaged(
            "machine",
            "its-secret",
            id_token="e30.e30.AA",
            idp_issuer=PLATFORM_ISSUER,
            idp_client_id="at-the-idp",
            fetcher=world.fetcher(),
            clock=world.clock,
        )
        outcome = await world.call(auth=auth)
        case.judge(outcome, world.called)
        seen = [one.url for one in world.net.log if "e30.e30.AA" in one.text]
        assert seen == ([] if case.is_hostile else [f"{PLATFORM_ISSUER}/token"])
        await auth.aclose()


def _payload(jwt: str) -> bytes:
    return decode_base64url(jwt.split(".")[1])
