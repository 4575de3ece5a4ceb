"""The parts of the server that its endpoints share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.responses import JSONResponse, Response

from examples.oauth.authorization_server.client_authentication import ClientAuthenticator
from examples.oauth.authorization_server.clients import Client, ClientDirectory
from examples.oauth.authorization_server.dpop import ProofChecker
from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.jwts import SigningKeys
from examples.oauth.authorization_server.memory import ReplayMemory
from examples.oauth.authorization_server.requests import Parameters
from examples.oauth.authorization_server.settings import Settings
from examples.oauth.authorization_server.tokens import TokenBook

__all__ = ["NO_STORE", "ServerParts"]

NO_STORE = {"cache-control": "no-store", "pragma": "no-cache"}
OPEN_TO_BROWSERS = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "dpop-nonce, www-authenticate",
}


@dataclass(kw_only=True, eq=False, repr=False)
class ServerParts(Settings):
    """Settings, and the parts that are made from them."""

    def __post_init__(self) -> None:
        self.keys = SigningKeys()
        self.clients = ClientDirectory(self)
        self.authenticator = ClientAuthenticator(self, self.clients)
        self.proofs = ProofChecker(self)
        self.tokens = TokenBook(self, self.keys)
        self.assertions = ReplayMemory(self.max_held, self.clock)

    def checked_scopes(self, client: Client, asked: str | None) -> tuple[str, ...]:
        """Return the scopes of a request.

        Raises:
            OAuthError: one is not supported, or not the client's.
        """
        scopes = tuple(dict.fromkeys((asked or "").split()))
        supported = set(scopes if self.scopes_supported is None else self.scopes_supported)
        allowed = supported if client.scope is None else supported & set(client.scope.split())
        if excess := [scope for scope in scopes if scope not in allowed]:
            raise OAuthError("invalid_scope", f"not supported: {' '.join(excess)}")
        return scopes

    def checked_resources(self, form: Parameters) -> tuple[str, ...]:
        """Return the resources of a request (RFC 8707).

        Raises:
            OAuthError: one is no absolute URI, or none that tokens are given for.
        """
        found = tuple(dict.fromkeys(form.all("resource")))
        for resource in found:
            try:
                parts = urlsplit(resource)
            except ValueError:
                parts = urlsplit("")
            if not parts.scheme or "#" in resource:
                raise OAuthError("invalid_target", "resource must be an absolute URI, no fragment")
            if self.resources is not None and resource not in self.resources:
                raise OAuthError("invalid_target", f"no tokens are given for {resource}")
        if self.resource_required and not found:
            raise OAuthError("invalid_target", "resource is missing")
        return found

    def json(
        self, value: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Return a JSON response that nobody may store."""
        return JSONResponse(
            dict(value), status, {**NO_STORE, **OPEN_TO_BROWSERS, **(headers or {})}
        )

    def error(self, error: OAuthError) -> Response:
        """Return the JSON of an error."""
        body = {"error": error.error, "error_description": error.description}
        return self.json(body, error.status, error.headers)
