"""The grant of a client that acts for itself, without a user."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_gen.auth.flows.exchange import Flow
from mcp_gen.auth.flows.metadata import ServerMetadata
from mcp_gen.auth.flows.token_requests import (
    ClientAuthentication,
    TokenProofs,
    Tokens,
    request_tokens,
)

__all__ = ["client_credentials"]


def client_credentials(
    server: ServerMetadata,
    client: ClientAuthentication,
    *,
    resource: str,
    scopes: Sequence[str] | None,
    now: float,
    proofs: TokenProofs | None = None,
) -> Flow[Tokens]:
    """Ask for a token of the client itself.

    Args:
        server: The authorization server.
        client: The client, which has a secret or a key.
        resource: The resource that the token is for.
        scopes: The scopes; None to leave the choice to the authorization server.
        now: The current time, in seconds since 1970.
        proofs: Adds proofs of a key; None for bearer tokens.

    Raises:
        AuthError: The authorization server refused.

    Source: https://www.rfc-editor.org/rfc/rfc6749.html#section-4.4
    """
    form = {"grant_type": "client_credentials", "resource": resource}
    if scopes:
        form["scope"] = " ".join(scopes)
    return (yield from request_tokens(server, client, form, now=now, proofs=proofs))
