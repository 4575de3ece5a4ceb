"""Refresh and revocation of tokens."""

from __future__ import annotations

from mcp_gen.auth.flows.exchange import Flow, Purpose
from mcp_gen.auth.flows.metadata import ServerMetadata
from mcp_gen.auth.flows.token_requests import (
    ClientAuthentication,
    TokenProofs,
    Tokens,
    error_of,
    post_form,
    request_tokens,
    secrets_of,
)

__all__ = ["refresh", "revoke"]


def refresh(
    server: ServerMetadata,
    client: ClientAuthentication,
    refresh_token: str,
    resource: str,
    *,
    now: float,
    proofs: TokenProofs | None = None,
) -> Flow[Tokens]:
    """Exchange a refresh token for new tokens.

    Args:
        server: The authorization server that issued it.
        client: The client that it was issued to.
        refresh_token: The refresh token.
        resource: The resource that the access token is for.
        now: The current time, in seconds since 1970.
        proofs: Adds proofs of a key.

    Returns:
        The tokens; without a refresh token in them, the old one stays valid.

    Raises:
        AuthError: It is refused: `error` is `invalid_grant` if the user has to log in again.

    Source: https://www.rfc-editor.org/rfc/rfc6749.html#section-6
    """
    form = {"grant_type": "refresh_token", "refresh_token": refresh_token, "resource": resource}
    return (yield from request_tokens(server, client, form, now=now, proofs=proofs))


def revoke(
    server: ServerMetadata,
    client: ClientAuthentication,
    token: str,
    hint: str,
    *,
    now: float,
) -> Flow[bool]:
    """Revoke a token, and return False if the authorization server cannot.

    Args:
        server: The authorization server that issued it.
        client: The client that it was issued to.
        token: The token.
        hint: `refresh_token` or `access_token`.
        now: The current time, in seconds since 1970.

    Raises:
        AuthError: It is refused.

    Source: https://www.rfc-editor.org/rfc/rfc7009.html#section-2.1
    """
    if server.revocation_endpoint is None:
        return False
    form = {"token": token, "token_type_hint": hint}
    answer = yield from post_form(
        server.revocation_endpoint, Purpose.REVOCATION, server.issuer, client, form, now=now
    )
    if answer.status != 200:
        raise error_of(answer, server.issuer, Purpose.REVOCATION, secrets_of(client, form))
    return True
