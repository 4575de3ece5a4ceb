"""Authorization code grant with PKCE: the request, the way back, and the code for tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit

from msgspec import Struct

from mcp_gen.auth.flows.discovery import Discovered
from mcp_gen.auth.flows.exchange import Flow
from mcp_gen.auth.flows.metadata import ServerMetadata
from mcp_gen.auth.flows.registration import RegisteredClient
from mcp_gen.auth.flows.scopes import OFFLINE
from mcp_gen.auth.flows.targets import require_safe_url, shown_issuer
from mcp_gen.auth.flows.token_requests import (
    HINTS,
    AssertionSigner,
    TokenProofs,
    Tokens,
    plain,
    request_tokens,
)
from mcp_gen.core.errors import AuthError
from mcp_gen.core.redaction import hide

__all__ = [
    "AuthorizationRequest",
    "Pending",
    "begin_authorization",
    "code_challenge",
    "redeem",
    "require_pkce",
]

METHOD = "S256"
MAX_RESPONSE_CHARS = 64 * 1024
MAX_PARAMS = 50


class AuthorizationRequest(Struct, frozen=True, kw_only=True):
    """Authorization request, and all that a user has to see before a browser opens `url`.

    Args:
        issuer: The authorization server, which asks the user to log in.
        resource: The server that the token is for.
        scopes: What the client may do there; None if the authorization server decides.
        client_name: Name of the client.
        client_id: Id of the client.
        redirect_uri: Where the user comes back to.
        url: The address to open. Use a browser, never a shell.
    """

    issuer: str
    resource: str
    scopes: tuple[str, ...] | None
    client_name: str
    client_id: str
    redirect_uri: str
    url: str

    def __repr__(self) -> str:
        return (
            f"AuthorizationRequest(issuer={self.issuer!r}, resource={self.resource!r}, "
            f"scopes={self.scopes!r}, client_name={self.client_name!r})"
        )


class Pending(Struct, frozen=True, kw_only=True):
    """An authorization that was begun: what its response is checked against."""

    request: AuthorizationRequest
    server: ServerMetadata
    client: RegisteredClient
    state: str
    verifier: str

    def __repr__(self) -> str:
        return f"Pending({self.request!r})"


def code_challenge(verifier: str) -> str:
    """Return the S256 challenge of a verifier.

    Source: https://www.rfc-editor.org/rfc/rfc7636.html#section-4.2
    """
    digest = hashlib.sha256(verifier.encode("ascii")).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def require_pkce(server: ServerMetadata) -> None:
    """Check that an authorization server does PKCE with S256.

    Raises:
        AuthError: It does not say so.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/security-considerations#authorization-code-protection
    """
    if METHOD not in (server.code_challenge_methods_supported or ()):
        raise AuthError(
            f"the authorization server {shown_issuer(server.issuer)} does not say that it supports "
            f"PKCE: expected {METHOD} in its `code_challenge_methods_supported`; its operator has "
            "to turn it on"
        )


def begin_authorization(
    discovered: Discovered,
    client: RegisteredClient,
    *,
    client_name: str,
    redirect_uri: str,
    scopes: tuple[str, ...] | None,
    state: str,
    verifier: str,
    more: Mapping[str, str] | None = None,
) -> Pending:
    """Return the request that a user's browser is sent to, and what its response needs.

    Args:
        discovered: The authorization server, and the resource.
        client: The client.
        client_name: Its name, for users.
        redirect_uri: Where the user comes back to.
        scopes: Scopes to ask for; None leaves them out.
        state: A random text that is used once.
        verifier: A random text that is used once; its hash is sent.
        more: More parameters; they replace none.

    Raises:
        AuthError: The authorization server cannot be used.

    Source: https://www.rfc-editor.org/rfc/rfc6749.html#section-4.1.1
    """
    server = discovered.server
    require_pkce(server)
    if server.authorization_endpoint is None:
        raise AuthError(
            f"the authorization server {shown_issuer(server.issuer)} lets no users log in: it has "
            "no authorization endpoint; use client credentials"
        )
    endpoint = require_safe_url(server.authorization_endpoint, "the authorization endpoint")
    own = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": code_challenge(verifier),
        "code_challenge_method": METHOD,
        "resource": discovered.resource,
    }
    if scopes:
        own["scope"] = " ".join(scopes)
    extra = dict(more or {})
    if OFFLINE in (scopes or ()) and "consent" in (server.prompt_values_supported or ("consent",)):
        # Servers of OpenID Connect leave the scope out otherwise.
        extra.setdefault("prompt", "consent")
    joint = "&" if urlsplit(endpoint).query else "?"
    return Pending(
        request=AuthorizationRequest(
            issuer=server.issuer,
            resource=discovered.resource,
            scopes=scopes,
            client_name=client_name,
            client_id=client.client_id,
            redirect_uri=redirect_uri,
            url=f"{endpoint.removesuffix('?')}{joint}{urlencode({**extra, **own})}",
        ),
        server=server,
        client=client,
        state=state,
        verifier=verifier,
    )


def redeem(
    pending: Pending,
    redirected: str,
    *,
    now: float,
    signer: AssertionSigner | None = None,
    proofs: TokenProofs | None = None,
) -> Flow[Tokens]:
    """Check the response to an authorization request, and exchange its code for tokens.

    Args:
        pending: The request.
        redirected: The URL that the browser came back to.
        now: The current time, in seconds since 1970.
        signer: Signs assertions, for `private_key_jwt`.
        proofs: Adds proofs of a key.

    Raises:
        AuthError: The response is not one to this request, or the user declined. Nothing was sent
            to the token endpoint then.

    Source: https://www.rfc-editor.org/rfc/rfc9207.html#section-2.4
    """
    code = code_of(pending, redirected)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": pending.request.redirect_uri,
        "code_verifier": pending.verifier,
        "resource": pending.request.resource,
    }
    client = pending.client.authentication(signer)
    return (yield from request_tokens(pending.server, client, form, now=now, proofs=proofs))


def code_of(pending: Pending, redirected: str) -> str:
    """Return the code of a response that was checked: place, state, issuer, then errors."""
    params = _params(pending.request.redirect_uri, redirected)
    if not hmac.compare_digest(params.get("state", "").encode(), pending.state.encode()):
        raise AuthError(
            "the response to the login is not the one to this request: its `state` is another; "
            "log in again, and use the newest link"
        )
    _check_issuer(pending.server, params.get("iss"))
    if "error" in params:
        raise _declined(pending.server, params)
    if not params.get("code"):
        raise AuthError(
            f"the authorization server {shown_issuer(pending.server.issuer)} sent the user back "
            "without a code; log in again"
        )
    return params["code"]


def _params(redirect_uri: str, redirected: str) -> dict[str, str]:
    expected = "expected the whole address that begins with the redirect URI "
    place, _, query = redirected.strip().partition("#")[0].partition("?")
    if place != redirect_uri.partition("?")[0] or len(redirected) > MAX_RESPONSE_CHARS:
        raise AuthError(
            f"the response to the login: {expected}{shown_issuer(redirect_uri)}; log in again, and "
            "copy the address of the last page"
        )
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_PARAMS)
    except ValueError:
        raise AuthError(
            f"the response to the login: expected at most {MAX_PARAMS} parameters; log in again"
        ) from None
    params = dict(pairs)
    if len(params) != len(pairs):
        raise AuthError(
            "the response to the login has a parameter twice: none of it can be trusted; log in "
            "again"
        )
    return params


def _check_issuer(server: ServerMetadata, iss: str | None) -> None:
    """Refuse a response of another authorization server; nothing of the response is shown."""
    if iss is None and not server.authorization_response_iss_parameter_supported:
        return
    if iss != server.issuer:
        came = "none" if iss is None else "another"
        raise AuthError(
            "the response to the login cannot be trusted: expected `iss` to be "
            f"{shown_issuer(server.issuer)}, in every character, got {came}; log in again, and if "
            "it stays so, tell the server's operator"
        )


def _declined(server: ServerMetadata, params: Mapping[str, str]) -> AuthError:
    secrets = {params.get("state", ""), params.get("code", "")}
    code = plain(hide(params["error"], secrets))[:64]
    description = plain(hide(params.get("error_description", ""), secrets))
    return AuthError(
        f"the authorization server {shown_issuer(server.issuer)} did not authorize the client: "
        f"{code}{f' ({description})' if description else ''}; {HINTS.get(code, 'log in again')}",
        code,
    )
