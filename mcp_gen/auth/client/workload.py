"""WorkloadIdentity: a workload that its platform gave a signed identity."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from mcp_gen.auth.client.assertion_source import AssertionSource, JwtSource, jwt_subject
from mcp_gen.auth.client.configured_client import ConfiguredClient
from mcp_gen.auth.client.grant_authorizer import GrantAuthorizer
from mcp_gen.auth.flows.assertion_grants import jwt_bearer
from mcp_gen.core.errors import AuthError

if TYPE_CHECKING:
    from mcp_gen.auth.flows.discovery import Discovered
    from mcp_gen.auth.flows.exchange import FlowRunner
    from mcp_gen.auth.flows.token_requests import ClientAuthentication, Tokens
    from mcp_gen.auth.proofs.keys import PrivateKey

__all__ = ["WorkloadIdentity"]


class WorkloadIdentity(GrantAuthorizer):
    """Authorizes a workload by the JWT that its platform issued, such as a service account token.

        auth = WorkloadIdentity("id", Path("/var/run/secrets/tokens/mcp"))

    The audience of the JWT is the issuer of the authorization server. A JWT that was refused is not
    sent again, and no other grant is tried: the same error is raised until there is another JWT.

    Args:
        client_id: The client, as the authorization server knows it.
        assertion: The JWT, the Path of the file that has it, or a function that returns it, which
            may be async. It is read anew for each token.
        client_secret: Secret of the client, where the authorization server asks for one.
        private_key: Private key of the client as PEM or JWK, instead of a secret.
        algorithm: What the key signs with; None for the usual algorithm of its kind.
        auth_method: Authentication of the client at the token endpoint; None for what the
            authorization server supports.
        scopes: Scopes to ask for; None for those that the server names.
        issuer: The authorization server; None for the one that the MCP server names.
        allow_hosts: Hosts of authorization servers that may have private addresses.
        fetcher: Sends requests to authorization servers; None for a `Fetcher`.
        refresh_margin_s: Seconds before the end of a token in which it is renewed, at most a
            fifth of its life.
        clock: Returns the time in seconds since 1970.

    Source: https://www.rfc-editor.org/rfc/rfc7523.html#section-2.1
    """

    def __init__(
        self,
        client_id: str,
        assertion: AssertionSource,
        *,
        client_secret: str | None = None,
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
        self._source = JwtSource(assertion, "the assertion of the workload")
        self._subject = ""
        self._refused: tuple[str, AuthError] | None = None

    async def request(
        self,
        client: ClientAuthentication,
        discovered: Discovered,
        scopes: tuple[str, ...] | None,
    ) -> Tokens:
        """Return new tokens; see `GrantAuthorizer`."""
        assertion = await self._source.read()
        if self._refused is not None and self._refused[0] == assertion:
            _, error = self._refused
            raise AuthError(str(error), error.error)
        flow = jwt_bearer(
            discovered.server,
            client,
            assertion,
            resource=discovered.resource,
            scopes=scopes,
            now=self._clock(),
            proofs=self._proofs,
        )
        try:
            tokens = await self._run(flow)
        except AuthError as error:
            if error.error is not None:
                self._refused = assertion, error
            raise
        self._subject = jwt_subject(assertion)
        return tokens

    def subject(self) -> str:
        """Return the subject of the last assertion."""
        return self._subject
