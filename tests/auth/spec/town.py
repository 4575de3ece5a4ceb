"""A protected server, its authorization server and a user, all of them real and on one port."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from examples.oauth.authorization_server import AuthorizationServer, Document, Received
from mcp_gen import Client, ClientSession, Context, Server
from mcp_gen.auth import JwtVerifier, OAuth, ResourceServer
from mcp_gen.auth.flows.authorization_code import AuthorizationRequest
from tests.support.http.loopback import Got, Web, serving

__all__ = ["AS_METADATA", "PRM", "REDIRECT", "Town", "forms", "town"]

PRM = "/.well-known/oauth-protected-resource"
AS_METADATA = "/.well-known/oauth-authorization-server"
REDIRECT = "http://127.0.0.1:4711/callback"
BOUND_S = 30.0


class Town:
    """Servers that a client meets, with all that it sent.

    Args:
        web: The port.
        server: The protected server.
        issuers: Settings of authorization servers, by the path of their issuer.
        scopes: Scopes that each request needs.
        options: Options of its `ResourceServer`.
    """

    def __init__(
        self,
        web: Web,
        server: Server[Any],
        issuers: Mapping[str, Mapping[str, Any]],
        scopes: Collection[str],
        **options: Any,
    ) -> None:
        self.web = web
        self.issuers = {
            path: AuthorizationServer(issuer=web.origin + path, fetch=self.fetch, **given)
            for path, given in issuers.items()
        }
        self.issuer = next(iter(self.issuers.values()))
        self.answers: dict[str, Callable[[Request], Response] | Response] = {}
        """Responses by path, instead of the usual ones."""
        self.documents: dict[str, bytes] = {}
        """Client metadata documents by URL."""
        self.redirects: Callable[[dict[str, str]], dict[str, str]] = lambda params: params
        """What comes back from the authorization server is changed by it."""
        self.shown: list[AuthorizationRequest] = []
        self.refused: set[str] = set()
        """Tokens that the protected server takes no more."""
        self.lacking: dict[str, str] = {}
        """Scope that a token lacks, which alone is named in the challenge."""
        self._server = server
        self._scopes = scopes
        self.app: Any = self.protected(**options)

    def protected(self, **options: Any) -> Any:
        """Return the app of the protected server.

        Args:
            options: Options of its `ResourceServer`.
        """
        keys = {one.issuer: one.url("jwks") for one in self.issuers.values()}
        return self._server.asgi(
            auth=ResourceServer(
                list(keys),
                scopes=self._scopes,
                # Whatever the authorization servers publish beside their keys.
                verifier=JwtVerifier(list(keys), jwks_uri=keys),
                **{"audience": self.web.url, "resource": self.web.url, **options},
            )
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        if path in self.answers:
            found = self.answers[path]
            answer = found if isinstance(found, Response) else found(Request(scope))
            await answer(scope, receive, send)
        elif path == "/mcp" and (refusal := self._refusal(scope)) is not None:
            await refusal(scope, receive, send)
        elif path == "/mcp" or path.startswith(PRM):
            await self.app(scope, receive, send)
        else:
            first = "/" + path.split("/")[1]
            known = [one for one in self.issuers if one and (first == one or path.endswith(one))]
            issuer = self.issuers[known[0]] if known else self.issuer
            await issuer.app(scope, receive, send)

    def _refusal(self, scope: Any) -> Response | None:
        line = dict(scope["headers"]).get(b"authorization", b"").decode()
        token = line.removeprefix("Bearer ")
        url = f"{self.web.origin}{PRM}/mcp"
        if token in self.refused:
            told = f'error="invalid_token", scope="mcp", resource_metadata="{url}"'
            return Response(None, 401, {"www-authenticate": f"Bearer {told}"})
        if token in self.lacking:
            needed = self.lacking[token]
            told = f'error="insufficient_scope", scope="{needed}", resource_metadata="{url}"'
            return Response(None, 403, {"www-authenticate": f"Bearer {told}"})
        return None

    async def fetch(self, url: str) -> Document:
        """Fetch a metadata document of a client, for the authorization servers."""
        if url not in self.documents:
            return Document(404, "text/plain", b"")
        return Document(200, "application/json", self.documents[url])

    # --- the client ---

    def oauth(self, **settings: Any) -> OAuth:
        """Return the authorization of a client whose user agrees."""
        given: dict[str, Any] = {
            "client_name": "Test client",
            "redirect_uri": REDIRECT,
            "on_authorize": self.user,
        }
        return OAuth(**{**given, **settings})

    async def user(self, request: AuthorizationRequest) -> str:
        """Open the URL as a browser does, and return where it leads to."""
        self.shown.append(request)
        async with httpx2.AsyncClient(trust_env=False) as browser:
            found = await browser.get(request.url)
        assert found.status_code in (302, 303), found.text
        back = found.headers["location"]
        params = self.redirects(dict(parse_qsl(urlsplit(back).query)))
        return f"{back.partition('?')[0]}?{urlencode(params)}"

    @asynccontextmanager
    async def connected(
        self, revision: str, auth: OAuth | None = None, **settings: Any
    ) -> AsyncIterator[ClientSession]:
        """Connect a client, which logs in."""
        async with (
            asyncio.timeout(BOUND_S),
            auth or self.oauth(**settings) as used,
            Client("test", "1.0.0") as client,
        ):
            yield await client.connect(self.web.url, revision=revision, auth=used)

    async def login(self, revision: str, auth: OAuth | None = None, **settings: Any) -> None:
        """Connect a client, and let it leave again."""
        async with self.connected(revision, auth, **settings):
            pass

    # --- what came ---

    @property
    def paths(self) -> list[str]:
        """Paths of all requests but those to the protected server itself."""
        return [one.path for one in self.web.got if one.path not in ("/mcp", "/jwks")]

    def came(self, endpoint: str) -> list[Received]:
        """Return the requests to an endpoint of the authorization servers, in order."""
        return [one for issuer in self.issuers.values() for one in issuer.received(endpoint)]

    @property
    def authorizations(self) -> list[dict[str, str]]:
        """Parameters of the authorization requests."""
        return [dict(parse_qsl(urlsplit(one.url).query)) for one in self.shown]

    @property
    def registrations(self) -> list[dict[str, Any]]:
        """Registrations that were asked for."""
        return [json.loads(one.body) for one in self.came("register")]

    @property
    def calls(self) -> list[Got]:
        """Requests to the protected server."""
        return [one for one in self.web.got if one.path == "/mcp"]

    @property
    def tokens(self) -> list[dict[str, str]]:
        """Forms that were sent to the token endpoints."""
        return forms(self.came("token"))

    @property
    def shown_tokens(self) -> list[str]:
        """Tokens that requests to the protected server had, each once."""
        lines = [one.headers.get("authorization", "") for one in self.calls]
        return list(dict.fromkeys(one.removeprefix("Bearer ") for one in lines if one))

    # --- what servers say otherwise ---

    def without(self, *paths: str) -> None:
        """Have no document at some paths."""
        self.answers.update(dict.fromkeys(paths, Response(None, 404)))

    def resource(self, *paths: str, **members: Any) -> None:
        """Serve metadata of the resource with other members, at other paths."""
        whole = {
            "resource": self.web.url,
            "authorization_servers": [self.issuer.issuer],
            **members,
        }
        for path in paths or (f"{PRM}/mcp",):
            self.answers[path] = JSONResponse(whole)

    def metadata(self, path: str = AS_METADATA, **members: Any) -> None:
        """Serve metadata of the authorization server with other members; None leaves one out."""
        whole = self.issuer.document() | members
        said = {name: value for name, value in whole.items() if value is not None}
        self.answers[path] = JSONResponse(said)

    def challenge(self, **params: str) -> None:
        """Refuse requests without a token by a challenge with these parameters alone."""
        told = ", ".join(f'{name}="{value}"' for name, value in params.items())

        async def app(scope: Any, receive: Any, send: Any) -> None:
            has_token = any(name == b"authorization" for name, _ in scope["headers"])
            if has_token or scope["path"] != "/mcp":
                await kept(scope, receive, send)
            else:
                line = {"www-authenticate": f"Bearer {told}".strip()}
                await Response(None, 401, line)(scope, receive, send)

        kept: Any = self.app
        self.app = app


def forms(requests: Collection[Received]) -> list[dict[str, str]]:
    """Return the forms of requests."""
    return [dict(parse_qsl(one.body.decode())) for one in requests]


def writing() -> Server[Any]:
    """Return a server with a tool that needs a scope, and one that needs none of its own."""
    server = Server("writing")

    @server.tool
    async def who(ctx: Context) -> str:
        return str(ctx.principal)

    @server.tool(scopes=["files:write"])
    async def write() -> str:
        return "written"

    return server


@asynccontextmanager
async def town(
    *,
    issuers: Mapping[str, Mapping[str, Any]] | None = None,
    scopes: Collection[str] = ("mcp",),
    gate: Mapping[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[Town]:
    """Serve both.

    Args:
        issuers: Settings of several authorization servers, by the path of their issuer.
        scopes: Scopes that each request needs.
        gate: Options of the `ResourceServer`.
        settings: Settings of the only authorization server.
    """
    found: list[Town] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await found[0](scope, receive, send)
        else:
            await idle(scope, receive, send)

    idle = Server("idle").asgi()
    async with serving(app) as web:
        made = Town(web, writing(), issuers or {"": settings}, scopes, **(gate or {}))
        found.append(made)
        gated = made.app
        try:
            yield made
        finally:
            await gated.aclose()
