"""Our client and our server with npm's oidc-provider as their authorization server.

It has neither token exchange nor assertions as grants (RFC 8693, RFC 7523): both are tested with
our example authorization server, in tests/auth/client/test_grants_over_sockets.py.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_gen.auth import (
    ClientCredentials,
    DPoP,
    DpopChecks,
    IntrospectionVerifier,
    KeyAssertions,
    MemoryTokenStore,
    NonceIssuer,
    ResourceServer,
    SigningKey,
)
from mcp_gen.core.errors import AuthError
from tests.peers.auth.oidc_provider import (
    API,
    KEY,
    KEYED,
    ROBOT,
    SECRET,
    Issuers,
    Visitor,
)
from tests.peers.auth.protected import (
    READ,
    WRITE,
    Clock,
    connected,
    oauth,
    protecting,
    queries,
    said,
)
from tests.support.http.loopback import Web

pytestmark = pytest.mark.xdist_group("oidc-provider")


@asynccontextmanager
async def behind(issuers: Issuers, name: str, **options: Any) -> AsyncGenerator[Web, None]:
    """Serve our server behind one of the authorization servers."""
    issuer = issuers.urls[name]
    verifier = None
    if name == "opaque":
        verifier = IntrospectionVerifier(
            issuer, client_id=API, client_secret=SECRET, cache_s=0, inactive_s=0
        )

    def gate(url: str) -> ResourceServer:
        return ResourceServer(issuer, audience=url, scopes=[READ], verifier=verifier, **options)

    async with protecting(gate) as web:
        yield web


@pytest.mark.parametrize("name", ["jwt", "jwt-ec", "opaque", "unlisted"])
async def test_our_client_registers_logs_in_for_the_server_and_calls(
    issuers: Issuers, name: str
) -> None:
    user = Visitor()
    async with behind(issuers, name) as web, connected(web.url, oauth(user)) as session:
        answer = said(await session.call_tool("who"))
    assert answer.startswith("user:")
    assert answer.endswith(f"{issuers.urls[name]} demo may {READ}")
    (shown,) = queries(user.seen)
    assert shown["resource"] == web.url


@pytest.mark.parametrize(("supported", "logins"), [((READ, WRITE), 2), ((READ,), 3)])
async def test_our_client_steps_up_to_the_scope_that_a_tool_needs(
    issuers: Issuers, supported: tuple[str, ...], logins: int
) -> None:
    # Scopes that it did not register with are refused: it registers again, and asks once more.
    user = Visitor()
    async with (
        behind(issuers, "jwt", scopes_supported=supported) as web,
        connected(web.url, oauth(user)) as session,
    ):
        said(await session.call_tool("who"))
        written = said(await session.call_tool("write"))
        after = said(await session.call_tool("who"))
    assert written.endswith("demo has written")
    assert after.endswith(f"may {READ} {WRITE}")
    assert len(user.seen) == logins


@pytest.mark.parametrize("name", ["jwt", "opaque"])
async def test_our_client_renews_its_token_with_a_refresh_token_that_is_used_once(
    issuers: Issuers, name: str
) -> None:
    user, clock, store = Visitor(), Clock(time.time), MemoryTokenStore()
    held: set[str | None] = set()
    async with behind(issuers, name) as web:
        auth = oauth(user, clock=clock, store=store)
        async with connected(web.url, auth) as session:
            for _ in range(3):
                said(await session.call_tool("who"))
                stored = await store.load(web.url)
                assert stored is not None
                held |= {stored.refresh_token, stored.access_token}
                clock.ahead_s += 590
    assert None not in held
    assert (len(held), len(user.seen)) == (6, 1)


async def test_a_token_is_refused_as_soon_as_our_client_has_logged_out(issuers: Issuers) -> None:
    user, store = Visitor(), MemoryTokenStore()
    async with behind(issuers, "opaque") as web:
        auth = oauth(user, store=store)
        async with connected(web.url, auth) as session:
            said(await session.call_tool("who"))
        kept = await store.load(web.url)
        assert kept is not None
        assert await auth.logout(web.url)
        # Somebody else has the tokens; nobody is there to log in again.
        await store.save(web.url, kept)
        thief = oauth(user, store=store, interactive=False)
        with pytest.raises(AuthError):
            async with connected(web.url, thief):
                pass
    assert len(user.seen) == 1


# --- clients that show a secret or a key ---


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
async def test_our_client_registers_with_each_authentication(issuers: Issuers, method: str) -> None:
    user = Visitor()
    auth = oauth(user, token_endpoint_auth_method=method)
    async with behind(issuers, "jwt") as web, connected(web.url, auth) as session:
        assert "demo" in said(await session.call_tool("who"))


@pytest.mark.parametrize("name", ["jwt", "opaque"])
async def test_our_client_registers_with_its_key_and_logs_out(issuers: Issuers, name: str) -> None:
    user, key = Visitor(), SigningKey.generate()
    auth = oauth(
        user,
        token_endpoint_auth_method="private_key_jwt",
        signer=KeyAssertions(key),
        registration_params={
            "jwks": {"keys": [key.public_jwk]},
            "token_endpoint_auth_signing_alg": key.algorithm,
        },
    )
    async with behind(issuers, name) as web:
        async with connected(web.url, auth) as session:
            assert "demo" in said(await session.call_tool("who"))
        revoked = await auth.logout(web.url)
    # It revokes no access token that is a JWT.
    assert revoked == (name == "opaque")


@pytest.mark.parametrize("name", ["jwt", "opaque"])
@pytest.mark.parametrize("client_id", [ROBOT, KEYED])
async def test_a_program_calls_with_its_secret_or_its_key(
    issuers: Issuers, name: str, client_id: str
) -> None:
    auth = (
        ClientCredentials(ROBOT, SECRET)
        if client_id == ROBOT
        else ClientCredentials(KEYED, private_key=KEY)
    )
    async with behind(issuers, name) as web, connected(web.url, auth) as session:
        answer = said(await session.call_tool("who"))
    assert answer.endswith(f"{issuers.urls[name]} {client_id} may {READ}")


# --- DPoP ---


@pytest.mark.parametrize("name", ["jwt", "opaque", "nonces"])
async def test_our_client_and_our_server_bind_tokens_to_a_key(issuers: Issuers, name: str) -> None:
    user, clock = Visitor(), Clock(time.time)
    checks = DpopChecks(required=True, nonces=NonceIssuer() if name == "nonces" else None)
    async with behind(issuers, name, dpop=checks) as web:
        auth = DPoP(oauth(user, clock=clock))
        async with connected(web.url, auth) as session:
            first = said(await session.call_tool("who"))
            clock.ahead_s = 590
            renewed = said(await session.call_tool("who"))
        schemes = {got.headers.get("authorization", "none").split()[0] for got in web.got}
    assert first == renewed
    assert schemes == {"none", "DPoP"}
    assert len(user.seen) == 1


async def test_a_program_binds_its_token_to_a_key(issuers: Issuers) -> None:
    auth = DPoP(ClientCredentials(ROBOT, SECRET))
    async with (
        behind(issuers, "nonces", dpop=DpopChecks(required=True)) as web,
        connected(web.url, auth) as session,
    ):
        assert ROBOT in said(await session.call_tool("who"))
