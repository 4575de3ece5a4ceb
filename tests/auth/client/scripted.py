"""A protected server, its authorization server and an identity provider, without sockets."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote_plus

import msgspec

from mcp_gen.auth.flows.exchange import Flow, HttpAnswer, HttpAsk, Purpose
from mcp_gen.core.errors import TransportError
from mcp_gen.core.transport.authorizing import RequestAuthorizer
from mcp_gen.core.transport.protocols import Lines

__all__ = [
    "AS",
    "CHALLENGE",
    "IDP",
    "URL",
    "Clock",
    "Web",
    "admitted",
    "basic_of",
    "bearer",
    "claims_of",
    "refused",
    "sent_again",
]

T = TypeVar("T")

URL = "https://api.example/mcp"
AS = "https://as.example"
IDP = "https://idp.example"
CHALLENGE = {
    "www-authenticate": 'Bearer resource_metadata="https://api.example/.well-known/'
    'oauth-protected-resource/mcp", scope="read"'
}
JAG = "e30.e30.AA"


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Web:
    """Answers the requests of flows, and keeps those for tokens.

    Args:
        server: Members of the authorization server's metadata that are added or replaced.
        token: Members of a token response that are added or replaced.
        answer: Answers requests for tokens instead; None from it lets the usual answer happen.
    """

    def __init__(
        self,
        server: Mapping[str, Any] | None = None,
        token: Mapping[str, Any] | None = None,
        answer: Callable[[HttpAsk], HttpAnswer | None] = lambda ask: None,
    ) -> None:
        self.issuer = AS
        self.server = dict(server or {})
        self.token = dict(token or {})
        self.answer = answer
        self.asks: list[HttpAsk] = []
        self.configured: list[str | None] = []
        self.closed = False

    @property
    def forms(self) -> list[dict[str, str]]:
        """The forms that were sent to token endpoints."""
        return [dict(parse_qsl((ask.body or b"").decode())) for ask in self.asks]

    async def run(self, flow: Flow[T], *, configured: str | None = None) -> T:
        """Run a flow as a fetcher would."""
        self.configured.append(configured)
        try:
            ask = next(flow)
            while True:
                ask = flow.send(self._respond(ask))
        except StopIteration as end:
            result: T = end.value
            return result

    async def aclose(self) -> None:
        """Note that it was closed."""
        self.closed = True

    def _respond(self, ask: HttpAsk) -> HttpAnswer:
        if ask.purpose is Purpose.RESOURCE_METADATA:
            return self._json({"resource": URL, "authorization_servers": [self.issuer]})
        if ask.purpose is Purpose.SERVER_METADATA:
            issuer = ask.url.partition("/.well-known/")[0]
            whole = {"issuer": issuer, "token_endpoint": f"{issuer}/token"}
            return self._json(whole | (self.server if issuer == self.issuer else {}))
        if ask.purpose is not Purpose.TOKEN:
            raise TransportError("nothing is there")
        self.asks.append(ask)
        told = self.answer(ask)
        if told is not None:
            return told
        if ask.url == f"{IDP}/token":
            kind = "urn:ietf:params:oauth:token-type:id-jag"
            return self._json({"access_token": JAG, "issued_token_type": kind, "token_type": "N_A"})
        usual = {"access_token": f"token{len(self.asks)}", "token_type": "Bearer"}
        return self._json(usual | self.token)

    @staticmethod
    def _json(members: Mapping[str, Any]) -> HttpAnswer:
        return HttpAnswer(200, {"content-type": "application/json"}, msgspec.json.encode(members))


def refused(error: str, status: int = 400, headers: Mapping[str, str] | None = None) -> HttpAnswer:
    """Return an error response of a token endpoint."""
    return HttpAnswer(status, headers or {}, msgspec.json.encode({"error": error}))


async def admitted(auth: RequestAuthorizer, **challenge: str) -> Lines:
    """Send a request as the transport does: refused once, then with a token."""
    sent = await auth.headers("POST", URL)
    headers = challenge or CHALLENGE
    auth.responded(URL, headers)
    assert await auth.retry("POST", URL, 401, headers, sent)
    lines = await auth.headers("POST", URL)
    auth.responded(URL, {})
    return lines


async def sent_again(auth: RequestAuthorizer, refusal: Callable[[int], Mapping[str, str]]) -> int:
    """Send a request that is always refused, at most eight times; return how often."""
    for number in range(8):
        sent = await auth.headers("POST", URL)
        headers = refusal(number)
        auth.responded(URL, headers)
        if not await auth.retry("POST", URL, 401, headers, sent):
            return number + 1
    return 8


def bearer(token: str) -> Lines:
    """Return the header lines of a bearer token."""
    return ((b"authorization", f"Bearer {token}".encode()),)


def basic_of(ask: HttpAsk) -> list[str]:
    """Return user and password of a Basic header."""
    kind, _, value = ask.headers["authorization"].partition(" ")
    assert kind == "Basic"
    return [unquote_plus(one) for one in base64.b64decode(value).decode().split(":")]


def claims_of(jwt: str) -> dict[str, Any]:
    """Return the claims of a JWT, not verified."""
    part = jwt.split(".")[1]
    claims: dict[str, Any] = msgspec.json.decode(
        base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    )
    return claims
