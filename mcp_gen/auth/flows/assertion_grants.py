"""Grants whose proof is a signed assertion: of a workload, or of the user's identity provider."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from mcp_gen.auth.flows.exchange import Flow, Purpose
from mcp_gen.auth.flows.metadata import ServerMetadata, TokenAnswer, read_document
from mcp_gen.auth.flows.targets import require_safe_url, shown_issuer
from mcp_gen.auth.flows.token_requests import (
    ClientAuthentication,
    TokenProofs,
    Tokens,
    error_of,
    post_form,
    request_tokens,
    secrets_of,
)
from mcp_gen.core.errors import AuthError

__all__ = ["IdentityProvider", "exchange_id_token", "is_compact_jwt", "jwt_bearer"]

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
MAX_ASSERTION_CHARS = 64 * 1024

_COMPACT = re.compile(r"[\w-]+\.[\w-]+\.[\w-]*", re.ASCII)


class IdentityProvider(Struct, frozen=True):
    """The identity provider of an enterprise, as clients use it.

    Args:
        issuer: Its issuer; its token endpoint where the issuer is not known.
        token_endpoint: Its token endpoint.
        client: The client as it is registered there.
    """

    issuer: str
    token_endpoint: str
    client: ClientAuthentication


def is_compact_jwt(text: str) -> bool:
    """Return True if a text has the form of a signed JWT."""
    return len(text) <= MAX_ASSERTION_CHARS and _COMPACT.fullmatch(text) is not None


def jwt_bearer(
    server: ServerMetadata,
    client: ClientAuthentication,
    assertion: str,
    *,
    resource: str,
    scopes: Sequence[str] | None,
    now: float,
    proofs: TokenProofs | None = None,
) -> Flow[Tokens]:
    """Ask for a token with an assertion that the authorization server trusts.

    Args:
        server: The authorization server.
        client: The client.
        assertion: The assertion (JWT).
        resource: The resource that the token is for.
        scopes: The scopes; None to leave the choice to the authorization server.
        now: The current time, in seconds since 1970.
        proofs: Adds proofs of a key; None for bearer tokens.

    Raises:
        AuthError: The authorization server refused.

    Source: https://www.rfc-editor.org/rfc/rfc7523.html#section-2.1
    """
    form = {"grant_type": JWT_BEARER, "assertion": assertion, "resource": resource}
    if scopes:
        form["scope"] = " ".join(scopes)
    return (yield from request_tokens(server, client, form, now=now, proofs=proofs))


def exchange_id_token(
    provider: IdentityProvider,
    id_token: str,
    *,
    audience: str,
    resource: str,
    scopes: Sequence[str] | None,
    now: float,
) -> Flow[str]:
    """Exchange the ID token of a user for an identity assertion (ID-JAG).

    Args:
        provider: The identity provider.
        id_token: The ID token that it issued to the client.
        audience: Issuer of the authorization server that the assertion is for.
        resource: The resource that the token is for in the end.
        scopes: The scopes; None to leave the choice to the identity provider.
        now: The current time, in seconds since 1970.

    Returns:
        The assertion, for `jwt_bearer`.

    Raises:
        AuthError: The identity provider refused, or gave another kind of token.

    Source: https://www.rfc-editor.org/rfc/rfc8693.html#section-2.1
    """
    endpoint = require_safe_url(provider.token_endpoint, "the token endpoint of the IdP")
    form = {
        "grant_type": TOKEN_EXCHANGE,
        "requested_token_type": ID_JAG,
        "subject_token": id_token,
        "subject_token_type": ID_TOKEN,
        "audience": audience,
        "resource": resource,
    }
    if scopes:
        form["scope"] = " ".join(scopes)
    answer = yield from post_form(
        endpoint, Purpose.TOKEN, provider.issuer, provider.client, form, now=now
    )
    if answer.status != 200:
        secrets = secrets_of(provider.client, form)
        raise error_of(answer, provider.issuer, Purpose.TOKEN, secrets)
    found = read_document(answer, TokenAnswer, "the response of the identity provider")
    if found.issued_token_type != ID_JAG or not is_compact_jwt(found.access_token):
        raise AuthError(
            f"the identity provider {shown_issuer(provider.issuer)} gave another token than was "
            f"asked for: expected a JWT of the type {ID_JAG}; ask its operator to allow this client"
        )
    return found.access_token
