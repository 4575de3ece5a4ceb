"""ClientCredentials: a client that acts for itself, with a secret or a key."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from mcp_gen.auth.client.configured_client import ConfiguredClient
from mcp_gen.auth.client.grant_authorizer import GrantAuthorizer
from mcp_gen.auth.flows.client_credentials import client_credentials
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.auth.flows.discovery import Discovered
    from mcp_gen.auth.flows.exchange import FlowRunner
    from mcp_gen.auth.flows.token_requests import ClientAuthentication, Tokens
    from mcp_gen.auth.proofs.keys import PrivateKey

__all__ = ["ClientCredentials"]


class ClientCredentials(GrantAuthorizer):
    """Authorizes a program that acts for itself: no user, no browser.

        client = await connect(url, auth=ClientCredentials("id", client_secret=secret))

    Name the `issuer`: without it the secret goes to the authorization server that the MCP server
    names. (An assertion of a private key is of no use to another one.)

    Args:
        client_id: The client, as it is registered at the authorization server.
        client_secret: Its secret, sent as the authorization server supports: in a Basic header, or
            in the body.
        private_key: Its private key as PEM or JWK (`private_key_jwt`), instead of a secret. Needs
            the extra `auth`.
        algorithm: What the key signs with, such as `ES256`, `RS256`, `PS256` or `EdDSA`; None for
            the usual algorithm of its kind.
        auth_method: `client_secret_basic`, `client_secret_post` or `private_key_jwt`; None for what
            the authorization server supports.
        scopes: Scopes to ask for; None for those that the server names.
        issuer: The authorization server; None for the one that the MCP server names.
        allow_hosts: Hosts of authorization servers that may have private addresses.
        fetcher: Sends requests to authorization servers; None for a `Fetcher`.
        refresh_margin_s: Seconds before the end of a token in which it is renewed, at most a
            fifth of its life.
        clock: Returns the time in seconds since 1970.

    Raises:
        UsageError: There is neither a secret nor a key, or they cannot be used.

    Source: https://modelcontextprotocol.io/extensions/auth/oauth-client-credentials
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str | None = None,
        *,
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
        if client.is_public:
            raise UsageError("ClientCredentials needs client_secret or private_key")

    async def request(
        self,
        client: ClientAuthentication,
        discovered: Discovered,
        scopes: tuple[str, ...] | None,
    ) -> Tokens:
        """Return new tokens; see `GrantAuthorizer`."""
        flow = client_credentials(
            discovered.server,
            client,
            resource=discovered.resource,
            scopes=scopes,
            now=self._clock(),
            proofs=self._proofs,
        )
        return await self._run(flow)
