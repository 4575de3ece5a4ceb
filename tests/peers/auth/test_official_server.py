"""Our client logs in to servers and authorization servers of the official SDK."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

import httpx2
import pytest
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer

from examples.oauth.authorization_server import Client
from mcp_gen.auth import ClientCredentials, MemoryTokenStore
from mcp_gen.core.errors import AuthError
from tests.auth.client.over_sockets import serving_issuer
from tests.peers.auth.official_app import serving
from tests.peers.auth.official_issuer import OfficialIssuer, url_of
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

each_revision = pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25", "2026-07-28"])


def who() -> str:
    """Say who calls."""
    token = get_access_token()
    return f"{token.subject} may {' '.join(sorted(token.scopes))}" if token else "nobody"


class Place(NamedTuple):
    """A server of the official SDK, and what serves its authorization server."""

    url: str
    web: Web
    issuer: OfficialIssuer

    def asked(self, grant_type: str) -> list[dict[str, str]]:
        """Return the requests for tokens of one grant."""
        return [form for form in forms(self.web, "/token") if form["grant_type"] == grant_type]


def settings(url: str, issuer: str, *scopes: str, **more: Any) -> AuthSettings:
    return AuthSettings(
        issuer_url=url_of(issuer),
        resource_server_url=url_of(url),
        required_scopes=list(scopes or (READ,)),
        validate_token_resource=True,
        **more,
    )


@asynccontextmanager
async def all_in_one(*scopes: str) -> AsyncGenerator[Place, None]:
    """Serve a server that is its own authorization server."""
    port = free_port()
    origin = f"http://127.0.0.1:{port}"
    issuer = OfficialIssuer(origin)
    both: dict[str, Any] = {
        "client_registration_options": issuer.registration,
        "revocation_options": issuer.revocation,
    }
    server = MCPServer(
        "official",
        auth_server_provider=issuer,
        auth=settings(f"{origin}/mcp", origin, *scopes, **both),
    )
    server.add_tool(who)
    async with serving(server.streamable_http_app(), port=port) as web:
        yield Place(web.url, web, issuer)


class Known(TokenVerifier):
    """Knows the tokens of an authorization server."""

    def __init__(self, issuer: OfficialIssuer) -> None:
        self._issuer = issuer

    async def verify_token(self, token: str) -> AccessToken | None:
        return self._issuer.access.get(token)


@asynccontextmanager
async def apart(*scopes: str) -> AsyncGenerator[Place, None]:
    """Serve an authorization server, and a server that verifies its tokens."""
    port, other = free_port(), free_port()
    issuer = OfficialIssuer(f"http://127.0.0.1:{other}")
    url = f"http://127.0.0.1:{port}/mcp"
    server = MCPServer(
        "official", token_verifier=Known(issuer), auth=settings(url, issuer.issuer, *scopes)
    )
    server.add_tool(who)
    async with (
        serving(issuer.app(), port=other) as web,
        serving(server.streamable_http_app(), port=port),
    ):
        yield Place(url, web, issuer)


each_kind = pytest.mark.parametrize("kind", [all_in_one, apart])
Kind = Callable[..., AbstractAsyncContextManager[Place]]


@each_kind
@each_revision
async def test_our_client_registers_logs_in_for_the_server_and_calls(
    kind: Kind, revision: str
) -> None:
    user = User()
    async with kind() as place, connected(place.url, oauth(user), revision) as session:
        answer = said(await session.call_tool("who"))
        assert session.revision == revision
    assert answer == f"demo may {READ}"
    assert len(place.issuer.clients) == 1
    (shown,) = queries(user.seen)
    (sent,) = place.asked("authorization_code")
    assert (shown["resource"], sent["resource"]) == (place.url, place.url)
    assert user.seen[0].issuer == place.issuer.issuer


@each_kind
async def test_our_client_renews_its_token_with_a_refresh_token_that_is_used_once(
    kind: Kind,
) -> None:
    user, clock = User(), Clock(time.time)
    async with kind() as place, connected(place.url, oauth(user, clock=clock)) as session:
        for _ in range(3):
            said(await session.call_tool("who"))
            clock.ahead_s += 590
        assert len(place.issuer.refresh) == 1
    assert len(user.seen) == 1
    renewed = [form["refresh_token"] for form in place.asked("refresh_token")]
    assert len(set(renewed)) == len(renewed) == 2


@each_kind
async def test_our_client_renews_a_token_that_the_server_forgot(kind: Kind) -> None:
    user, clock = User(), Clock(time.time)
    async with kind() as place, connected(place.url, oauth(user, clock=clock)) as session:
        said(await session.call_tool("who"))
        place.issuer.access.clear()
        # What is refused at once is not renewed: the next one would be refused, too.
        clock.ahead_s = 60
        said(await session.call_tool("who"))
    assert (len(user.seen), len(place.asked("refresh_token"))) == (1, 1)


async def test_our_client_logs_in_once_for_many_calls_and_after_a_restart() -> None:
    user, store = User(), MemoryTokenStore()
    answers: set[str] = set()
    async with apart() as place:
        for _ in range(2):
            async with connected(place.url, oauth(user, store=store)) as session:
                calls = [session.call_tool("who") for _ in range(10)]
                answers |= {said(one) for one in await asyncio.gather(*calls)}
    assert answers == {f"demo may {READ}"}
    assert len(user.seen) == 1


@each_kind
async def test_our_client_steps_up_to_the_scopes_that_the_server_needs(kind: Kind) -> None:
    # A refusal of this server says that scopes are missing, and not which: its metadata does.
    user = User()
    async with (
        kind(READ, WRITE) as place,
        connected(place.url, oauth(user, scopes=[READ])) as session,
    ):
        answer = said(await session.call_tool("who"))
    assert answer == f"demo may {READ} {WRITE}"
    assert [one.scopes for one in user.seen] == [(READ,), (READ, WRITE)]


@pytest.mark.parametrize("method", ["client_secret_post", "none"])
async def test_our_client_logs_out(method: str) -> None:
    user = User()
    async with apart() as place:
        auth = oauth(user, token_endpoint_auth_method=method)
        async with connected(place.url, auth) as session:
            said(await session.call_tool("who"))
        revoked = await auth.logout(place.url)
        left = [*place.issuer.access, *place.issuer.refresh]
    # The SDK's revocation endpoint refuses clients without a secret.
    assert (revoked, len(left)) == ((True, 0) if method != "none" else (False, 2))


async def test_our_client_knows_that_its_basic_authentication_is_not_understood() -> None:
    # The SDK lists the method, but reads the client's id from the form alone.
    user = User()
    async with apart() as place:
        auth = oauth(user, token_endpoint_auth_method="client_secret_basic")
        with pytest.raises(AuthError, match="Missing client_id") as caught:
            await auth.login(place.url)
        await auth.aclose()
    assert caught.value.error == "invalid_client"


# --- tokens of our example authorization server ---


class Introspecting(TokenVerifier):
    """Asks an authorization server about tokens, over HTTP."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer

    async def verify_token(self, token: str) -> AccessToken | None:
        async with httpx2.AsyncClient(trust_env=False, auth=("api", "secret")) as http:
            answer = await http.post(f"{self._issuer}/introspect", data={"token": token})
        claims = answer.json()
        if not claims["active"]:
            return None
        return AccessToken(
            token=token,
            client_id=claims["client_id"],
            scopes=claims["scope"].split(),
            expires_at=claims["exp"],
            resource=claims["aud"],
            subject=claims["sub"],
            claims=claims,
        )


@pytest.mark.parametrize("form", ["jwt", "opaque"])
@pytest.mark.parametrize("person", [True, False], ids=["user", "program"])
async def test_our_client_brings_tokens_of_our_authorization_server(
    form: str, person: bool
) -> None:
    user, port = User(), free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    async with serving_issuer(access_token_format=form) as issuer:
        for client_id in ("api", "robot"):
            issuer.clients.add(
                Client(
                    client_id=client_id,
                    secret="secret",
                    auth_method="client_secret_basic",
                    grant_types=frozenset({"client_credentials"}),
                )
            )
        server = MCPServer(
            "official",
            token_verifier=Introspecting(issuer.issuer),
            auth=settings(url, issuer.issuer),
        )
        server.add_tool(who)
        auth = oauth(user) if person else ClientCredentials("robot", "secret")
        async with (
            serving(server.streamable_http_app(), port=port),
            connected(url, auth) as session,
        ):
            answer = said(await session.call_tool("who"))
    assert answer == f"{'demo' if person else 'robot'} may {READ}"
