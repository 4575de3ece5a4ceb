"""Client and browser of the example authorization server, over its ASGI app."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
from joserfc import jwt
from joserfc.jwk import KeySet

from examples.oauth.authorization_server import AuthorizationServer, Client
from examples.oauth.authorization_server.endpoints.token import challenge_of

__all__ = ["ISSUER", "REDIRECT", "RESOURCE", "Clock", "Visitor", "visiting"]

ISSUER = "http://as.example"
REDIRECT = "http://127.0.0.1:4711/callback"
RESOURCE = "https://api.example/mcp"


@dataclass
class Clock:
    """Clock that a test moves."""

    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Visitor:
    """Client of the server; its requests have the parameters that a right one has."""

    server: AuthorizationServer
    http: httpx2.AsyncClient
    clock: Clock
    client: Client = field(default_factory=lambda: Client(client_id="app"))
    always: dict[str, str] = field(default_factory=dict[str, str])
    """Fields of every form, such as its secret."""
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    @property
    def authorization(self) -> dict[str, str]:
        """Parameters of an authorization request."""
        return {
            "response_type": "code",
            "client_id": self.client.client_id,
            "redirect_uri": REDIRECT,
            "code_challenge": challenge_of(self.verifier, "S256"),
            "code_challenge_method": "S256",
            "resource": RESOURCE,
            "scope": "files",
            "state": "its state",
        }

    async def authorize(self, **params: str | None) -> httpx2.Response:
        """Send an authorization request; a parameter that is None is left out."""
        return await self.http.get(
            self.server.url("authorize"), params=_merged(self.authorization, params)
        )

    async def redirected(self, **params: str | None) -> dict[str, str]:
        """Send an authorization request; return the parameters of its redirect."""
        return redirect_params(await self.authorize(**params))

    async def code(self, **params: str | None) -> str:
        """Return a new code."""
        return (await self.redirected(**params))["code"]

    async def post(self, endpoint: str, **form: str | None) -> httpx2.Response:
        """Post a form to an endpoint; a field that is None is left out."""
        data = _merged({"client_id": self.client.client_id, **self.always}, form)
        return await self.http.post(self.server.url(endpoint), data=data)

    async def exchange(self, code: str, **form: str | None) -> httpx2.Response:
        """Exchange a code for tokens."""
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": REDIRECT,
            "code_verifier": self.verifier,
        }
        return await self.post("token", **_merged(sent, form))

    async def login(self, **params: str | None) -> dict[str, Any]:
        """Return the tokens of a whole authorization code flow."""
        return given(await self.exchange(await self.code(**params)))

    async def refresh(self, refresh_token: str, **form: str | None) -> httpx2.Response:
        """Send a refresh token."""
        sent = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return await self.post("token", **_merged(sent, form))

    async def claims(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a JWT that one of the published keys has signed."""
        keys = (await self.http.get(self.server.url("jwks"))).json()
        return jwt.decode(token, KeySet.import_key_set(keys), ["ES256"]).claims


@asynccontextmanager
async def visiting(
    server: AuthorizationServer | None = None, **settings: Any
) -> AsyncGenerator[Visitor]:
    """Visit a server with these settings, or one that was made; a public client is registered."""
    clock = Clock()
    if server is None:
        usual: dict[str, Any] = {"issuer": ISSUER, "clock": clock}
        server = AuthorizationServer(**{**usual, **settings})
    client = server.clients.add(Client(client_id="app", redirect_uris=(REDIRECT,)))
    transport = httpx2.ASGITransport(app=server.app)
    async with httpx2.AsyncClient(transport=transport, trust_env=False) as http:
        yield Visitor(server, http, clock, client)


def redirect_params(response: httpx2.Response) -> dict[str, str]:
    """Return the parameters of a redirect to the client, each of which stands once."""
    assert response.status_code == 303, response.text
    parts = urlsplit(response.headers["location"])
    pairs = parse_qsl(parts.query, strict_parsing=True)
    found = dict(pairs)
    assert len(found) == len(pairs)
    return found


def given(response: httpx2.Response) -> dict[str, Any]:
    """Return the JSON of a response that succeeded."""
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def refusal(response: httpx2.Response) -> tuple[int, str]:
    """Return status and error code of a refusal, which nobody may store."""
    assert response.headers["cache-control"] == "no-store"
    return response.status_code, response.json()["error"]


def _merged(usual: Mapping[str, str | None], other: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in {**usual, **other}.items() if value is not None}
