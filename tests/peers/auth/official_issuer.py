"""Authorization server made of the official SDK's routes, with a provider in memory."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import Any

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl, TypeAdapter
from pydantic.config import ConfigDict
from starlette.applications import Starlette

from tests.peers.auth.protected import READ, WRITE

__all__ = ["USER", "OfficialIssuer", "url_of"]

USER = "demo"

_as_url = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True)).validate_python


def url_of(text: str) -> AnyHttpUrl:
    """Return a URL as the SDK takes it, without a slash that was not there."""
    return _as_url(text)


class OfficialIssuer(
    OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]
):
    """Knows clients, codes and tokens; everybody is the same user, who agrees to everything."""

    registration = ClientRegistrationOptions(enabled=True, valid_scopes=[READ, WRITE])
    revocation = RevocationOptions(enabled=True)

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    def app(self) -> Starlette:
        """Return the authorization server as an app of its own."""
        routes = create_auth_routes(
            self,
            url_of(self.issuer),
            client_registration_options=self.registration,
            revocation_options=self.revocation,
        )
        return Starlette(routes=routes)

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        assert client.client_id is not None
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
            subject=USER,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        code = self.codes.pop(authorization_code.code)
        return self._issue(code.client_id, code.scopes, code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        old = self.refresh.pop(refresh_token.token)
        return self._issue(old.client_id, scopes, old.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def _issue(self, client_id: str, scopes: Sequence[str], resource: str | None) -> OAuthToken:
        both: dict[str, Any] = {
            "client_id": client_id,
            "scopes": list(scopes),
            "resource": resource,
        }
        access = AccessToken(
            token=secrets.token_urlsafe(32),
            expires_at=int(time.time()) + 600,
            subject=USER,
            claims={"iss": self.issuer},
            **both,
        )
        refresh = RefreshToken(token=secrets.token_urlsafe(32), subject=USER, **both)
        self.access[access.token] = access
        self.refresh[refresh.token] = refresh
        return OAuthToken(
            access_token=access.token,
            expires_in=600,
            scope=" ".join(scopes),
            refresh_token=refresh.token,
        )
