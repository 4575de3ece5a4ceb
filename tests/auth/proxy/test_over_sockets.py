"""The proxy as a whole: our client, our server and a provider, over sockets."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from mcp_gen import Client
from mcp_gen.auth import (
    AuthError,
    AuthorizationRequest,
    MemoryTokenStore,
    OAuth,
    OAuthProxy,
)
from tests.auth.client.over_sockets import REDIRECT
from tests.auth.proxy.people import SECRET, Browser, Provider, protected, provider
from tests.support.http.loopback import Web, serving
from tests.support.ports import free_port


class Site:
    """A proxied server behind a socket.

    Args:
        url: Its URL.
        web: What serves it.
        provider: Its provider.
    """

    def __init__(self, url: str, web: Web, provider: Provider) -> None:
        self.url = url
        self.web = web
        self.provider = provider


@asynccontextmanager
async def site(mount: str = "") -> AsyncGenerator[Site, None]:
    """Serve a proxied server, at a path of its site."""
    port, other = free_port(), free_port()
    base = f"http://127.0.0.1:{port}{mount}"
    issuer = f"http://127.0.0.1:{other}"
    made = provider(issuer, f"{base}/callback")
    server, proxies = protected()
    proxy = OAuthProxy(
        upstream=issuer,
        client_id="proxy",
        client_secret=SECRET,
        resource=f"{base}/mcp",
        scopes=["mcp"],
        scopes_supported=["write"],
    )
    proxies.append(proxy)
    app = server.asgi(auth=proxy)
    whole: Any = app
    if mount:
        whole = Starlette(routes=[Mount("/.well-known", app.well_known), Mount(mount, app)])
    async with serving(made.app, port=other), serving(whole, port=port) as web:
        try:
            yield Site(f"{base}/mcp", web, made)
        finally:
            await app.aclose()


async def agree(request: AuthorizationRequest) -> str:
    """Do what a user does who agrees."""
    async with httpx2.AsyncClient(trust_env=False) as http:
        return await Browser(http).log_in(request.url)


async def call(url: str, auth: OAuth, tool: str = "who") -> str:
    """Connect, call a tool, and return what it says."""
    async with Client("test") as client:
        session = await client.connect(url, auth=auth)
        result = await session.call_tool(tool, {})
    return str(getattr(result.content[0], "text", ""))


@pytest.mark.parametrize("mount", ["", "/api"])
async def test_our_client_registers_logs_in_and_calls(mount: str) -> None:
    store = MemoryTokenStore()
    async with site(mount) as at:
        auth = OAuth(redirect_uri=REDIRECT, on_authorize=agree, store=store)
        said = await call(at.url, auth)
        again = await call(at.url, OAuth(redirect_uri=REDIRECT, store=store))
        upstream = await call(at.url, OAuth(redirect_uri=REDIRECT, store=store), "upstream")
        issuer = at.provider.issuer
        assert at.provider.tokens.access(upstream) is not None
        stored = await store.load(at.url)
    assert said == again == f"user:{len(issuer)}:{issuer} demo ['mcp']"
    assert stored is not None
    assert upstream not in str(stored.access_token)
    # No token of a client went to the provider, and none of the provider to a client.
    sent = [one.headers.get("authorization", "") for one in at.provider.requests]
    assert {one for one in sent if one} == {f"Bearer {upstream}"}


async def test_a_step_up_asks_for_consent_again() -> None:
    pages = 0

    async def counted(request: AuthorizationRequest) -> str:
        nonlocal pages
        pages += 1
        return await agree(request)

    async with site() as at:
        auth = OAuth(redirect_uri=REDIRECT, on_authorize=counted)
        first = await call(at.url, auth)
        second = await call(at.url, auth, "write")
    assert (first.endswith(" ['mcp']"), second.endswith(" ['mcp', 'write']")) == (True, True)
    assert pages == 2


async def test_logout_ends_the_grant() -> None:
    store = MemoryTokenStore()
    async with site() as at:
        async with OAuth(redirect_uri=REDIRECT, on_authorize=agree, store=store) as auth:
            await auth.login(at.url)
            stored = await store.load(at.url)
            assert stored is not None
            assert await auth.logout()
        await store.save(at.url, stored)
        with pytest.raises(AuthError):
            await call(at.url, OAuth(redirect_uri=REDIRECT, store=store, on_authorize=refuse))


async def refuse(request: AuthorizationRequest) -> str:
    """Do what a user does who does not want to log in."""
    raise AuthError("nobody is here")


async def test_endpoints_check_the_host_header() -> None:
    async with site() as at, httpx2.AsyncClient(trust_env=False) as http:
        origin = at.url.removesuffix("/mcp")
        headers = {"host": "evil.example"}
        body = {"redirect_uris": [REDIRECT]}
        refused = await http.post(f"{origin}/register", json=body, headers=headers)
        allowed = await http.post(f"{origin}/register", json=body)
    assert (refused.status_code, allowed.status_code) == (403, 201)
