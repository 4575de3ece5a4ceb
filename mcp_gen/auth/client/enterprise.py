"""EnterpriseManaged: a user whose employer's identity provider decides what is allowed."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from mcp_gen.auth.client.assertion_source import AssertionSource, JwtSource, jwt_subject
from mcp_gen.auth.client.configured_client import ConfiguredClient
from mcp_gen.auth.client.grant_authorizer import GrantAuthorizer
from mcp_gen.auth.flows.assertion_grants import IdentityProvider, exchange_id_token, jwt_bearer
from mcp_gen.auth.flows.discovery import discover_server
from mcp_gen.core.errors import AuthError, UsageError

if TYPE_CHECKING:
    from mcp_gen.auth.flows.discovery import Discovered
    from mcp_gen.auth.flows.exchange import FlowRunner
    from mcp_gen.auth.flows.token_requests import ClientAuthentication, Tokens
    from mcp_gen.auth.proofs.keys import PrivateKey

__all__ = ["EnterpriseManaged"]


class EnterpriseManaged(GrantAuthorizer):
    """Authorizes a user by the ID token of the enterprise: it is exchanged, without a browser.

        auth = EnterpriseManaged(
            "id", client_secret=secret, id_token=sign_in, idp_issuer="https://idp.example",
            idp_client_id="id at the IdP",
        )

    The identity provider exchanges the ID token for an assertion (ID-JAG) that is for one
    authorization server and one MCP server; that authorization server gives the access token.

    Args:
        client_id: The client, as it is registered at the authorization server of the MCP server.
        client_secret: Its secret there; None for none.
        private_key: Its private key there as PEM or JWK, instead of a secret.
        algorithm: What the key signs with; None for the usual algorithm of its kind.
        auth_method: Its authentication there; None for what that server supports.
        id_token: The ID token of the user, the Path of a file, or a function that returns it, which
            may be async. It is read anew for each token.
        idp_issuer: The identity provider; its metadata names the token endpoint.
        idp_token_endpoint: The token endpoint of the identity provider, instead of its issuer.
        idp_client_id: The client, as it is registered at the identity provider.
        idp_client_secret: Its secret there; None for none.
        idp_private_key: Its private key there as PEM or JWK, instead of a secret.
        scopes: Scopes to ask for; None for those that the server names.
        issuer: The authorization server; None for the one that the MCP server names.
        allow_hosts: Hosts of authorization servers that may have private addresses.
        fetcher: Sends requests to authorization servers; None for a `Fetcher`.
        refresh_margin_s: Seconds before the end of a token in which it is renewed, at most a
            fifth of its life.
        clock: Returns the time in seconds since 1970.

    Source: https://modelcontextprotocol.io/extensions/auth/enterprise-managed-authorization
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str | None = None,
        *,
        id_token: AssertionSource,
        idp_client_id: str,
        idp_issuer: str | None = None,
        idp_token_endpoint: str | None = None,
        idp_client_secret: str | None = None,
        idp_private_key: PrivateKey | None = None,
        private_key: PrivateKey | None = None,
        algorithm: str | None = None,
        auth_method: str | None = None,
        scopes: Collection[str] | None = None,
        issuer: str | None = None,
        allow_hosts: Collection[str] = (),
        fetcher: FlowRunner | None = None,
        refresh_margin_s: float = 30.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        client = ConfiguredClient(
            client_id, client_secret, private_key, algorithm=algorithm, auth_method=auth_method
        )
        super().__init__(
            client,
            scopes=scopes,
            issuer=issuer,
            allow_hosts=allow_hosts,
            fetcher=fetcher,
            refresh_margin_s=refresh_margin_s,
            clock=clock,
        )
        if idp_issuer is None and idp_token_endpoint is None:
            raise UsageError("EnterpriseManaged needs idp_issuer or idp_token_endpoint")
        self._idp_client = ConfiguredClient(idp_client_id, idp_client_secret, idp_private_key)
        self._idp_issuer = idp_issuer
        self._idp_endpoint = idp_token_endpoint
        self._source = JwtSource(id_token, "the ID token")
        self._subject = ""

    async def request(
        self,
        client: ClientAuthentication,
        discovered: Discovered,
        scopes: tuple[str, ...] | None,
    ) -> Tokens:
        """Return new tokens; see `GrantAuthorizer`."""
        id_token = await self._source.read()
        provider = await self._provider()
        exchange = exchange_id_token(
            provider,
            id_token,
            audience=discovered.server.issuer,
            resource=discovered.resource,
            scopes=scopes,
            now=self._clock(),
        )
        assertion = await self._run(exchange, configured=provider.token_endpoint)
        grant = jwt_bearer(
            discovered.server,
            client,
            assertion,
            resource=discovered.resource,
            scopes=scopes,
            now=self._clock(),
            proofs=self._proofs,
        )
        tokens = await self._run(grant)
        self._subject = jwt_subject(id_token)
        return tokens

    async def _provider(self) -> IdentityProvider:
        issuer, endpoint = self._idp_issuer, self._idp_endpoint
        if endpoint is not None:
            client = self._idp_client.authentication_by()
            return IdentityProvider(issuer or endpoint, endpoint, client)
        if issuer is None:
            raise UsageError("EnterpriseManaged needs idp_issuer or idp_token_endpoint")
        server = await self._run(discover_server(issuer), configured=issuer)
        if server.token_endpoint is None:
            raise AuthError("the identity provider has no token endpoint: give idp_token_endpoint")
        return IdentityProvider(
            issuer, server.token_endpoint, self._idp_client.authentication(server)
        )

    def subject(self) -> str:
        """Return the subject of the last assertion."""
        return self._subject
