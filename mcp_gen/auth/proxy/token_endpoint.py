"""Endpoints that a client calls with codes and tokens: the token endpoint, and revocation."""

from __future__ import annotations

import re

from mcp_gen.auth.proxy.authorization import ProxyTerms
from mcp_gen.auth.proxy.clients import ProxyClients
from mcp_gen.auth.proxy.grants import GrantBook, GrantLives, IssuedTokens
from mcp_gen.auth.proxy.web import EndpointRefusal, WebReply, WebRequest, json_reply
from mcp_gen.core.errors import AuthError, TransportError

__all__ = ["TokenEndpoint"]

VERIFIER = re.compile(r"[A-Za-z0-9\-._~]{43,128}")


class TokenEndpoint:
    """Exchanges codes and refresh tokens of public clients, and revokes tokens.

    Args:
        terms: The proxy.
        lives: Lifetimes.
        clients: The clients.
        grants: The grants.

    Source: https://www.rfc-editor.org/rfc/rfc6749.html#section-3.2,
        https://www.rfc-editor.org/rfc/rfc7009.html#section-2
    """

    def __init__(
        self, terms: ProxyTerms, lives: GrantLives, clients: ProxyClients, grants: GrantBook
    ) -> None:
        self._terms = terms
        self._lives = lives
        self._clients = clients
        self._grants = grants

    async def token(self, request: WebRequest) -> WebReply:
        """Answer with tokens.

        Raises:
            EndpointRefusal: There are none for this request.
        """
        form = request.form()
        client_id = self._client(form)
        if not self._terms.is_own_resource(form.get("resource", self._terms.resource)):
            raise EndpointRefusal("invalid_target", "expected the resource to be this server")
        kind = form.get("grant_type")
        if kind == "authorization_code":
            verifier = form.get("code_verifier", "")
            if not VERIFIER.fullmatch(verifier):
                # Then it is no verifier of this code; the code is used up all the same.
                verifier = ""
            issued = await self._grants.redeem(
                form.get("code", ""), client_id, form.get("redirect_uri"), verifier
            )
        elif kind == "refresh_token":
            issued = await self._renew(form.get("refresh_token", ""), client_id)
        else:
            raise EndpointRefusal(
                "unsupported_grant_type", "expected authorization_code or refresh_token"
            )
        return json_reply(self._told(issued))

    async def revoke(self, request: WebRequest) -> WebReply:
        """End the grant of a token, with all its tokens.

        Raises:
            EndpointRefusal: The client is unknown.
        """
        form = request.form()
        await self._grants.end(form.get("token", ""), self._client(form))
        return json_reply({})

    async def _renew(self, refresh_token: str, client_id: str) -> IssuedTokens:
        """Return new tokens.

        Raises:
            EndpointRefusal: There are none.
        """
        try:
            return await self._grants.renew(refresh_token, client_id)
        except EndpointRefusal:
            raise
        except (AuthError, TransportError) as error:
            reason = str(error)
        except Exception as error:
            # A function of someone else: its message may hold the token.
            reason = f"a user was not identified: {type(error).__name__}"
        self._terms.failed(reason)
        raise EndpointRefusal(
            "temporarily_unavailable", "the login provider cannot be asked now", 503
        )

    def _client(self, form: dict[str, str]) -> str:
        client_id = form.get("client_id", "")
        if self._clients.find(client_id) is None:
            raise EndpointRefusal(
                "invalid_client", "expected the client_id of a registration here", 401
            )
        return client_id

    def _told(self, issued: IssuedTokens) -> dict[str, object]:
        return {
            "access_token": issued.access,
            "token_type": "Bearer",
            "expires_in": int(self._lives.access_s),
            "refresh_token": issued.refresh,
            "scope": " ".join(issued.scopes),
        }
