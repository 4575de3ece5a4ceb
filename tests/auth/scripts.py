"""A server, its authorization server and a user, as answers to the requests of flows."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from mcp_gen.auth.client.oauth import OAuth
from mcp_gen.auth.flows.authorization_code import AuthorizationRequest, code_challenge
from mcp_gen.auth.flows.exchange import Flow, HttpAnswer, HttpAsk
from mcp_gen.core.errors import AuthError, TransportError

__all__ = ["ISSUER", "REDIRECT", "URL", "World", "answer", "drive", "refused", "urls"]

T = TypeVar("T")

URL = "https://api.example/mcp"
ISSUER = "https://as.example"
REDIRECT = "http://localhost:3000/callback"
PRM = "https://api.example/.well-known/oauth-protected-resource"
METADATA = "/.well-known/oauth-authorization-server"


def answer(body: object = None, status: int = 200, **headers: str) -> HttpAnswer:
    """Return a response with a JSON body."""
    return HttpAnswer(status, headers, b"" if body is None else json.dumps(body).encode())


def refused(**params: str) -> dict[str, str]:
    """Return the headers of a refusal with a challenge."""
    told = ", ".join(f'{name}="{value}"' for name, value in params.items())
    return {"www-authenticate": f"Bearer {told}"}


def drive(
    flow: Flow[T], answers: Mapping[str, object], asked: list[HttpAsk] | None = None
) -> tuple[T, list[HttpAsk]]:
    """Run a flow on answers by URL, 404 elsewhere; return its result and what it asked.

    An answer is a response, a document, an error that is thrown into the flow, or a function that
    returns one of them for a request. What is asked goes into `asked`, also where the flow fails.
    """
    asked = [] if asked is None else asked
    try:
        ask = next(flow)
        while True:
            asked.append(ask)
            found = answers.get(ask.url, answer(status=404))
            found = found(ask) if callable(found) else found
            if isinstance(found, Exception):
                ask = flow.throw(found)
            else:
                ask = flow.send(found if isinstance(found, HttpAnswer) else answer(found))
    except StopIteration as end:
        return end.value, asked


def urls(asked: list[HttpAsk]) -> list[str]:
    return [ask.url for ask in asked]


class World:
    """A protected server at `URL`, an authorization server at `ISSUER`, and a user who agrees.

    Requests of flows are answered here, and recorded: `World` is what sends them. Attributes say
    what the servers do; `answers` replaces single ones by URL.
    """

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.issuer = ISSUER
        self.asked: list[HttpAsk] = []
        self.shown: list[AuthorizationRequest] = []
        self.answers: dict[str, Callable[[HttpAsk], HttpAnswer] | object] = {}
        self.resource: dict[str, Any] | None = {
            "resource": URL,
            "authorization_servers": [self.issuer],
        }
        self.server: dict[str, Any] = {}
        self.registered: dict[str, Any] = {}
        self.expires_in: int | None = 3600
        self.grants_scopes: Callable[[str], str | None] = lambda asked: asked or None
        self.redirects: Callable[[dict[str, str]], dict[str, str]] = lambda params: params
        self.tokens: dict[str, str] = {}
        """Valid access tokens, and their scopes."""
        self.refresh_tokens: dict[str, str] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.issued = 0

    def oauth(self, **settings: Any) -> OAuth:
        """Return an OAuth client in this world."""
        given: dict[str, Any] = {
            "client_name": "Test client",
            "redirect_uri": REDIRECT,
            "on_authorize": self.user,
            "fetcher": self,
            "clock": lambda: self.now,
        }
        return OAuth(**{**given, **settings})

    # Sending of flows

    async def run(self, flow: Flow[T], *, configured: str | None = None) -> T:
        assert configured == URL
        try:
            ask = next(flow)
            while True:
                self.asked.append(ask)
                try:
                    found = self.respond(ask)
                except (AuthError, TransportError) as error:
                    ask = flow.throw(error)
                else:
                    ask = flow.send(found)
        except StopIteration as end:
            result: T = end.value
            return result

    async def aclose(self) -> None:
        pass

    def metadata(self, issuer: str) -> dict[str, Any]:
        return {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "registration_endpoint": f"{issuer}/register",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            **self.server,
        }

    def respond(self, ask: HttpAsk) -> HttpAnswer:
        """Return the response to a request of a flow."""
        if ask.url in self.answers:
            found = self.answers[ask.url]
            made = found(ask) if callable(found) else found
            if isinstance(made, Exception):
                raise made
            return made if isinstance(made, HttpAnswer) else answer(made)
        if ask.url == f"{PRM}/mcp" and self.resource is not None:
            return answer(self.resource)
        if ask.url == self.issuer + METADATA:
            return answer(self.metadata(self.issuer))
        if ask.url == f"{self.issuer}/register":
            return answer({"client_id": f"client-{self.count()}", **self.registered}, 201)
        if ask.url == f"{self.issuer}/token":
            return self.token(ask)
        if ask.url == f"{self.issuer}/revoke":
            return answer()
        return answer(status=404)

    def count(self) -> int:
        self.issued += 1
        return self.issued

    def token(self, ask: HttpAsk) -> HttpAnswer:
        form = dict(parse_qsl((ask.body or b"").decode()))
        if form["grant_type"] == "refresh_token":
            scope = self.refresh_tokens.pop(form["refresh_token"], None)
            if scope is None:
                return answer({"error": "invalid_grant"}, 400)
        else:
            request = self.codes.pop(form["code"], {})
            if code_challenge(form["code_verifier"]) != request.get("code_challenge"):
                return answer({"error": "invalid_grant"}, 400)
            scope = request.get("scope", "")
        return answer(self.issue(scope))

    def issue(self, scope: str) -> dict[str, Any]:
        number, granted = self.count(), self.grants_scopes(scope)
        self.tokens[f"access-{number}"] = granted or ""
        self.refresh_tokens[f"refresh-{number}"] = scope
        document: dict[str, Any] = {
            "access_token": f"access-{number}",
            "token_type": "Bearer",
            "refresh_token": f"refresh-{number}",
        }
        if self.expires_in is not None:
            document |= {"expires_in": self.expires_in}
        return document | ({} if granted is None else {"scope": granted})

    # The user

    async def user(self, request: AuthorizationRequest) -> str:
        """Agree, as the authorization server then redirects."""
        self.shown.append(request)
        asked = {name: values[0] for name, values in parse_qs(urlsplit(request.url).query).items()}
        code = f"code-{self.count()}"
        self.codes[code] = asked
        params = self.redirects({"code": code, "state": asked["state"]})
        return f"{request.redirect_uri}?{urlencode(params)}"

    # What the tests look at

    def sent(self, url: str) -> list[dict[str, str]]:
        """Return the forms that were sent to a URL."""
        return [dict(parse_qsl((one.body or b"").decode())) for one in self.asked if one.url == url]

    def registrations(self) -> list[dict[str, Any]]:
        """Return the registrations that were asked for."""
        return [json.loads(one.body or b"") for one in self.asked if one.url.endswith("/register")]

    def authorization_requests(self) -> list[dict[str, str]]:
        """Return the parameters of the authorization requests."""
        return [dict(parse_qsl(urlsplit(one.url).query)) for one in self.shown]

    async def call(
        self,
        oauth: OAuth,
        *,
        needs: str = "",
        url: str = URL,
        challenge: Mapping[str, str] | None = None,
        attempts: int = 8,
    ) -> int:
        """Send a request as the HTTP client does, and return its last status."""
        status = 0
        for _ in range(attempts):
            sent = await oauth.headers("POST", url)
            status, headers = self.check(sent, needs, challenge)
            oauth.responded(url, headers)
            if status == 200 or not await oauth.retry("POST", url, status, headers, sent):
                break
        return status

    def check(
        self, sent: Any, needs: str, challenge: Mapping[str, str] | None
    ) -> tuple[int, dict[str, str]]:
        """Return what the server answers to a request with these header lines."""
        line = dict(sent).get(b"authorization", b"").decode()
        scopes = self.tokens.get(line.removeprefix("Bearer "))
        if scopes is None:
            return 401, refused(**(challenge or {}))
        if needs and not {*needs.split()} <= {*scopes.split()}:
            return 403, refused(error="insufficient_scope", scope=needs)
        return 200, {}


def basic(ask: HttpAsk) -> str:
    """Return user and password of a request."""
    return base64.b64decode(ask.headers["authorization"].removeprefix("Basic ")).decode()
