"""Scenario of a server that wants a token, and is its own authorization server: all is granted."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from mcp_gen.compat.checks.check import judged
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import Json, is_array, is_object
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointResponse
from mcp_gen.compat.scenarios.fetching import fetches
from mcp_gen.compat.scenarios.scenario import scenario

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.reference.http.exchanges import EndpointRequest
    from mcp_gen.compat.transcript import WireEvent

ROW = "authorization:by-client"
TOKEN = "token-of-the-doctor"
CODE = "code-of-the-doctor"
RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = (
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
)


class WantsAToken(ReferenceEndpoint):
    """Answers requests without its token with status 401, and gives one to whom asks rightly."""

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        """Answer as an authorization server, or as the server once there is a token."""
        if request.path == self.path:
            return await self.respond_with_token(request)
        if request.path in (RESOURCE_METADATA, f"{RESOURCE_METADATA}{self.path}"):
            self._note(request, "resource metadata", {})
            return self._json(self.resource_metadata(request))
        if request.path in SERVER_METADATA:
            self._note(request, "server metadata", {})
            return self._json(self.server_metadata(request))
        if (request.method, request.path) == ("POST", "/register"):
            return self._json(self.registered(request), 201)
        if request.path == "/authorize":
            return self.authorize(request)
        if (request.method, request.path) == ("POST", "/token"):
            return self.give_token(request)
        return EndpointResponse(status=404)

    async def respond_with_token(self, request: EndpointRequest) -> EndpointResponse:
        """Answer a request of the protocol, if it has the token."""
        said = request.headers.get("authorization", "")
        place = "header" if said.lower().startswith("bearer ") else "none"
        place = "query" if "access_token" in request.query else place
        self._note(request, "mcp", {"token": place})
        if said.partition(" ")[2] != TOKEN:
            metadata = f"{_origin(request)}{RESOURCE_METADATA}{self.path}"
            challenge = f'Bearer resource_metadata="{metadata}"'
            return EndpointResponse(status=401, headers={"WWW-Authenticate": challenge})
        return await super().respond(request)

    def resource_metadata(self, request: EndpointRequest) -> Json:
        """Return where the authorization server is: here."""
        origin = _origin(request)
        return {"resource": f"{origin}{self.path}", "authorization_servers": [origin]}

    def server_metadata(self, request: EndpointRequest) -> Json:
        """Return what the authorization server has."""
        origin = _origin(request)
        return {
            "issuer": origin,
            "authorization_endpoint": f"{origin}/authorize",
            "token_endpoint": f"{origin}/token",
            "registration_endpoint": f"{origin}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
        }

    def registered(self, request: EndpointRequest) -> Json:
        """Return what a client has registered, with an id."""
        said: Json = request.message if is_object(request.message) else {}
        self._note(request, "register", {})
        return {**said, "client_id": "client-of-the-doctor"}

    def authorize(self, request: EndpointRequest) -> EndpointResponse:
        """Send the user back to the client with a code, without asking."""
        query = dict(request.query)
        self._note(request, "authorize", query)
        back = query.get("redirect_uri")
        if back is None:
            return EndpointResponse(status=400)
        given = {"code": CODE, **({"state": query["state"]} if "state" in query else {})}
        joint = "&" if urlsplit(back).query else "?"
        where = {"Location": f"{back}{joint}{urlencode(given)}"}
        return EndpointResponse(status=302, headers=where)

    def give_token(self, request: EndpointRequest) -> EndpointResponse:
        """Return a token, whatever for."""
        self._note(request, "token", dict(parse_qsl(request.body.decode("utf-8", "replace"))))
        return self._json({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600})

    def _json(self, value: Json, status: int = 200) -> EndpointResponse:
        headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
        return EndpointResponse(status=status, headers=headers, body=msgspec.json.encode(value))

    def _note(self, request: EndpointRequest, step: str, said: dict[str, str]) -> None:
        known = {**said, "at": f"{_origin(request)}{self.path}"}
        about = msgspec.json.encode([step, known]).decode()
        self.unknown.add("client", "request", about=about)


def _origin(request: EndpointRequest) -> str:
    return f"http://{request.headers.get('host', '')}"


# --- judging ---


class _TokenStep:
    """One request of a client on its way to a token, or with it."""

    def __init__(self, event: WireEvent) -> None:
        noted = msgspec.json.decode(event.about)
        assert is_array(noted)
        self.event = event
        self.name: str = noted[0]
        self.said: dict[str, str] = noted[1]


def _steps(run: ClientRun) -> list[_TokenStep]:
    """Return the steps of a client that has gone for a token.

    Raises:
        NotTested: it has not.
    """
    steps = [_TokenStep(event) for event in fetches(run)]
    if not any(one.name in ("authorize", "token") for one in steps):
        raise NotTested("the client did not ask for a token, or its user did not agree")
    return steps


def the_client_asks_as_it_must(run: ClientRun, found: Found) -> None:
    steps = _steps(run)
    found.saw()
    challenge = ""
    has_token = False
    for one in steps:
        if one.name == "authorize":
            challenge = one.said.get("code_challenge", "")
            if not challenge or one.said.get("code_challenge_method") != "S256":
                expected = "an authorization request has a `code_challenge` by S256"
                found.broken(expected, "it has none", one.event)
        elif one.name == "token":
            has_token = True
            verifier = one.said.get("code_verifier", "")
            if one.said.get("code") == CODE and challenge != _hashed(verifier) and challenge:
                expected = "a code is exchanged with the `code_verifier` of its challenge"
                found.broken(expected, "it is another one, or none", one.event)
        elif one.name == "mcp" and one.said["token"] == "query":
            expected = "a token is sent in the header Authorization"
            found.broken(expected, "it was in the query", one.event)
        elif one.name == "mcp" and has_token and one.said["token"] == "none":
            expected = "every request has the token, once there is one"
            found.broken(expected, "one had none", one.event)


def the_client_names_the_server(run: ClientRun, found: Found) -> None:
    steps = _steps(run.run_of(ROW))
    found.saw()
    is_known = False
    for one in steps:
        is_known = is_known or one.name == "resource metadata"
        if one.name in ("server metadata", "register", "authorize") and not is_known:
            expected = "the authorization server is found by the metadata of the resource"
            found.broken(expected, f"they were not asked for before: {one.name}", one.event)
            return
        resource = one.said.get("resource", "").rstrip("/")
        if one.name in ("authorize", "token") and not _names(resource, one.said["at"]):
            expected = f"`resource` is the URI of the server, {one.said['at']}"
            found.broken(expected, f"it is {resource!r}", one.event)


def _names(resource: str, url: str) -> bool:
    """Return True if a resource is a URL, or the server that it is of."""
    return resource == url or resource == url.removesuffix(urlsplit(url).path)


def _hashed(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


scenario(ROW, the_client_asks_as_it_must, is_exact=False)(WantsAToken)
judged("authorization:client:resource", the_client_names_the_server)
