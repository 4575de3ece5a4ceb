"""Endpoint that wants tokens, and is its own authorization server: whoever asks gets one."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec

from mcp_gen.compat.json_values import Json, is_object
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.compat.reference.http.exchanges import EndpointRequest
    from mcp_gen.compat.reference.server import ReferenceServer

__all__ = [
    "CHALLENGED",
    "CODE",
    "DEFAULT_PATHS",
    "OIDC_PATH",
    "RESOURCE_PATH",
    "SCOPES",
    "SERVER_PATH",
    "TOKEN",
    "GrantsTokens",
    "as_json",
    "origin_of_request",
]

RESOURCE_PATH = "/.well-known/oauth-protected-resource"
SERVER_PATH = "/.well-known/oauth-authorization-server"
OIDC_PATH = "/.well-known/openid-configuration"
CHALLENGED = "/about/this-resource"
"""Path of the metadata that the challenge names."""
ENDPOINTS = "/oauth"
"""Path above the endpoints: only metadata lead to them."""
DEFAULT_PATHS = ("/authorize", "/token", "/register")
"""Paths of the endpoints of a server without metadata."""
CODE = "code-of-the-doctor"
TOKEN = "token-of-the-doctor"
SCOPES = ("mcp:use", "mcp:more")
MAX_AUTHORIZATIONS = 12
"""Number of authorizations after which no more codes are given: a client would not end."""


class GrantsTokens(ReferenceEndpoint):
    """Answers requests without a token of its own with status 401, and gives one to whoever asks.

    Each step of a client is noted, for the judges: see `TokenStep`.
    """

    issuer_path: ClassVar[str] = ""
    """Path of the issuer."""
    issued = 0
    """Number of the tokens so far."""

    def __init__(self, make_server: Callable[[], ReferenceServer], revision: str) -> None:
        super().__init__(make_server, revision)
        self.scopes: dict[str, str] = {}
        """Scopes of the tokens."""
        self.codes: dict[str, str] = {}
        """Scopes of the codes."""

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        """Answer as an authorization server, or as the server once there is a token."""
        if request.path == self.path:
            return await self.respond_with_token(request)
        name = request.path.rpartition("/")[2]
        if self.is_endpoint(request.path):
            if name == "authorize":
                return self.authorize(request)
            if request.method == "POST":
                return self.register(request) if name == "register" else self.give_token(request)
        document = self.documents(request).get(request.path)
        self.note("fetch", {"path": request.path, "found": "no" if document is None else "yes"})
        return EndpointResponse(status=404) if document is None else as_json(document)

    def is_endpoint(self, path: str) -> bool:
        """Return True for the path of an endpoint, also where metadata do not lead."""
        own = path.removeprefix(self.issuer_path).removeprefix(ENDPOINTS)
        return own in DEFAULT_PATHS

    # --- the server ---

    async def respond_with_token(self, request: EndpointRequest) -> EndpointResponse:
        """Answer a request of the protocol, if it has a token."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer"
        place = "query" if "access_token" in request.query else "header" if is_bearer else "none"
        refusal = self.refusal(request, token if is_bearer else "")
        known = "yes" if not is_bearer or token in self.scopes else "no"
        status = str(refusal.status) if refusal else ""
        self.note("mcp", {"token": place, "known": known, "status": status})
        return refusal or await super().respond(request)

    def refusal(self, request: EndpointRequest, token: str) -> EndpointResponse | None:
        """Return the refusal of a request; None if its token is good."""
        if token in self.scopes:
            return None
        return EndpointResponse(status=401, headers={"WWW-Authenticate": self.challenge(request)})

    def challenge(self, request: EndpointRequest) -> str:
        """Return the challenge of a request without a token."""
        if self.profile.authorization_at_origin:
            return "Bearer"
        return f'Bearer resource_metadata="{origin_of_request(request)}{CHALLENGED}"'

    # --- documents ---

    def documents(self, request: EndpointRequest) -> dict[str, Json]:
        """Return the documents by path."""
        found = {SERVER_PATH + self.issuer_path: self.server_metadata(request)}
        if not self.profile.authorization_at_origin:
            resource = self.resource_metadata(request)
            # Where a client looks that does not read the challenge, there are the same.
            found |= {CHALLENGED: resource, RESOURCE_PATH + self.path: resource}
        return found

    def issuer(self, request: EndpointRequest) -> str:
        """Return the issuer."""
        return origin_of_request(request) + self.issuer_path

    def resource_metadata(self, request: EndpointRequest) -> Json:
        """Return the metadata of the server: what it is, and where its tokens are from."""
        return {
            "resource": f"{origin_of_request(request)}{self.path}",
            "authorization_servers": [self.issuer(request)],
            "scopes_supported": list(SCOPES),
        }

    def server_metadata(self, request: EndpointRequest) -> Json:
        """Return what the authorization server has."""
        issuer = self.issuer(request)
        base = f"{issuer}{ENDPOINTS}"
        return {
            "issuer": issuer,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "registration_endpoint": f"{base}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": True,
            "authorization_response_iss_parameter_supported": True,
        }

    # --- endpoints ---

    def register(self, request: EndpointRequest) -> EndpointResponse:
        """Register a client, which needs no secret, whatever it asks for."""
        said: Json = request.message if is_object(request.message) else {}
        self.note("register", {"body": msgspec.json.encode(said).decode(), "path": request.path})
        given = {"client_id": self.client_id(request), "token_endpoint_auth_method": "none"}
        return as_json({**said, **given}, 201)

    def client_id(self, request: EndpointRequest) -> str:
        """Return the id of a new client."""
        return "client-of-the-doctor"

    def authorize(self, request: EndpointRequest) -> EndpointResponse:
        """Send the user back to the client with a code, without asking."""
        query = dict(request.query)
        self.note("authorize", {**query, "path": request.path})
        back = query.get("redirect_uri")
        if back is None or len(self.codes) >= MAX_AUTHORIZATIONS:
            return EndpointResponse(status=400)
        code = f"{CODE}-{len(self.codes)}"
        self.codes[code] = query.get("scope", "")
        given = self.response(request, {"code": code, "iss": self.issuer(request), **_state(query)})
        joint = "&" if urlsplit(back).query else "?"
        where = {"Location": f"{back}{joint}{urlencode(given)}"}
        return EndpointResponse(status=302, headers=where)

    def response(self, request: EndpointRequest, params: dict[str, str]) -> dict[str, str]:
        """Return the parameters of an authorization response."""
        return params

    def give_token(self, request: EndpointRequest) -> EndpointResponse:
        """Return a token, whatever for; there is no refresh token."""
        form = dict(parse_qsl(request.body.decode("utf-8", "replace")))
        self.note("token", {**form, "path": request.path})
        self.issued += 1
        token = f"{TOKEN}-{self.issued}"
        self.scopes[token] = self.granted(self.codes.get(form.get("code", ""), ""))
        found: Json = {"access_token": token, "token_type": "Bearer", "expires_in": 3600}
        scope = {"scope": self.scopes[token]} if self.scopes[token] else {}
        return as_json({**found, **scope})

    def granted(self, asked: str) -> str:
        """Return the scopes of a token that scopes were asked for."""
        return asked

    def note(self, step: str, said: dict[str, str]) -> None:
        """Note a step of the client."""
        about = msgspec.json.encode([step, said]).decode()
        self.unknown.add("client", "request", about=about)


def as_json(value: Json, status: int = 200) -> EndpointResponse:
    """Return a response that nobody may keep."""
    headers = {"Content-Type": "application/json", "Cache-Control": "no-store"}
    return EndpointResponse(status=status, headers=headers, body=msgspec.json.encode(value))


def origin_of_request(request: EndpointRequest) -> str:
    """Return the origin that a client has used."""
    return f"http://{request.headers.get('host', '')}"


def _state(query: dict[str, str]) -> dict[str, str]:
    return {"state": query["state"]} if "state" in query else {}
