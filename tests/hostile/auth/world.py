"""Clients, servers and authorization servers of one process, behind a network that logs all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
import msgspec
from starlette.responses import Response

from examples.oauth.authorization_server import AuthorizationServer, Received
from examples.oauth.authorization_server import Client as RegisteredClient
from examples.oauth.authorization_server.endpoints.token import challenge_of
from mcp_gen import Client, Context, McpGenError, Server
from mcp_gen.auth import (
    AuthorizationRequest,
    IntrospectionVerifier,
    MemoryTokenStore,
    OAuth,
    ResourceServer,
    StoredCredentials,
)
from mcp_gen.auth.fetching.fetcher import Fetcher
from mcp_gen.core.transport.authorizing import RequestAuthorizer
from tests.hostile.auth.attack import PASSED
from tests.support.frames import PER_REQUEST, Speaker
from tests.support.http.asgi import headers_of, open_request

__all__ = [
    "EVIL",
    "HONEST",
    "METADATA",
    "PRM",
    "REDIRECT",
    "URL",
    "Clock",
    "Network",
    "Sent",
    "World",
    "json_answer",
    "opened_world",
]

URL = "https://api.example/mcp"
HONEST = "https://as.example"
EVIL = "https://evil.example"
REDIRECT = "http://127.0.0.1:4711/callback"
PRM = "https://api.example/.well-known/oauth-protected-resource/mcp"
CHALLENGE = b"www-authenticate"
SPEAKER = Speaker(PER_REQUEST)
METADATA = "/.well-known/oauth-authorization-server"

Answer: TypeAlias = "Callable[[httpx2.Request], Awaitable[httpx2.Response] | httpx2.Response]"


class Clock:
    """Time that passes when a test says so."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Sent:
    """A request that was sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def path(self) -> str:
        return urlsplit(self.url).path

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode()))

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.url).query))

    @property
    def token(self) -> str:
        """The token that it has shown; empty for none."""
        return self.headers.get("authorization", "").partition(" ")[2]

    @property
    def text(self) -> str:
        """All of it, to look for a secret."""
        return f"{self.url} {dict(self.headers)} {self.body.decode()}"


class Network(httpx2.AsyncBaseTransport):
    """Hosts with an ASGI app each. `answers` replaces single URLs, and `log` has all requests."""

    def __init__(self) -> None:
        self.hosts: dict[str, httpx2.ASGITransport] = {}
        self.answers: dict[str, Answer] = {}
        self.log: list[Sent] = []

    def serve(self, origin: str, app: Any) -> None:
        """Serve an app at an origin."""
        self.hosts[urlsplit(origin).netloc] = httpx2.ASGITransport(app=app)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request."""
        body = await request.aread()
        url = str(request.url)
        self.log.append(Sent(request.method, url, dict(request.headers), body))
        answer = self.answers.get(url.partition("?")[0])
        if answer is not None:
            made = answer(request)
            return made if isinstance(made, httpx2.Response) else await made
        app = self.hosts.get(request.url.netloc.decode())
        if app is None:
            raise httpx2.ConnectError(f"nobody is at {request.url.host}")
        return await app.handle_async_request(request)

    def client(self) -> httpx2.AsyncClient:
        """Return an HTTP client in this network."""
        return httpx2.AsyncClient(transport=self, trust_env=False)


class ChangedServer(AuthorizationServer):
    """Authorization server whose responses are changed."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.changes: dict[str, Mapping[str, Any]] = {}
        """Members that replace those of a response, by endpoint; None leaves one out."""

    async def register(self, asked: Received) -> Response:
        """Register a client."""
        _, response = self.clients.register(asked.body)
        return self.json(self._changed("register", response), 201)

    async def token_response(self, asked: Received) -> Mapping[str, Any]:
        """Return the response to a token request."""
        return self._changed("token", await super().token_response(asked))

    def introspected(self, token: str) -> Mapping[str, Any]:
        """Return what introspection says about a token."""
        return self._changed("introspect", super().introspected(token))

    def _changed(self, endpoint: str, response: Mapping[str, Any]) -> dict[str, Any]:
        whole = {**response, **self.changes.get(endpoint, {})}
        return {name: value for name, value in whole.items() if value is not None}


class World:
    """A protected server, its authorization server, another one that is evil, a user, a client.

    Everything is honest; an attack changes an attribute before the client calls.
    """

    def __init__(self, **settings: Any) -> None:
        self.clock = Clock()
        self.net = Network()
        self.http = self.net.client()
        self.server = self.authorization_server(HONEST, **settings)
        self.evil = self.authorization_server(EVIL)
        self.called: list[str] = []
        """Principals whose calls have reached the tool."""
        self.redirected: Callable[[dict[str, str]], Mapping[str, str | None]] = dict
        """Changes the parameters of the redirect; None leaves one out."""
        self.redirects: list[dict[str, str]] = []
        self.challenge: str | None = None
        """Challenge of the protected server to a request without a token; None for its own."""
        self.shown: list[AuthorizationRequest] = []
        self.server.clients.add(RegisteredClient(client_id="app", redirect_uris=(REDIRECT,)))
        self.mcp = self.protected()
        self.protect()
        self.net.serve(URL, self._challenging)
        self.store = MemoryTokenStore()
        self.auth: RequestAuthorizer = self.oauth()

    def protect(self, **settings: Any) -> None:
        """Protect the server with these settings of its gate, before the first request."""
        usual: dict[str, Any] = {
            "issuer": HONEST,
            "audience": URL,
            "scopes": ["mcp"],
            "fetcher": self.fetcher(),
            "clock": self.clock,
        }
        self.gate = ResourceServer(**{**usual, **settings})
        self.app = self.mcp.asgi(auth=self.gate, allowed_hosts=["api.example"])

    def introspect(self, **settings: Any) -> None:
        """Protect the server by introspection, before the first request."""
        self.server.clients.add(
            RegisteredClient(
                client_id="api", secret="api-secret", auth_method="client_secret_basic"
            )
        )
        verifier = IntrospectionVerifier(
            HONEST,
            client_id="api",
            client_secret="api-secret",
            fetcher=self.fetcher(),
            clock=self.clock,
            **settings,
        )
        self.protect(verifier=verifier)

    async def _challenging(self, scope: Any, receive: Any, send: Any) -> None:
        async def changed(message: Any) -> None:
            if self.challenge is not None and message.get("status") == 401:
                lines = [line for line in message["headers"] if line[0] != b"www-authenticate"]
                lines.append((b"www-authenticate", self.challenge.encode()))
                message = {**message, "headers": lines}
            await send(message)

        await self.app(scope, receive, changed)

    def authorization_server(self, issuer: str, **settings: Any) -> ChangedServer:
        """Serve an authorization server at the origin of its issuer."""
        made = ChangedServer(issuer=issuer, clock=self.clock, **settings)
        self.net.serve(issuer, made.app)
        return made

    def protected(self) -> Server:
        """Return a server with tools that note their calls."""
        server = Server("protected")

        @server.tool
        async def who(ctx: Context) -> str:
            self.called.append(str(ctx.principal))
            return str(ctx.principal)

        @server.tool(scopes=["files:write"])
        async def write(ctx: Context) -> str:
            self.called.append(f"write by {ctx.principal}")
            return "written"

        return server

    def fetcher(self) -> Fetcher:
        """Return a fetcher in this network."""
        return Fetcher(client=self.http, clock=self.clock)

    def oauth(self, **settings: Any) -> OAuth:
        """Return a client with a user."""
        usual: dict[str, Any] = {
            "client_name": "Attacked",
            "redirect_uri": REDIRECT,
            "on_authorize": self.user,
            "fetcher": self.fetcher(),
            "store": self.store,
            "clock": self.clock,
        }
        return OAuth(**{**usual, **settings})

    async def user(self, request: AuthorizationRequest) -> str:
        """Agree, and return where the browser is sent to."""
        self.shown.append(request)
        response = await self.http.get(request.url)
        location = response.headers["location"]
        params = dict(parse_qsl(urlsplit(location).query))
        self.redirects.append(params)
        changed = self.redirected(params)
        given = {name: value for name, value in changed.items() if value is not None}
        return f"{location.partition('?')[0]}?{urlencode(given)}"

    async def call(
        self, tool: str = "who", auth: RequestAuthorizer | None = None, times: int = 1
    ) -> str:
        """Connect and call a tool, some times at once; return `PASSED`, or what the error says."""
        try:
            async with Client("attacked") as client:
                session = await client.connect(
                    URL, auth=auth or self.auth, http_client=self.http, revision=PER_REQUEST
                )
                await asyncio.gather(*(session.call_tool(tool) for _ in range(times)))
        except McpGenError as error:
            return f"{type(error).__name__}: {error}"
        return PASSED

    async def post(
        self, token: str | None, *more: tuple[str, str], tool: str = "who", **scope: Any
    ) -> str:
        """Call a tool with a token; return `PASSED`, or the status and the challenge.

        Args:
            token: The token; None for no header.
            more: Header lines.
            tool: The tool.
            scope: Members of the ASGI scope that are replaced.
        """
        message = SPEAKER.call(1, tool)
        lines = [("host", "api.example"), *headers_of(SPEAKER, message).items(), *more]
        if token is not None:
            lines.append(("authorization", f"Bearer {token}"))
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in lines]
        opened = open_request(self.app, message, headers_as=raw, scheme="https", **scope)
        reply = await opened.whole()
        if reply.status == 200:
            return PASSED
        told = [value.decode() for name, value in opened.sent[0]["headers"] if name == CHALLENGE]
        return f"{reply.status} {', '.join(told)} {reply.body.decode()}"

    # What was sent

    def sent(self, origin: str, path: str | None = None) -> list[Sent]:
        """Return the requests to an origin, or to one path there."""
        host = urlsplit(origin).netloc
        return [one for one in self.net.log if one.host == host and path in (None, one.path)]

    def redeemed(self) -> list[Sent]:
        """Return the requests to all token endpoints."""
        return [one for one in self.net.log if one.path.endswith("/token")]

    def visits(self) -> list[Sent]:
        """Return the visits of the browser to all authorization endpoints."""
        return [one for one in self.net.log if one.path.endswith("/authorize")]

    async def stored(self) -> StoredCredentials:
        """Return what the client has stored."""
        found = await self.store.load(URL)
        assert found is not None
        return found

    def add_machine(self, client_id: str, secret: str, *, issuer: str = HONEST) -> None:
        """Register a client that acts for itself."""
        servers = {HONEST: self.server, EVIL: self.evil}
        machine = RegisteredClient(
            client_id=client_id,
            secret=secret,
            auth_method="client_secret_basic",
            grant_types=frozenset({"client_credentials"}),
        )
        servers[issuer].clients.add(machine)

    def answer(self, url: str, body: Any, status: int = 200, **headers: str) -> None:
        """Answer a URL with JSON."""
        self.net.answers[url] = lambda _: json_answer(body, status, **headers)

    def resource_metadata(self, document: Any) -> None:
        """Answer with another metadata document of the protected server."""
        for url in (PRM, PRM.removesuffix("/mcp")):
            self.answer(url, document)

    async def token(self, **params: str) -> str:
        """Return a token that the user has had from the honest server in another way."""
        verifier = "v" * 43
        asked = {
            "response_type": "code",
            "client_id": "app",
            "redirect_uri": REDIRECT,
            "code_challenge": challenge_of(verifier, "S256"),
            "code_challenge_method": "S256",
            "resource": URL,
            "scope": "mcp",
            **params,
        }
        response = await self.http.get(f"{HONEST}/authorize", params=asked)
        code = dict(parse_qsl(urlsplit(response.headers["location"]).query))["code"]
        form = {
            "grant_type": "authorization_code",
            "client_id": "app",
            "code": code,
            "redirect_uri": REDIRECT,
            "code_verifier": verifier,
        }
        response = await self.http.post(f"{HONEST}/token", data=form)
        found: str = response.json()["access_token"]
        return found

    async def aclose(self) -> None:
        """Close everything."""
        await self.auth.aclose()
        await self.app.aclose()
        await self.mcp.aclose()
        await self.http.aclose()


def json_answer(body: Any, status: int = 200, **headers: str) -> httpx2.Response:
    """Return a response with JSON. Header names are spelled with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return httpx2.Response(status, headers=named, stream=_Body(content))


class _Body(httpx2.AsyncByteStream):
    """Body that is read as it comes."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        yield self._content


@asynccontextmanager
async def opened_world(**settings: Any) -> AsyncGenerator[World]:
    """Open a world, whose honest authorization server has these settings."""
    made = World(**settings)
    try:
        yield made
    finally:
        await made.aclose()
