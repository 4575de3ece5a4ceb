"""Checks the example: a protected server, its authorization server and a client of both."""

from __future__ import annotations

from examples.oauth import protected_server
from examples.oauth.client import call
from mcp_gen.auth import MemoryTokenStore, OAuth
from tests.auth.client.over_sockets import REDIRECT, agree, free_port, serving_issuer
from tests.support.http.loopback import serving


async def test_the_client_logs_in_once_for_its_notes_and_gets_only_its_own() -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    store = MemoryTokenStore()
    protected_server.notes["somebody else"].append("secret")
    async with serving_issuer() as issuer:
        app = protected_server.server.asgi(auth=protected_server.gate(issuer.issuer, url))
        async with serving(app, port=port):
            assert await call(url, login(store)) == ["buy bolts"]
            logins = len(issuer.received("authorize"))
            assert await call(url, login(store)) == ["buy bolts", "buy bolts"]
            assert len(issuer.received("authorize")) == logins
            scopes = issuer.received("authorize")[-1].query["scope"].split()
    assert sorted(scopes) == ["notes:read", "notes:write"]


def login(store: MemoryTokenStore) -> OAuth:
    """Return a new authorizer of a user who agrees, with what earlier ones have stored."""
    return OAuth(store=store, on_authorize=agree, redirect_uri=REDIRECT)
