"""Our client logs in to servers of FastMCP: its verifiers, and its provider in memory."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest
from fastmcp import FastMCP
from fastmcp.server.auth import (
    AuthProvider,
    JWTVerifier,
    RemoteAuthProvider,
    TokenVerifier,
    require_scopes,
)
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from fastmcp.server.auth.providers.introspection import IntrospectionTokenVerifier
from fastmcp.server.dependencies import get_access_token
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions

from examples.oauth.authorization_server import AuthorizationServer, Client
from mcp_gen.auth import ClientCredentials
from mcp_gen.core.errors import AuthError
from tests.auth.client.over_sockets import serving_issuer
from tests.peers.auth.official_app import serving
from tests.peers.auth.official_issuer import url_of
from tests.peers.auth.protected import (
    READ,
    WRITE,
    Clock,
    User,
    connected,
    forms,
    oauth,
    queries,
    said,
)
from tests.support.http.loopback import Web
from tests.support.ports import free_port

API, SECRET = "api", "secret"


def who() -> str:
    """Say who calls."""
    token = get_access_token()
    return f"{token.claims.get('sub')} may {' '.join(sorted(token.scopes))}" if token else "nobody"


def write() -> str:
    """Write something."""
    return "written"


@asynccontextmanager
async def serving_fastmcp(auth: AuthProvider, port: int) -> AsyncGenerator[Web, None]:
    """Serve both tools behind a provider."""
    server = FastMCP("fastmcp", auth=auth)
    server.tool(who)
    server.tool(write, auth=require_scopes(WRITE))
    async with serving(server.http_app(), port=port) as web:
        yield web


# --- its verifiers, with our example authorization server ---


class Place(NamedTuple):
    """A server of FastMCP, and its authorization server."""

    url: str
    issuer: AuthorizationServer


def by_keys(issuer: AuthorizationServer, url: str, *scopes: str) -> TokenVerifier:
    return JWTVerifier(
        jwks_uri=issuer.url("jwks"),
        issuer=issuer.issuer,
        audience=url,
        algorithm="ES256",
        required_scopes=list(scopes),
    )


def by_introspection(issuer: AuthorizationServer, url: str, *scopes: str) -> TokenVerifier:
    issuer.access_token_format = "opaque"
    return IntrospectionTokenVerifier(
        introspection_url=issuer.url("introspect"),
        client_id=API,
        client_secret=SECRET,
        audience=url,
        required_scopes=list(scopes),
    )


each_verifier = pytest.mark.parametrize("verifier", [by_keys, by_introspection])
Verifier = Callable[..., TokenVerifier]


@asynccontextmanager
async def verifying(verifier: Verifier, *scopes: str) -> AsyncGenerator[Place, None]:
    """Serve a server whose tokens are those of our example authorization server."""
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    async with serving_issuer() as issuer:
        for client_id in (API, "robot"):
            issuer.clients.add(
                Client(
                    client_id=client_id,
                    secret=SECRET,
                    auth_method="client_secret_basic",
                    grant_types=frozenset({"client_credentials"}),
                )
            )
        checks = verifier(issuer, f"{origin}/mcp", *(scopes or (READ,)))
        auth = RemoteAuthProvider(checks, [url_of(issuer.issuer)], origin)
        async with serving_fastmcp(auth, port):
            yield Place(f"{origin}/mcp", issuer)


@each_verifier
@pytest.mark.parametrize("person", [True, False], ids=["user", "program"])
async def test_its_verifier_takes_the_tokens_that_our_client_brings(
    verifier: Verifier, person: bool
) -> None:
    user = User()
    auth = oauth(user) if person else ClientCredentials("robot", SECRET)
    async with verifying(verifier) as place, connected(place.url, auth) as session:
        answer = said(await session.call_tool("who"))
    assert answer == f"{'demo' if person else 'robot'} may {READ}"
    assert [shown["resource"] for shown in queries(user.seen)] == [place.url] * person


@each_verifier
async def test_our_client_steps_up_to_the_scopes_that_the_server_needs(verifier: Verifier) -> None:
    user = User()
    async with (
        verifying(verifier, READ, WRITE) as place,
        connected(place.url, oauth(user, scopes=[READ])) as session,
    ):
        answer = said(await session.call_tool("who"))
    assert answer == f"demo may {READ} {WRITE}"


async def test_a_tool_with_scopes_is_unknown_to_our_client_without_them() -> None:
    # FastMCP hides it, and answers with no challenge: there is nothing to step up to.
    user = User()
    async with verifying(by_keys) as place, connected(place.url, oauth(user)) as session:
        names = [tool.name async for tool in session.tools()]
        result = await session.call_tool("write")
    assert (names, result.is_error) == (["who"], True)
    assert len(user.seen) == 1


async def test_a_tool_with_scopes_is_had_by_asking_for_them_at_first() -> None:
    user = User()
    async with (
        verifying(by_keys) as place,
        connected(place.url, oauth(user, scopes=[READ, WRITE])) as session,
    ):
        assert said(await session.call_tool("write")) == "written"


# --- its provider in memory ---


@asynccontextmanager
async def in_memory() -> AsyncGenerator[tuple[Web, InMemoryOAuthProvider], None]:
    """Serve a server that is its own authorization server."""
    port = free_port()
    provider = InMemoryOAuthProvider(
        base_url=f"http://127.0.0.1:{port}",
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=[READ, WRITE]
        ),
        revocation_options=RevocationOptions(enabled=True),
        required_scopes=[READ],
    )
    async with serving_fastmcp(provider, port) as web:
        yield web, provider


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25", "2026-07-28"])
async def test_our_client_registers_logs_in_and_calls(revision: str) -> None:
    user = User()
    async with (
        in_memory() as (web, provider),
        connected(web.url, oauth(user), revision) as session,
    ):
        answer = said(await session.call_tool("who"))
    assert answer == f"None may {READ}"
    assert len(provider.clients) == 1
    (shown,) = queries(user.seen)
    (sent,) = forms(web, "/token")
    assert (shown["resource"], sent["resource"]) == (web.url, web.url)


async def test_our_client_renews_its_token_with_a_refresh_token_that_is_used_once() -> None:
    user, clock = User(), Clock(time.time)
    async with (
        in_memory() as (web, provider),
        connected(web.url, oauth(user, clock=clock)) as session,
    ):
        for _ in range(3):
            said(await session.call_tool("who"))
            clock.ahead_s += 3590
        assert len(provider.refresh_tokens) == len(provider.access_tokens) == 1
    renewed = [form["refresh_token"] for form in forms(web, "/token") if "refresh_token" in form]
    assert len(set(renewed)) == len(renewed) == 2
    assert len(user.seen) == 1


async def test_our_client_logs_out() -> None:
    user = User()
    async with in_memory() as (web, provider):
        auth = oauth(user)
        async with connected(web.url, auth) as session:
            said(await session.call_tool("who"))
        assert await auth.logout(web.url)
        assert (provider.access_tokens, provider.refresh_tokens) == ({}, {})


async def test_its_refusal_of_our_basic_authentication_is_told() -> None:
    # It is the official SDK's, which lists the method and reads the id from the form alone.
    async with in_memory() as (web, _):
        auth = oauth(User(), token_endpoint_auth_method="client_secret_basic")
        with pytest.raises(AuthError) as caught:
            await auth.login(web.url)
        await auth.aclose()
    assert caught.value.error == "invalid_client"
