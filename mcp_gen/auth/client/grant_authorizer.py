"""Base of the authorizers that need no user: a new token can always be had."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from mcp_gen.auth.client.authorizer import TokenAuthorizer
from mcp_gen.auth.flows.scopes import choose_scopes, is_scope
from mcp_gen.auth.flows.token_requests import AssertionSigner, ClientAuthentication, Tokens
from mcp_gen.auth.stores.token_store import StoredCredentials
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.auth.client.configured_client import ConfiguredClient
    from mcp_gen.auth.client.credentials import Need
    from mcp_gen.auth.flows.discovery import Discovered
    from mcp_gen.auth.flows.exchange import FlowRunner

__all__ = ["GrantAuthorizer"]


class GrantAuthorizer(TokenAuthorizer):
    """Gives requests a token of a grant that needs no user; see `RequestAuthorizer`.

    The first request goes without a token: its refusal names the authorization server. One object
    serves one server. Tokens are in memory alone.

    Args:
        client: The client, as it is registered at the authorization server.
        scopes: Scopes to ask for, beside those that the server demands; None for what it names.
        issuer: The authorization server; None for the one that the server names first, which then
            stays the same.
        allow_hosts: Hosts of authorization servers that may have private addresses.
        fetcher: Sends requests to authorization servers; None for a `Fetcher`.
        refresh_margin_s: Seconds before the end of a token in which it is renewed, at most a
            fifth of its life.
        clock: Returns the time in seconds since 1970.
    """

    renews_alone: ClassVar[bool] = True

    def __init__(
        self,
        client: ConfiguredClient,
        *,
        scopes: Collection[str] | None = None,
        issuer: str | None = None,
        allow_hosts: Collection[str] = (),
        fetcher: FlowRunner | None = None,
        refresh_margin_s: float = 30.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(
            store=None,
            fetcher=fetcher,
            allow_hosts=allow_hosts,
            legacy_servers=False,
            refresh_margin_s=refresh_margin_s,
            clock=clock,
        )
        if isinstance(scopes, str) or not all(is_scope(one) for one in scopes or ()):
            raise UsageError(
                "scopes: expected a list of scopes, each without blanks and quotes: "
                "scopes=['a', 'b']"
            )
        self._client = client
        self._scopes = None if scopes is None else tuple(scopes)
        self._issuer = issuer

    @abstractmethod
    async def request(
        self,
        client: ClientAuthentication,
        discovered: Discovered,
        scopes: tuple[str, ...] | None,
    ) -> Tokens:
        """Return new tokens.

        Args:
            client: Authentication of the client at the authorization server.
            discovered: The authorization server, and the resource.
            scopes: The scopes to ask for; None for none.

        Raises:
            AuthError: There are none to be had.
        """

    def subject(self) -> str:
        """Return who the token stands for, beside the client; empty for the client itself."""
        return ""

    async def authorize(self, need: Need, discovered: Discovered) -> StoredCredentials:
        """Ask for a new token.

        Args:
            need: Why.
            discovered: The authorization server, and the resource.

        Raises:
            AuthError: The authorization server refused, or the token would be one like before.
        """
        server = discovered.server
        scopes = self._choose(need, discovered)
        need.check(scopes)
        client = self._client.authentication(server)
        # What is shown to one authorization server is shown to no other.
        self._issuer = server.issuer
        tokens = await self.request(client, discovered, scopes)
        base = StoredCredentials(
            issuer=server.issuer,
            resource=discovered.resource,
            client_id=client.client_id,
            token_endpoint_auth_method=client.method,
            at_origin=discovered.at_origin,
            login=f"{type(self).__name__} {self.subject()}",
            scopes=list(scopes or ()),
            requested_scopes=list(scopes or ()),
        )
        return replace(self.with_tokens(base, tokens), refresh_token=None)

    def expected_issuer(self, known: StoredCredentials | None) -> str | None:
        """Return the authorization server that is configured, or that was the first."""
        return self._issuer

    def signer(self) -> AssertionSigner | None:
        """Return what signs assertions of the client."""
        return self._client.signer

    def secret_of(self, stored: StoredCredentials) -> str | None:
        """Return the secret of the client, which is not stored."""
        return self._client.secret

    def _choose(self, need: Need, discovered: Discovered) -> tuple[str, ...] | None:
        return choose_scopes(
            configured=self._scopes,
            challenged=need.challenged(discovered.scopes_supported),
            resource=None if need.known else discovered.scopes_supported,
            server=discovered.server.scopes_supported,
            previous=need.known.requested_scopes if need.known else (),
            offline=False,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client.client_id!r})"
