"""Token exchange, ID-JAGs and workload JWTs at the example authorization server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from examples.oauth.authorization_server import AuthorizationServer, Client
from examples.oauth.authorization_server.endpoints.assertion_grants import (
    ACCESS_TOKEN,
    ID_JAG,
    ID_JAG_TYPE,
    ID_TOKEN,
)
from examples.oauth.authorization_server.jwts import header_of
from examples.oauth.authorization_server.settings import JWT_BEARER, TOKEN_EXCHANGE
from tests.auth.authorization_server.signing import Signer
from tests.auth.authorization_server.visitor import (
    ISSUER,
    REDIRECT,
    RESOURCE,
    Clock,
    Visitor,
    given,
    refusal,
    visiting,
)

IDP = "http://idp.example"
SECRET = "secret"
SERVICE = "https://service.example/mcp"
EVERY = frozenset({"authorization_code", "refresh_token", TOKEN_EXCHANGE, JWT_BEARER})
EXCHANGER = Client(
    client_id="app",
    redirect_uris=(REDIRECT,),
    secret=SECRET,
    auth_method="client_secret_post",
    grant_types=EVERY,
)


async def exchange(visitor: Visitor, subject: str, **form: str | None) -> httpx2.Response:
    """Exchange the token of a user."""
    sent = {
        "grant_type": TOKEN_EXCHANGE,
        "client_secret": SECRET,
        "subject_token": subject,
        "subject_token_type": ACCESS_TOKEN,
        **form,
    }
    return await visitor.post("token", **sent)


async def jag(visitor: Visitor, **form: str | None) -> httpx2.Response:
    """Exchange a new ID token for an ID-JAG."""
    tokens = await visitor.login(scope="openid")
    usual = {
        "requested_token_type": ID_JAG,
        "subject_token_type": ID_TOKEN,
        "audience": ISSUER,
        "resource": SERVICE,
        "scope": "files",
    }
    return await exchange(visitor, tokens["id_token"], **{**usual, **form})


@asynccontextmanager
async def exchanging(**settings: Any) -> AsyncGenerator[Visitor]:
    """Visit a server as a client that may exchange tokens, and logs in with its secret."""
    async with visiting(**settings) as visitor:
        visitor.client = visitor.server.clients.add(EXCHANGER)
        visitor.always = {"client_secret": SECRET}
        yield visitor


async def test_an_access_token_is_exchanged_for_one_of_another_audience() -> None:
    async with exchanging() as visitor:
        subject = (await visitor.login(scope="read write"))["access_token"]
        found = given(await exchange(visitor, subject, resource=SERVICE, scope="read"))
        claims = await visitor.claims(found["access_token"])
    assert (claims["aud"], claims["sub"], claims["scope"]) == (SERVICE, "demo", "read")
    assert found["issued_token_type"] == ACCESS_TOKEN
    assert "refresh_token" not in found


async def test_a_token_that_was_exchanged_ends_with_the_grant_of_the_first() -> None:
    async with exchanging() as visitor:
        first = await visitor.login()
        second = given(await exchange(visitor, first["access_token"], resource=SERVICE))
        introspect = [
            given(await visitor.post("introspect", token=second["access_token"]))["active"]
        ]
        await visitor.post("revoke", token=first["refresh_token"])
        introspect.append(
            given(await visitor.post("introspect", token=second["access_token"]))["active"]
        )
    assert introspect == [True, False]


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"subject_token": "made up"}, "invalid_request"),
        ({"subject_token": None}, "invalid_request"),
        ({"subject_token_type": None}, "invalid_request"),
        ({"subject_token_type": "saml"}, "invalid_request"),
        ({"subject_token_type": ID_TOKEN}, "invalid_request"),
        ({"requested_token_type": "saml"}, "invalid_request"),
        ({"actor_token": "somebody"}, "invalid_request"),
        ({"scope": "more"}, "invalid_scope"),
        ({"resource": "https://other.example/"}, "invalid_target"),
        ({"audience": "https://other.example/"}, "invalid_target"),
    ],
)
async def test_an_exchange_that_asks_for_more_is_refused(
    form: dict[str, str | None], error: str
) -> None:
    async with exchanging(resources=frozenset({RESOURCE, SERVICE})) as visitor:
        subject = (await visitor.login())["access_token"]
        sent: dict[str, str | None] = {"resource": SERVICE, "subject_token": subject, **form}
        response = await visitor.post(
            "token",
            **{"grant_type": TOKEN_EXCHANGE, "subject_token_type": ACCESS_TOKEN, **sent},
        )
    assert refusal(response) == (400, error)


async def test_a_token_that_has_ended_is_not_exchanged() -> None:
    async with exchanging() as visitor:
        subject = (await visitor.login())["access_token"]
        visitor.clock.now += 301
        assert refusal(await exchange(visitor, subject)) == (400, "invalid_request")


async def test_a_client_that_did_not_register_the_grant_exchanges_nothing() -> None:
    async with exchanging() as visitor:
        subject = (await visitor.login())["access_token"]
        fewer = replace(EXCHANGER, grant_types=frozenset({"authorization_code"}))
        visitor.server.clients.add(fewer)
        assert refusal(await exchange(visitor, subject)) == (400, "unauthorized_client")


async def test_an_id_token_is_exchanged_for_an_id_jag() -> None:
    there = {(ISSUER, "app"): "app-there"}
    async with exchanging(issuer=IDP, foreign_client_ids=there) as visitor:
        found = given(await jag(visitor))
        claims = await visitor.claims(found["access_token"])
    now = int(visitor.clock())
    assert header_of(found["access_token"])["typ"] == ID_JAG_TYPE
    assert claims == {
        "iss": IDP,
        "sub": "demo",
        "aud": ISSUER,
        "client_id": "app-there",
        "jti": claims["jti"],
        "iat": now,
        "exp": now + 300,
        "resource": SERVICE,
        "scope": "files",
    }
    assert found == {
        "issued_token_type": ID_JAG,
        "access_token": found["access_token"],
        "token_type": "N_A",
        "expires_in": 300,
        "scope": "files",
    }


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"audience": None}, "invalid_request"),
        ({"audience": "https://other.example"}, "invalid_target"),
        ({"resource": "not absolute"}, "invalid_target"),
    ],
)
async def test_an_id_jag_is_for_one_server_that_is_allowed(
    form: dict[str, str | None], error: str
) -> None:
    async with exchanging(issuer=IDP, exchange_audiences=frozenset({ISSUER})) as visitor:
        assert refusal(await jag(visitor, **form)) == (400, error)


@pytest.mark.parametrize("kind", ["urn:ietf:params:oauth:token-type:saml2", ACCESS_TOKEN])
async def test_an_id_token_is_no_token_of_another_type(kind: str) -> None:
    async with exchanging(issuer=IDP) as visitor:
        assert refusal(await jag(visitor, subject_token_type=kind)) == (400, "invalid_request")


async def test_an_id_token_of_another_client_is_not_exchanged() -> None:
    async with exchanging() as visitor:
        token = (await visitor.login(scope="openid"))["id_token"]
        visitor.client = visitor.server.clients.add(replace(EXCHANGER, client_id="other"))
        response = await exchange(visitor, token, subject_token_type=ID_TOKEN)
    assert refusal(response) == (400, "invalid_request")


# ID-JAGs at the server that they are for


@asynccontextmanager
async def trusting(signer: Signer, **settings: Any) -> AsyncGenerator[Visitor]:
    """Visit a server that trusts the issuer `IDP`."""
    trusted = {IDP: lambda: signer.jwks}
    async with exchanging(trusted_issuers=trusted, **settings) as visitor:
        yield visitor


def id_jag(signer: Signer, now: float, typ: str = ID_JAG_TYPE, **claims: Any) -> str:
    """Return an ID-JAG; a claim that is None is left out."""
    usual: Mapping[str, Any] = {
        "iss": IDP,
        "sub": "ada",
        "aud": ISSUER,
        "client_id": "app",
        "jti": "first",
        "iat": int(now),
        "exp": int(now) + 60,
        "resource": SERVICE,
        "scope": "files more",
    }
    sent = {name: value for name, value in {**usual, **claims}.items() if value is not None}
    return signer.sign(sent, typ=typ)


async def bear(visitor: Visitor, assertion: str, **form: str | None) -> httpx2.Response:
    """Send an assertion as a grant."""
    return await visitor.post("token", grant_type=JWT_BEARER, assertion=assertion, **form)


async def test_an_id_jag_gives_a_token_for_its_user_and_resource() -> None:
    signer = Signer()
    async with trusting(signer) as visitor:
        found = given(await bear(visitor, id_jag(signer, visitor.clock()), scope="files"))
        claims = await visitor.claims(found["access_token"])
    assert (claims["sub"], claims["aud"]) == (f"{IDP}|ada", SERVICE)
    assert (claims["client_id"], claims["scope"]) == ("app", "files")
    assert "refresh_token" not in found


async def test_two_servers_of_this_kind_do_the_whole_flow_together() -> None:
    idp = AuthorizationServer(issuer=IDP, clock=Clock())
    trusted = {IDP: idp.keys.public}
    async with visiting(idp) as there, exchanging(trusted_issuers=trusted) as here:
        there.client = idp.clients.add(EXCHANGER)
        there.always = here.always
        assertion = given(await jag(there))["access_token"]
        found = given(await bear(here, assertion))
        claims = await here.claims(found["access_token"])
    assert (claims["iss"], claims["sub"]) == (ISSUER, f"{IDP}|demo")


@pytest.mark.parametrize(
    ("claims", "error"),
    [
        ({"iss": "http://other.example"}, "invalid_grant"),
        ({"iss": None}, "invalid_grant"),
        ({"aud": "http://other.example"}, "invalid_grant"),
        ({"aud": f"{ISSUER}/token"}, "invalid_grant"),
        ({"aud": [ISSUER, "http://other.example"]}, "invalid_grant"),
        ({"client_id": "other"}, "invalid_grant"),
        ({"client_id": None}, "invalid_grant"),
        ({"sub": None}, "invalid_grant"),
        ({"jti": None}, "invalid_grant"),
        ({"exp": 1}, "invalid_grant"),
        ({"exp": 4_000_000_000}, "invalid_grant"),
        ({"iat": 4_000_000_000}, "invalid_grant"),
        ({"scope": "files"}, "invalid_scope"),
        ({"resource": "https://other.example/"}, "invalid_target"),
        ({"typ": "JWT"}, "invalid_grant"),
    ],
)
async def test_an_id_jag_that_is_wrong_is_refused(claims: dict[str, Any], error: str) -> None:
    signer = Signer()
    async with trusting(signer) as visitor:
        assertion = id_jag(signer, visitor.clock(), **claims)
        response = await bear(visitor, assertion, scope="files more", resource=SERVICE)
    assert refusal(response) == (400, error)


async def test_an_id_jag_of_another_key_is_refused() -> None:
    async with trusting(Signer()) as visitor:
        response = await bear(visitor, id_jag(Signer(), visitor.clock()))
    assert refusal(response) == (400, "invalid_grant")


async def test_an_id_jag_is_taken_once() -> None:
    signer = Signer()
    async with trusting(signer) as visitor:
        assertion = id_jag(signer, visitor.clock())
        first, second = [await bear(visitor, assertion) for _ in range(2)]
    assert (first.status_code, refusal(second)) == (200, (400, "invalid_grant"))


async def test_a_public_client_gets_nothing_for_an_id_jag() -> None:
    signer = Signer()
    async with trusting(signer) as visitor:
        visitor.server.clients.add(replace(EXCHANGER, auth_method="none", secret=None))
        visitor.always = {}
        response = await bear(visitor, id_jag(signer, visitor.clock()))
    assert refusal(response) == (400, "unauthorized_client")


async def test_the_metadata_tell_that_id_jags_are_taken() -> None:
    async with trusting(Signer()) as visitor:
        path = f"{ISSUER}/.well-known/oauth-authorization-server"
        found = (await visitor.http.get(path)).json()
    profile = "urn:ietf:params:oauth:grant-profile:id-jag"
    assert found["authorization_grant_profiles_supported"] == [profile]


# Workloads


@asynccontextmanager
async def employing(signer: Signer) -> AsyncGenerator[Visitor]:
    """Visit a server that knows the workload `robot` of `IDP` as a public client."""
    async with trusting(signer, workloads={(IDP, "robot"): "robot-client"}) as visitor:
        grants = frozenset({JWT_BEARER})
        robot = Client(client_id="robot-client", grant_types=grants, scope="files")
        visitor.client = visitor.server.clients.add(robot)
        visitor.always = {}
        yield visitor


def workload_jwt(signer: Signer, now: float, **claims: Any) -> str:
    return signer.assertion(now, **{"iss": IDP, "sub": "robot", "aud": ISSUER, **claims})


@pytest.mark.parametrize("client_id", ["robot-client", None])
async def test_a_workload_is_the_client_that_its_jwt_says(client_id: str | None) -> None:
    signer = Signer()
    async with employing(signer) as visitor:
        assertion = workload_jwt(signer, visitor.clock())
        form = {"client_id": client_id, "scope": "files", "resource": SERVICE}
        found = given(await bear(visitor, assertion, **form))
        claims = await visitor.claims(found["access_token"])
    assert (claims["sub"], claims["client_id"]) == ("robot-client", "robot-client")
    assert claims["aud"] == SERVICE


async def test_a_workload_shows_its_jwt_again_until_it_ends() -> None:
    signer = Signer()
    async with employing(signer) as visitor:
        assertion = workload_jwt(signer, visitor.clock())
        statuses = [(await bear(visitor, assertion)).status_code for _ in range(2)]
        visitor.clock.now += 66
        last = await bear(visitor, assertion)
    assert (statuses, refusal(last)) == ([200, 200], (400, "invalid_grant"))


@pytest.mark.parametrize(
    ("claims", "form", "error"),
    [
        ({"sub": "other"}, {}, "invalid_grant"),
        ({"iss": "http://other.example"}, {}, "invalid_grant"),
        ({"aud": "http://other.example"}, {}, "invalid_grant"),
        ({"aud": None}, {}, "invalid_grant"),
        ({}, {"client_id": "app"}, "invalid_grant"),
        ({"sub": "other"}, {"client_id": None}, "invalid_grant"),
        ({}, {"scope": "more"}, "invalid_scope"),
        ({}, {"assertion": None}, "invalid_request"),
    ],
)
async def test_a_workload_that_is_wrong_is_refused(
    claims: dict[str, Any], form: dict[str, str | None], error: str
) -> None:
    signer = Signer()
    async with employing(signer) as visitor:
        sent: dict[str, str | None] = {
            "grant_type": JWT_BEARER,
            "assertion": workload_jwt(signer, visitor.clock(), **claims),
            **form,
        }
        response = await visitor.post("token", **sent)
    assert refusal(response) == (400, error)
