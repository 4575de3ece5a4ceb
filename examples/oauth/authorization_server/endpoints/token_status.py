"""Introspection (RFC 7662) and revocation (RFC 7009)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from examples.oauth.authorization_server.endpoints.parts import NO_STORE, ServerParts
from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.requests import Received

__all__ = ["TokenStatus"]


class TokenStatus(ServerParts):
    """Endpoints that tell whether a token holds, and end it."""

    async def introspect(self, asked: Received) -> Response:
        """Tell a confidential client about a token."""
        form = asked.form
        form.refuse_repeated()
        client = await self.authenticator.authenticate(asked, form)
        if client.auth_method == "none":
            raise OAuthError("invalid_client", "introspection needs client authentication", 401)
        return self.json(self.introspected(form.required("token")))

    def introspected(self, token: str) -> Mapping[str, Any]:
        """Return what introspection says about a token."""
        if (access := self.tokens.access(token)) is not None:
            bound = "cnf" in access.claims
            return {"active": True, "token_type": "DPoP" if bound else "Bearer", **access.claims}
        if (refresh := self.tokens.active_refresh(token)) is not None:
            grant = refresh.grant
            return {
                "active": True,
                "iss": self.issuer,
                "sub": grant.subject,
                "client_id": grant.client_id,
                "scope": " ".join(grant.scopes),
                "exp": int(refresh.expires_at),
            }
        return {"active": False}

    async def revoke(self, asked: Received) -> Response:
        """Revoke a token of a client; one that is unknown is revoked already."""
        form = asked.form
        form.refuse_repeated()
        client = await self.authenticator.authenticate(asked, form)
        token = form.required("token")
        owner = self.tokens.owner(token)
        if owner is not None:
            if owner.client_id != client.client_id:
                raise OAuthError("invalid_grant", "the token is of another client")
            self.tokens.revoke(token)
        return Response(None, 200, NO_STORE)
