"""The example authorization server as an ASGI app: routes, metadata, keys, registration."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from examples.oauth.authorization_server.endpoints.assertion_grants import AssertionGrants
from examples.oauth.authorization_server.endpoints.authorization import AuthorizationEndpoint
from examples.oauth.authorization_server.endpoints.token_status import TokenStatus
from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.jwts import ALGORITHMS, SIGNING_ALGORITHM
from examples.oauth.authorization_server.requests import Received
from examples.oauth.authorization_server.settings import JWT_BEARER

__all__ = ["AuthorizationServer"]

Endpoint: TypeAlias = Callable[[Received], Awaitable[Response]]
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag"
PREFLIGHT = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET, POST",
    "access-control-allow-headers": "authorization, content-type, dpop, mcp-protocol-version",
    "access-control-max-age": "600",
}
"""Response to a browser that asks before a request of another origin's script."""
OAUTH = "/.well-known/oauth-authorization-server"
OIDC = "/.well-known/openid-configuration"


class AuthorizationServer(AssertionGrants, AuthorizationEndpoint, TokenStatus):
    """Authorization server in memory. Its settings are keyword arguments, see `Settings`.

    Each endpoint is a method: a subclass with another one is a server that misbehaves.
    `app` is its ASGI app; `requests` has what came, oldest first.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.requests: deque[Received] = deque(maxlen=self.max_requests_logged)
        self.app = Starlette(routes=[Route("/{path:path}", self._answer, methods=METHODS)])

    def received(self, endpoint: str) -> list[Received]:
        """Return the logged requests of an endpoint, such as `token`."""
        return [one for one in self.requests if one.endpoint == endpoint]

    def rotate_keys(self, keep: int = 1) -> None:
        """Sign with a new key; of the old ones the newest `keep` stay in the key set."""
        self.keys.rotate(keep)

    # Routes

    def routes(self) -> Mapping[str, tuple[str, Endpoint]]:
        """Return the methods and the endpoint of each path."""
        base = urlsplit(self.issuer).path.rstrip("/")
        documents = {
            "oauth": (f"{OAUTH}{base}", self.metadata),
            "oidc": (f"{OIDC}{base}", self.openid_configuration),
            "oidc-appended": (f"{base}{OIDC}", self.openid_configuration),
        }
        found: dict[str, tuple[str, Endpoint]] = {
            path: ("GET", endpoint)
            for name, (path, endpoint) in documents.items()
            if name in self.documents
        }
        found |= {
            f"{base}/authorize": ("GET POST", self.authorize),
            f"{base}/consent": ("POST", self.decide),
            f"{base}/token": ("POST", self.token),
            f"{base}/jwks": ("GET", self.jwks),
        }
        if self.registration:
            found[f"{base}/register"] = ("POST", self.register)
        if self.introspection:
            found[f"{base}/introspect"] = ("POST", self.introspect)
        if self.revocation:
            found[f"{base}/revoke"] = ("POST", self.revoke)
        return found

    async def _answer(self, request: Request) -> Response:
        body = b""
        try:
            async for piece in request.stream():
                # What is too long is logged, too, but not kept whole.
                body = (body + piece)[: self.max_body_bytes + 1]
        except ClientDisconnect:
            return Response(None, 400)
        headers: dict[str, str] = {}
        for name, value in request.headers.items():
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        url = request.url
        received = Received(request.method, url.path, url.query, headers, body)
        self.requests.append(received)
        try:
            return await self.respond(received)
        except OAuthError as error:
            return self.error(error)

    async def respond(self, asked: Received) -> Response:
        """Answer a request.

        Raises:
            OAuthError: it is refused.
        """
        if len(asked.body) > self.max_body_bytes:
            raise OAuthError("invalid_request", "the body is too large", 413)
        methods, endpoint = self.routes().get(asked.path, ("", None))
        if endpoint is None:
            raise OAuthError("not_found", "nothing is here", 404)
        method = "GET" if asked.method == "HEAD" else asked.method
        if method == "OPTIONS" and endpoint not in (self.authorize, self.decide):
            return Response(None, 204, PREFLIGHT)
        if method not in methods.split():
            allow = {"allow": methods.replace(" ", ", ")}
            raise OAuthError("invalid_request", f"the method must be {methods}", 405, allow)
        return await endpoint(asked)

    # Metadata

    def document(self) -> dict[str, Any]:
        """Return the metadata of the server (RFC 8414)."""
        found: dict[str, Any] = {
            "issuer": self.issuer,
            "authorization_endpoint": self.url("authorize"),
            "token_endpoint": self.token_url,
            "jwks_uri": self.url("jwks"),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": list(self.grant_types),
            "token_endpoint_auth_methods_supported": list(self.token_endpoint_auth_methods),
        }
        if "private_key_jwt" in self.token_endpoint_auth_methods:
            found["token_endpoint_auth_signing_alg_values_supported"] = list(ALGORITHMS)
        if self.registration:
            found["registration_endpoint"] = self.url("register")
        if self.introspection:
            found["introspection_endpoint"] = self.url("introspect")
        if self.revocation:
            found["revocation_endpoint"] = self.url("revoke")
        if JWT_BEARER in self.grant_types and self.trusted_issuers:
            found["authorization_grant_profiles_supported"] = [ID_JAG_PROFILE]
        if self.pkce_methods:
            found["code_challenge_methods_supported"] = list(self.pkce_methods)
        if self.scopes_supported is not None:
            found["scopes_supported"] = list(self.scopes_supported)
        if self.iss_parameter:
            found["authorization_response_iss_parameter_supported"] = True
        if self.client_id_metadata_documents and self.fetch is not None:
            found["client_id_metadata_document_supported"] = True
        if self.dpop != "off":
            found["dpop_signing_alg_values_supported"] = list(ALGORITHMS)
        return found

    async def metadata(self, asked: Received) -> Response:
        """Answer with the metadata of RFC 8414."""
        return self.public_json(self.document())

    async def openid_configuration(self, asked: Received) -> Response:
        """Answer with the metadata of OpenID Connect discovery."""
        more = {
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [SIGNING_ALGORITHM],
        }
        return self.public_json({**self.document(), **more})

    async def jwks(self, asked: Received) -> Response:
        """Answer with the public keys."""
        return self.public_json(self.keys.public())

    def public_json(self, value: Mapping[str, Any]) -> Response:
        """Return JSON that anybody may read, and cache for a short time."""
        headers = {"cache-control": "max-age=60", "access-control-allow-origin": "*"}
        return JSONResponse(dict(value), 200, headers)

    # Registration

    async def register(self, asked: Received) -> Response:
        """Register a client (RFC 7591)."""
        _, response = self.clients.register(asked.body)
        return self.json(response, 201)
