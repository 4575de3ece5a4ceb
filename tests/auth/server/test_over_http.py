"""A protected server and an authorization server on loopback, with real requests between them."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from examples.oauth.authorization_server import AuthorizationServer, Client
from mcp_gen import Context, Server
from mcp_gen.auth import (
    IntrospectionVerifier,
    JwtVerifier,
    KeyTimes,
    ResourceServer,
    SigningKey,
)
from mcp_gen.auth.proofs.making import make_proof
from tests.support.frames import PER_REQUEST, Speaker
from tests.support.http.asgi import headers_of
from tests.support.http.loopback import serving

APP = {"client_id": "app", "client_secret": "secret-of-the-app"}
API = {"client_id": "api", "client_secret": "secret-of-the-api"}
CALL = Speaker(PER_REQUEST).call(1, "who")


@dataclass
class Site:
    """Both servers, and a client of them."""

    issuer: AuthorizationServer
    http: httpx2.AsyncClient
    url: str
    number: int = field(default=0)

    async def token(self, *, resource: str | None = None, key: SigningKey | None = None) -> str:
        """Return a token of the application, for the protected server unless another is named."""
        form = {"grant_type": "client_credentials", "scope": "mcp", **APP}
        url = self.issuer.token_url
        headers = {} if key is None else {"dpop": self.proof(key, url)}
        asked = {**form, "resource": resource or self.url}
        answer = await self.http.post(url, data=asked, headers=headers)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["access_token"])

    def proof(self, key: SigningKey, url: str, token: str | None = None) -> str:
        self.number += 1
        return make_proof(
            key, "POST", url, now=time.time(), proof_id=str(self.number), access_token=token
        )

    async def call(self, **headers: str) -> httpx2.Response:
        """Call the tool that tells who calls."""
        kept = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            **headers_of(Speaker(PER_REQUEST), CALL),
        }
        return await self.http.post(self.url, content=CALL, headers=kept | headers)

    async def call_with(self, token: str) -> httpx2.Response:
        return await self.call(authorization=f"Bearer {token}")


Gate = Callable[[str, str], ResourceServer]


def by_keys(issuer: str, url: str) -> ResourceServer:
    verifier = JwtVerifier(issuer, times=KeyTimes(retry_s=0))
    return ResourceServer(issuer, audience=url, scopes=["mcp"], verifier=verifier)


def by_introspection(issuer: str, url: str) -> ResourceServer:
    verifier = IntrospectionVerifier(
        issuer, client_id=API["client_id"], client_secret=API["client_secret"], cache_s=0
    )
    return ResourceServer(issuer, audience=url, scopes=["mcp"], verifier=verifier)


@asynccontextmanager
async def site(gate: Gate = by_keys, **settings: Any) -> AsyncGenerator[Site]:
    """Serve both, each at a port of its own."""
    issuer = AuthorizationServer(issuer="http://127.0.0.1:1", **settings)
    for one in (APP, API):
        issuer.clients.add(
            Client(
                client_id=one["client_id"],
                secret=one["client_secret"],
                auth_method="client_secret_basic" if one is API else "client_secret_post",
                grant_types=frozenset({"client_credentials"}),
            )
        )
    server = Server("protected")

    @server.tool
    async def who(ctx: Context) -> str:
        return str(ctx.principal)

    apps: dict[str, Any] = {}

    async def protected(scope: Any, receive: Any, send: Any) -> None:
        # The URL of the server is known when it listens, not before.
        await apps["app"](scope, receive, send)

    async with serving(issuer.app) as authorization:
        issuer.issuer = authorization.origin
        apps["app"] = server.asgi()
        async with serving(protected) as web, httpx2.AsyncClient(trust_env=False) as http:
            made = gate(issuer.issuer, web.url)
            apps["app"] = app = server.asgi(auth=made)
            try:
                yield Site(issuer, http, web.url)
            finally:
                await app.aclose()


def principal(answer: httpx2.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["result"]["content"][0]["text"])


@pytest.mark.parametrize("gate", [by_keys, by_introspection])
async def test_a_token_of_the_issuer_for_this_server_is_admitted_and_no_other(gate: Gate) -> None:
    async with site(gate) as here:
        found = principal(await here.call_with(await here.token()))
        elsewhere = await here.token(resource="https://other.example.com/mcp")
        refused = await here.call_with(elsewhere)
        nothing = await here.call()
    assert found.endswith(f"{here.issuer.issuer} app")
    assert (refused.status_code, nothing.status_code) == (401, 401)
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]
    assert "error=" not in nothing.headers["www-authenticate"]


async def test_the_metadata_is_where_the_challenge_says_and_leads_to_the_issuer() -> None:
    async with site() as here:
        challenge = (await here.call()).headers["www-authenticate"]
        url = challenge.partition('resource_metadata="')[2].partition('"')[0]
        answer = await here.http.get(url, headers={"origin": "https://page.example"})
        metadata = answer.json()
        issuer = metadata["authorization_servers"][0]
        found = await here.http.get(f"{issuer}/.well-known/oauth-authorization-server")
    assert metadata["resource"] == here.url
    assert answer.headers["access-control-allow-origin"] == "*"
    assert found.json()["issuer"] == issuer


async def test_tokens_of_a_new_key_are_admitted_and_those_of_a_withdrawn_one_no_more() -> None:
    async with site() as here:
        old = await here.token()
        principal(await here.call_with(old))
        here.issuer.rotate_keys(keep=0)
        principal(await here.call_with(await here.token()))
        # A token that was not shown before its key was withdrawn: others are remembered.
        forgotten = await here.token()
        here.issuer.rotate_keys(keep=0)
        principal(await here.call_with(await here.token()))
        refused = await here.call_with(forgotten)
    assert refused.status_code == 401
    assert "does not publish" in refused.headers["www-authenticate"]


async def test_an_opaque_token_is_admitted_until_it_is_revoked() -> None:
    async with site(by_introspection, access_token_format="opaque") as here:
        token = await here.token()
        assert "." not in token
        principal(await here.call_with(token))
        asked = {**APP, "token": token}
        assert (await here.http.post(here.issuer.url("revoke"), data=asked)).status_code == 200
        refused = await here.call_with(token)
    assert refused.status_code == 401


async def test_a_token_that_is_bound_to_a_key_is_admitted_with_its_proof_alone() -> None:
    async with site() as here:
        key = SigningKey.generate()
        token = await here.token(key=key)
        proof = here.proof(key, here.url, token)
        headers = {"authorization": f"DPoP {token}", "dpop": proof}
        principal(await here.call(**headers))
        replayed = await here.call(**headers)
        as_bearer = await here.call_with(token)
        other = here.proof(SigningKey.generate(), here.url, token)
        of_another = await here.call(authorization=f"DPoP {token}", dpop=other)
    assert [one.status_code for one in (replayed, as_bearer, of_another)] == [401] * 3


async def test_an_issuer_that_is_away_makes_503_and_its_return_ends_that() -> None:
    async with site() as here:
        token = await here.token()
        keys = here.issuer.documents
        here.issuer.documents = ()
        away = await here.call_with(token)
        here.issuer.documents = keys
        back = await here.call_with(token)
    assert (away.status_code, back.status_code) == (503, 200)
    assert int(away.headers["retry-after"]) >= 1


async def test_a_server_that_may_not_introspect_makes_503_and_no_token_is_admitted() -> None:
    async with site(by_introspection) as here:
        token = await here.token()
        here.issuer.clients.add(
            Client(client_id="api", secret="changed", auth_method="client_secret_basic")
        )
        found = await here.call_with(token)
    assert found.status_code == 503
