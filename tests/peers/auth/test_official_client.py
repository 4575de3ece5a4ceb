"""The official client logs in to our server, at our example authorization server."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mcp.client.auth.extensions.client_credentials import (
    ClientCredentialsOAuthProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
)
from mcp.client.auth.extensions.identity_assertion import IdentityAssertionOAuthProvider

from examples.oauth.authorization_server import AuthorizationServer, Client, Document
from examples.oauth.authorization_server.settings import JWT_BEARER
from mcp_gen.auth import IntrospectionVerifier, ResourceServer, SigningKey
from tests.auth.client.over_sockets import lifetime, serving_issuer
from tests.peers.auth.official_client import REDIRECT, Declined, OfficialUser, Storage, connected
from tests.peers.auth.protected import READ, WRITE, protecting, said
from tests.support.http.loopback import Web

each_mode = pytest.mark.parametrize("mode", ["auto", "legacy"])


API, ROBOT, SECRET = "api", "robot", "a secret: 100 %"
PEM = (
    rsa.generate_private_key(65537, 2048)
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    .decode()
)
KEY = SigningKey.load(PEM, "RS256")
DOCUMENT = "https://app.example/client.json"


async def document(url: str) -> Document:
    """Return the metadata document of the client."""
    assert url == DOCUMENT
    client = {
        "client_id": DOCUMENT,
        "client_name": "official",
        "redirect_uris": [REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_method": "none",
    }
    return Document(200, "application/json", json.dumps(client).encode())


class Place(NamedTuple):
    """Our server, and its authorization server."""

    web: Web
    issuer: AuthorizationServer

    def asked(self, grant_type: str) -> list[dict[str, str]]:
        """Return the requests for tokens of one grant."""
        sent = [dict(one.form) for one in self.issuer.received("token")]
        return [form for form in sent if form["grant_type"] == grant_type]


def by_keys(issuer: str, url: str) -> ResourceServer:
    return ResourceServer(issuer, audience=url, scopes=[READ])


def by_introspection(issuer: str, url: str) -> ResourceServer:
    verifier = IntrospectionVerifier(issuer, client_id=API, client_secret=SECRET)
    return ResourceServer(issuer, audience=url, scopes=[READ], verifier=verifier)


@asynccontextmanager
async def placed(
    gate: Callable[[str, str], ResourceServer] = by_keys, **settings: Any
) -> AsyncGenerator[Place, None]:
    async with (
        serving_issuer(**settings) as issuer,
        protecting(lambda url: gate(issuer.issuer, url)) as web,
    ):
        for client_id in (API, ROBOT):
            issuer.clients.add(
                Client(
                    client_id=client_id,
                    secret=SECRET,
                    auth_method="client_secret_basic",
                    grant_types=frozenset({"client_credentials", JWT_BEARER}),
                )
            )
        yield Place(web, issuer)


@each_mode
async def test_it_registers_logs_in_for_this_server_and_calls(mode: str) -> None:
    user = OfficialUser()
    async with placed() as place:
        url = place.web.url
        async with connected(url, user.provider(url), mode) as client:
            answer = said(await client.call_tool("who"))
        issuer = place.issuer.issuer
    assert answer.endswith(f"{issuer} demo may {READ}")
    assert len(place.issuer.received("register")) == 1
    (shown,) = user.shown
    (sent,) = place.asked("authorization_code")
    assert (shown["resource"], sent["resource"]) == (url, url)
    assert (shown["scope"], shown["code_challenge_method"]) == (READ, "S256")


@each_mode
async def test_it_renews_its_token_with_a_refresh_token_that_is_used_once(mode: str) -> None:
    user = OfficialUser()
    async with placed() as place:
        url = place.web.url
        auth = user.provider(url)
        async with connected(url, auth, mode) as client:
            answers = [said(await client.call_tool("who"))]
            for _ in range(2):
                auth.context.token_expiry_time = 1.0
                answers.append(said(await client.call_tool("who")))
    assert len(set(answers)) == len(user.shown) == 1
    renewed = [form["refresh_token"] for form in place.asked("refresh_token")]
    assert len(set(renewed)) == len(renewed) == 2
    assert {form["resource"] for form in place.asked("refresh_token")} == {url}


@each_mode
async def test_it_steps_up_to_the_scope_that_a_tool_needs(mode: str) -> None:
    user = OfficialUser()
    async with placed(fetch=document) as place:
        url = place.web.url
        auth = user.provider(url, client_metadata_url=DOCUMENT)
        async with connected(url, auth, mode) as client:
            before = said(await client.call_tool("who"))
            written = said(await client.call_tool("write"))
            after = said(await client.call_tool("who"))
    assert before.endswith(f"may {READ}")
    assert written.endswith("demo has written")
    assert after.endswith(f"may {READ} {WRITE}")
    assert [set(shown["scope"].split()) for shown in user.shown] == [{READ}, {READ, WRITE}]
    assert {shown["client_id"] for shown in user.shown} == {DOCUMENT}


async def test_it_cannot_step_up_where_a_registration_limits_the_scopes() -> None:
    # It registers with the scopes of its first request, and never again. RFC 7591 lets an
    # authorization server hold clients to these, as the official one and our example do.
    user = OfficialUser()
    async with placed() as place:
        url = place.web.url

        async def write() -> None:
            async with connected(url, user.provider(url)) as client:
                said(await client.call_tool("who"))
                await client.call_tool("write")

        with pytest.raises(ExceptionGroup) as caught:
            await write()
    assert caught.group_contains(Declined, match="invalid_scope")
    (registered,) = place.issuer.received("register")
    assert json.loads(registered.body)["scope"] == READ


async def test_it_needs_no_user_after_a_restart() -> None:
    user, storage = OfficialUser(), Storage()
    async with placed() as place:
        url = place.web.url
        for _ in range(2):
            async with connected(url, user.provider(url, storage)) as client:
                said(await client.call_tool("who"))
    assert len(user.shown) == 1


async def test_it_calls_with_an_opaque_token_that_our_server_introspects() -> None:
    user, storage = OfficialUser(), Storage()
    async with placed(by_introspection, access_token_format="opaque") as place:
        url = place.web.url
        async with connected(url, user.provider(url, storage)) as client:
            answer = said(await client.call_tool("who"))
    assert storage.tokens is not None
    assert "." not in storage.tokens.access_token
    assert "demo" in answer
    assert len(place.issuer.received("introspect")) == 1


# --- programs without a user ---


async def test_it_calls_with_the_secret_of_a_program() -> None:
    async with placed() as place:
        url, issuer = place.web.url, place.issuer.issuer
        auth = ClientCredentialsOAuthProvider(url, Storage(), ROBOT, SECRET, issuer=issuer)
        async with connected(url, auth) as client:
            answer = said(await client.call_tool("who"))
    assert answer.endswith(f"{issuer} {ROBOT} may {READ}")
    (sent,) = place.asked("client_credentials")
    assert sent["resource"] == url


async def test_it_calls_with_the_key_of_a_program() -> None:
    signed = SignedJWTParameters(
        issuer="keyed", subject="keyed", signing_key=PEM, signing_algorithm="RS256"
    )
    async with placed() as place:
        url, issuer = place.web.url, place.issuer.issuer
        place.issuer.clients.add(
            Client(
                client_id="keyed",
                auth_method="private_key_jwt",
                jwks={"keys": [KEY.public_jwk]},
                grant_types=frozenset({"client_credentials"}),
            )
        )
        auth = PrivateKeyJWTOAuthProvider(
            url, Storage(), "keyed", signed.create_assertion_provider(), issuer=issuer
        )
        async with connected(url, auth) as client:
            answer = said(await client.call_tool("who"))
    assert answer.endswith(f"{issuer} keyed may {READ}")


async def test_it_calls_for_an_employee_with_the_assertion_of_the_employer() -> None:
    employer = "https://employer.example"
    asked: list[tuple[str, str]] = []

    async def assertion(audience: str, resource: str) -> str:
        asked.append((audience, resource))
        claims = {"iss": employer, "sub": "ann", "aud": audience, "client_id": ROBOT}
        more = {"resource": resource, "scope": READ, "jti": "1", **lifetime()}
        return KEY.sign({"typ": "oauth-id-jag+jwt"}, {**claims, **more})

    async with placed() as place:
        url, issuer = place.web.url, place.issuer.issuer
        place.issuer.trusted_issuers = {employer: {"keys": [KEY.public_jwk]}}
        auth = IdentityAssertionOAuthProvider(
            url,
            Storage(),
            ROBOT,
            SECRET,
            issuer=issuer,
            assertion_provider=assertion,
            scope=READ,
            token_endpoint_auth_method="client_secret_basic",
        )
        async with connected(url, auth) as client:
            answer = said(await client.call_tool("who"))
    assert answer.endswith(f"{employer}|ann may {READ}")
    assert asked == [(issuer, url)]
