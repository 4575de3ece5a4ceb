"""A proxied server, its provider, MCP clients and browsers, all in this process."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from html import unescape
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
from starlette.responses import JSONResponse, Response

from examples.oauth.authorization_server.clients import Client
from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.requests import Received
from examples.oauth.authorization_server.server import AuthorizationServer, Endpoint
from mcp_gen import Context, Server
from mcp_gen.auth import MemoryProxyStore, OAuthProxy
from mcp_gen.auth.flows.authorization_code import code_challenge
from mcp_gen.auth.flows.exchange import Flow, HttpAnswer

__all__ = [
    "BASE",
    "ISSUER",
    "KEY",
    "REDIRECT",
    "RESOURCE",
    "SECRET",
    "Application",
    "Browser",
    "Clock",
    "InProcess",
    "Provider",
    "RecordingStore",
    "SlowStore",
    "World",
    "params_of",
    "protected",
    "provider",
    "ticket_of",
    "world",
]

T = TypeVar("T")

BASE = "https://api.example"
RESOURCE = f"{BASE}/mcp"
ISSUER = "https://login.example"
REDIRECT = "http://127.0.0.1:4711/callback"
SECRET = "upstream-secret-9f2c"
KEY = "a secret of the proxy with more than 32 bytes"
TICKET = re.compile(r'name="ticket" value="([^"]+)"')


class Clock:
    """Clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Provider(AuthorizationServer):
    """Provider without registration, with a userinfo endpoint."""

    def routes(self) -> Mapping[str, tuple[str, Endpoint]]:
        return {**super().routes(), "/userinfo": ("GET", self.userinfo)}

    def document(self) -> dict[str, Any]:
        return {**super().document(), "userinfo_endpoint": self.url("userinfo")}

    async def userinfo(self, asked: Received) -> Response:
        """Tell whose an access token is."""
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
        found = self.tokens.access(token)
        if found is None:
            raise OAuthError("invalid_token", "the token is not valid", 401)
        return self.json({"sub": found.claims["sub"]})


def provider(issuer: str, callback: str, **settings: Any) -> Provider:
    """Return a provider that knows one confidential client."""
    methods = ("client_secret_post",)
    given: dict[str, Any] = {
        "registration": False,
        "token_endpoint_auth_methods": methods,
        **settings,
    }
    made = Provider(issuer=issuer, **given)
    made.clients.add(
        Client(
            client_id="proxy",
            secret=SECRET,
            auth_method="client_secret_post",
            redirect_uris=(callback,),
        )
    )
    return made


def protected() -> tuple[Server[Any], list[OAuthProxy]]:
    """Return a server with tools; the proxy that its last one asks is put into the list."""
    server, proxies = Server("protected"), list[OAuthProxy]()

    @server.tool
    async def who(ctx: Context) -> str:
        return f"{ctx.principal} {sorted(ctx.token.scopes) if ctx.token else None}"

    @server.tool
    async def upstream(ctx: Context) -> str:
        assert ctx.token is not None
        return await proxies[0].upstream_token(ctx.token)

    @server.tool(scopes=["write"])
    async def write(ctx: Context) -> str:
        return await who(ctx)

    return server, proxies


class Browser:
    """Browser of a user, with its own cookies."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def open(self, url: str) -> httpx2.Response:
        """Open a URL, without following its redirect."""
        return await self.http.get(url)

    async def decide(
        self, page: httpx2.Response, decision: str = "allow", **headers: str
    ) -> httpx2.Response:
        """Press a button of the consent page."""
        action = re.search(r'action="([^"]+)"', page.text)
        assert action is not None
        data = {"ticket": ticket_of(page), "decision": decision}
        return await self.http.post(unescape(action[1]), data=data, headers=headers)

    async def log_in(self, url: str) -> str:
        """Open a URL, allow everything, and return the redirect to the application."""
        redirect_uri = params_of(url)["redirect_uri"]
        found = await self.decide(await self.open(url))
        for _ in range(4):
            assert found.status_code == 303, found.text
            location: str = found.headers["location"]
            if location.startswith(redirect_uri):
                return location
            found = await self.open(location)
        raise AssertionError("expected fewer redirects")


class Application:
    """MCP client that a user has; its requests have the parameters that a right one has."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http
        self.client_id = ""
        self.redirect_uri = REDIRECT
        self.verifier = secrets.token_urlsafe(32)

    async def register(self, *redirects: str, name: str = "App") -> httpx2.Response:
        """Register."""
        uris = list(redirects or (self.redirect_uri,))
        body = {"client_name": name, "redirect_uris": uris}
        answer = await self.http.post(f"{BASE}/register", json=body)
        if answer.status_code == 201:
            self.client_id = answer.json()["client_id"]
            self.redirect_uri = uris[0]
        return answer

    def url(self, **changed: str | None) -> str:
        """Return the URL of an authorization request; a parameter that is None is left out."""
        params: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": "its state",
            "code_challenge": code_challenge(self.verifier),
            "code_challenge_method": "S256",
            "resource": RESOURCE,
            **changed,
        }
        known = {name: value for name, value in params.items() if value is not None}
        return f"{BASE}/authorize?{urlencode(known)}"

    async def exchange(self, code: str, **changed: str) -> httpx2.Response:
        """Exchange a code."""
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
            "resource": RESOURCE,
            **changed,
        }
        return await self.http.post(f"{BASE}/token", data=form)

    async def renew(self, refresh_token: str, **changed: str) -> httpx2.Response:
        """Exchange a refresh token."""
        form = {
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
            "client_id": self.client_id,
            **changed,
        }
        return await self.http.post(f"{BASE}/token", data=form)

    async def call(self, token: str, tool: str = "who") -> httpx2.Response:
        """Call a tool, without a session."""
        body: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": {}},
        }
        headers = {
            "authorization": f"Bearer {token}",
            "accept": "application/json, text/event-stream",
        }
        return await self.http.post(RESOURCE, json=body, headers=headers)


class RecordingStore(MemoryProxyStore):
    """Store that records all that it is given."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.given: list[object] = []

    async def add(self, kind: str, key: str, value: bytes, expires_at: float) -> None:
        self.given += [key, value]
        await super().add(kind, key, value, expires_at)

    async def swap(self, kind: str, key: str, old: bytes, new: bytes, expires_at: float) -> bool:
        self.given += [key, new]
        return await super().swap(kind, key, old, new, expires_at)


class SlowStore(MemoryProxyStore):
    """Store that lets others go first, as one behind a socket does, and is late to forget."""

    def __init__(self) -> None:
        super().__init__(clock=lambda: 0.0)

    async def get(self, kind: str, key: str) -> bytes | None:
        found = await super().get(kind, key)
        await asyncio.sleep(0)
        return found

    async def swap(self, kind: str, key: str, old: bytes, new: bytes, expires_at: float) -> bool:
        await asyncio.sleep(0)
        held = self._held[kind]
        if key not in held or held[key][0] != old:
            return False
        held[key] = (new, expires_at)
        return True


class Hosts(httpx2.AsyncBaseTransport):
    """Sends requests to apps by host; no other host can be reached."""

    def __init__(self, apps: Mapping[str, Any]) -> None:
        self.apps = {host: httpx2.ASGITransport(app=app) for host, app in apps.items()}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self.apps[request.url.host].handle_async_request(request)


class InProcess:
    """Sends the requests of flows to apps in this process."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http

    async def run(self, flow: Flow[T], *, configured: str | None = None) -> T:
        assert configured == ISSUER
        try:
            ask = next(flow)
            while True:
                sent = await self.http.request(
                    ask.method, ask.url, headers=dict(ask.headers), content=ask.body
                )
                ask = flow.send(HttpAnswer(sent.status_code, dict(sent.headers), sent.content))
        except StopIteration as end:
            result: T = end.value
            return result

    async def aclose(self) -> None:
        pass


class World:
    """A proxied server at `RESOURCE` and its provider at `ISSUER`."""

    def __init__(self, **options: Any) -> None:
        self.clock: Clock = options.pop("clock", None) or Clock()
        settings = options.pop("provider", {})
        self.provider = provider(ISSUER, f"{BASE}/callback", clock=self.clock, **settings)
        self.clients: list[httpx2.AsyncClient] = []
        self.server, proxies = protected()
        given: dict[str, Any] = {
            "upstream": ISSUER,
            "client_id": "proxy",
            "client_secret": SECRET,
            "resource": RESOURCE,
            "scopes": ["mcp"],
            "scopes_supported": ["write"],
            "secret": KEY,
            "clock": self.clock,
        }
        outbound = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=self.provider.app))
        self.clients.append(outbound)
        given = {**given, "fetcher": InProcess(outbound), **options}
        self.proxy = OAuthProxy(**given)
        proxies.append(self.proxy)
        self.app = self.server.asgi(auth=self.proxy, stateless=True)

    def http(self) -> httpx2.AsyncClient:
        """Return an HTTP client with no cookies yet."""
        hosts = {"api.example": self.app, "login.example": self.provider.app}
        made = httpx2.AsyncClient(transport=Hosts(hosts))
        self.clients.append(made)
        return made

    def browser(self) -> Browser:
        """Return a browser with no cookies yet."""
        return Browser(self.http())

    async def application(self, *redirects: str, name: str = "App") -> Application:
        """Return a client that has registered."""
        made = Application(self.http())
        answer = await made.register(*redirects, name=name)
        assert answer.status_code == 201, answer.text
        return made

    async def tokens(self, application: Application, **changed: str) -> dict[str, Any]:
        """Return the tokens of a login in a new browser."""
        redirect = await self.browser().log_in(application.url(**changed))
        answer = await application.exchange(params_of(redirect)["code"])
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def let_provider_answer(self, endpoint: str, status: int, body: Any) -> Endpoint:
        """Let an endpoint of the provider answer like this; return what it was."""

        async def answer(asked: Received) -> Response:
            return JSONResponse(body, status)

        return self.replace_endpoint(endpoint, answer)

    def replace_endpoint(self, endpoint: str, function: Endpoint) -> Endpoint:
        """Replace an endpoint of the provider; return what it was."""
        was: Endpoint = getattr(self.provider, endpoint)
        setattr(self.provider, endpoint, function)
        return was

    def logins_at_provider(self) -> int:
        """Return how many users were sent to the provider."""
        return len(self.provider.received("authorize"))


@asynccontextmanager
async def world(**options: Any) -> AsyncGenerator[World, None]:
    """Make a world; `provider` has settings of the provider, other options are the proxy's."""
    made = World(**options)
    try:
        yield made
    finally:
        await made.app.aclose()
        for client in made.clients:
            await client.aclose()


def params_of(url: str) -> dict[str, str]:
    """Return the parameters of a URL, each of which stands once."""
    pairs = parse_qsl(urlsplit(url).query, strict_parsing=True)
    found = dict(pairs)
    assert len(found) == len(pairs)
    return found


def ticket_of(page: httpx2.Response) -> str:
    """Return what the form of a consent page brings back."""
    found = TICKET.search(page.text)
    assert found is not None, page.text
    return unescape(found[1])
