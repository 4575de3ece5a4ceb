"""Requests to token endpoints: authentication of the client, proofs, and responses."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol
from urllib.parse import quote_plus, urlencode

import msgspec
from msgspec import Struct

from mcp_gen.auth.flows.exchange import Flow, HttpAnswer, HttpAsk, Purpose
from mcp_gen.auth.flows.metadata import ErrorAnswer, ServerMetadata, TokenAnswer, read_document
from mcp_gen.auth.flows.targets import shown_issuer
from mcp_gen.core.errors import AuthError
from mcp_gen.core.redaction import hide, shown_text

__all__ = [
    "AUTH_METHODS",
    "SECRET_FIELDS",
    "AssertionSigner",
    "ClientAuthentication",
    "TokenProofs",
    "Tokens",
    "choose_auth_method",
    "error_of",
    "post_form",
    "request_tokens",
    "secrets_of",
]

AUTH_METHODS = ("none", "client_secret_basic", "client_secret_post", "private_key_jwt")
"""Methods of authentication at token endpoints."""
SECRET_METHODS = frozenset(("client_secret_basic", "client_secret_post"))
"""Two ways to show one secret."""
SECRET_FIELDS = frozenset(
    (
        "actor_token",
        "assertion",
        "client_assertion",
        "client_secret",
        "code",
        "code_verifier",
        "refresh_token",
        "subject_token",
        "token",
    )
)
"""Fields of forms that nobody else must see."""
ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
TOKEN_TYPES = {"bearer": "Bearer", "dpop": "DPoP"}
MAX_PROOF_ATTEMPTS = 3
"""Number of times that one request is sent because its proof has to be another."""
MAX_LIFETIME_S = 10 * 365 * 24 * 3600.0

_TOKEN = re.compile(r"[!-~]+")
_ERROR = re.compile(r"[!#-\[\]-~]{1,64}")
_UNPRINTED = re.compile(r"[^ -~]|\b[a-z][a-z0-9+.-]*://\S*", re.IGNORECASE)


class AssertionSigner(Protocol):
    """Signs what a client shows instead of a secret (`private_key_jwt`)."""

    @property
    def algorithm(self) -> str:
        """The `alg` of the signature, such as `ES256`."""
        ...

    def sign(self, client_id: str, audience: str, now: float) -> str:
        """Return a signed assertion (JWT) that is used once.

        Args:
            client_id: Its `iss` and `sub`.
            audience: Its `aud`: the issuer.
            now: The current time, in seconds since 1970.
        """
        ...


class TokenProofs(Protocol):
    """Proves at the token endpoint that the client has a key (DPoP)."""

    @property
    def key(self) -> str:
        """The private key in a form that is stored with the tokens that are bound to it."""
        ...

    def use_key(self, key: str) -> None:
        """Prove another key from now on: that of tokens that were stored.

        Args:
            key: What `key` was then.
        """
        ...

    def headers(self, method: str, url: str) -> Mapping[str, str]:
        """Return the headers of a request that is about to be sent, names in lower case."""
        ...

    def answered(self, url: str, answer: HttpAnswer) -> bool:
        """Take notice of a response; return True if the request has to be sent once more."""
        ...

    @property
    def algorithm(self) -> str:
        """The algorithm of the proofs, such as `ES256`."""
        ...


class ClientAuthentication(Struct, frozen=True):
    """Authentication of a client at an authorization server. Its repr has no secret.

    Args:
        client_id: The client.
        method: One of `AUTH_METHODS`.
        secret: Its secret, for the methods that need one.
        signer: Signs assertions, for `private_key_jwt`.
    """

    client_id: str
    method: str = "none"
    secret: str | None = None
    signer: AssertionSigner | None = None

    def __repr__(self) -> str:
        return f"ClientAuthentication(client_id={self.client_id!r}, method={self.method!r})"


class Tokens(Struct, frozen=True):
    """Tokens that an authorization server issued. Its repr has no secret.

    Args:
        access_token: The access token.
        token_type: `Bearer` or `DPoP`.
        expires_at: End of the access token, in seconds since 1970; None if it is not told.
        refresh_token: The refresh token; None if there is none.
        scopes: Scopes that are granted; None if it is not told: those that were asked for.
        id_token: The ID token; None if there is none.
    """

    access_token: str
    token_type: str = "Bearer"
    expires_at: float | None = None
    refresh_token: str | None = None
    scopes: tuple[str, ...] | None = None
    id_token: str | None = None

    def __repr__(self) -> str:
        return f"Tokens(token_type={self.token_type!r}, scopes={self.scopes!r})"


def choose_auth_method(supported: Sequence[str] | None, usable: Sequence[str]) -> str | None:
    """Return the first usable method that the server supports; None if there is none.

    A server that does not say what it supports is taken to support all of them. Of the two ways to
    show a secret it is the one that the server lists first: servers made with the official Python
    SDK list both, and understand the first alone.

    Args:
        supported: `token_endpoint_auth_methods_supported` of the metadata; None if absent.
        usable: What the client can do, the preferred one first.
    """
    if supported is None:
        return next(iter(usable), None)
    both = [one for one in supported if one in SECRET_METHODS]
    found = next((one for one in usable if one in supported), None)
    if found in SECRET_METHODS:
        return next(one for one in both if one in usable)
    return found


def request_tokens(
    server: ServerMetadata,
    client: ClientAuthentication,
    form: Mapping[str, str],
    *,
    now: float,
    proofs: TokenProofs | None = None,
) -> Flow[Tokens]:
    """Ask the token endpoint for tokens.

    Args:
        server: The authorization server.
        client: The client.
        form: Parameters of the grant; the authentication is added.
        now: The current time, in seconds since 1970.
        proofs: Adds proofs of a key; None for bearer tokens.

    Returns:
        The tokens; their type is one that the client can use.

    Raises:
        AuthError: The authorization server refused; `error` is its code.
    """
    if server.token_endpoint is None:
        raise AuthError(
            f"the authorization server {shown_issuer(server.issuer)} has no token endpoint; ask "
            "its operator"
        )
    if proofs is not None:
        _check_algorithm(server, proofs.algorithm)
    answer = yield from post_form(
        server.token_endpoint, Purpose.TOKEN, server.issuer, client, form, now=now, proofs=proofs
    )
    if answer.status != 200:
        raise error_of(answer, server.issuer, Purpose.TOKEN, secrets_of(client, form))
    found = read_document(answer, TokenAnswer, "the response of the token endpoint")
    tokens = _tokens(found, now, proofs is not None)
    if proofs is not None and tokens.token_type == "Bearer" and _binds_tokens(server):
        raise AuthError(
            f"the authorization server {shown_issuer(server.issuer)} issued a bearer token: "
            "expected one that is bound to the key of the DPoP proof, as its metadata promises; "
            "ask its operator"
        )
    return tokens


def post_form(
    url: str,
    purpose: Purpose,
    issuer: str,
    client: ClientAuthentication,
    form: Mapping[str, str],
    *,
    now: float,
    proofs: TokenProofs | None = None,
) -> Flow[HttpAnswer]:
    """Send a form to an endpoint of an authorization server, as a client.

    Args:
        url: The endpoint.
        purpose: What the request is for.
        issuer: The authorization server, which is the audience of assertions.
        client: The client.
        form: The form; the authentication is added.
        now: The current time, in seconds since 1970.
        proofs: Adds proofs of a key.
    """
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    for _ in range(MAX_PROOF_ATTEMPTS - 1):
        # Assertions and proofs are used once: each attempt has its own.
        ask = _authenticated(HttpAsk("POST", url, purpose, headers), client, form, issuer, now)
        answer = yield _proven(ask, proofs)
        if proofs is None or not proofs.answered(url, answer):
            return answer
    ask = _authenticated(HttpAsk("POST", url, purpose, headers), client, form, issuer, now)
    return (yield _proven(ask, proofs))


def secrets_of(client: ClientAuthentication, form: Mapping[str, str]) -> set[str]:
    """Return the secrets of a request, which its error must not repeat.

    Args:
        client: The client.
        form: The form, without the authentication.
    """
    return {form[name] for name in SECRET_FIELDS & form.keys()} | {client.secret or ""}


def error_of(
    answer: HttpAnswer, issuer: str, purpose: Purpose, secrets: Collection[str] = ()
) -> AuthError:
    """Return the error of an authorization server's response.

    Args:
        answer: The response.
        issuer: The authorization server.
        purpose: What was asked for.
        secrets: Secrets of the request.

    Source: https://www.rfc-editor.org/rfc/rfc6749.html#section-5.2
    """
    try:
        said = msgspec.json.decode(answer.body, type=ErrorAnswer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        said = ErrorAnswer()
    code, description = said.error, said.error_description
    if not _ERROR.fullmatch(code):
        return AuthError(
            f"the authorization server {shown_issuer(issuer)} failed at {purpose.value}: it "
            f"answered with status {answer.status} and no error code; try again later, or ask "
            "its operator"
        )
    told = plain(hide(code, secrets))
    shown = f" ({plain(hide(description, secrets))})" if description else ""
    hint = HINTS.get(code, "ask its operator")
    return AuthError(
        f"the authorization server {shown_issuer(issuer)} refused {purpose.value}: {told}{shown}; "
        f"{hint}",
        code if told == code else None,
    )


HINTS = {
    "invalid_client": "check the client's id, secret and `token_endpoint_auth_method`",
    "invalid_grant": "log in again",
    "unauthorized_client": "register the client for this grant",
    "unsupported_grant_type": "the server cannot be used with this kind of authorization",
    "invalid_scope": "ask for other scopes with `scopes=`",
    "invalid_target": "the server's `resource` is not known there; ask its operator",
    "invalid_redirect_uri": "register a redirect URI that it allows, and give it as "
    "`redirect_uri=`",
    "invalid_client_metadata": "register a client by hand, and give its `client_id`",
    "access_denied": "the user or a policy declined; try again",
}
"""Next step by error code."""


def plain(text: str) -> str:
    """Return a text of a peer for one line: no URLs, no control characters, no random texts."""
    return shown_text(" ".join(_UNPRINTED.sub(" ", text[:200]).split()))


def _authenticated(
    ask: HttpAsk, client: ClientAuthentication, form: Mapping[str, str], issuer: str, now: float
) -> HttpAsk:
    fields, headers = dict(form), dict(ask.headers)
    if client.method == "client_secret_basic":
        pair = f"{quote_plus(client.client_id)}:{quote_plus(client.secret or '')}"
        headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    else:
        fields["client_id"] = client.client_id
    if client.method == "client_secret_post":
        fields["client_secret"] = client.secret or ""
    if client.method == "private_key_jwt":
        if client.signer is None:
            raise AuthError(
                f"the authorization server {shown_issuer(issuer)} wants an assertion that is "
                "signed (private_key_jwt): give the key of the client"
            )
        fields["client_assertion_type"] = ASSERTION_TYPE
        fields["client_assertion"] = client.signer.sign(client.client_id, issuer, now)
    body = urlencode(fields).encode()
    return msgspec.structs.replace(ask, headers=headers, body=body)


def _binds_tokens(server: ServerMetadata) -> bool:
    return server.dpop_signing_alg_values_supported is not None


def _check_algorithm(server: ServerMetadata, algorithm: str) -> None:
    supported = server.dpop_signing_alg_values_supported
    if supported is not None and algorithm not in supported:
        known = [one for one in supported if one.isalnum()][:8]
        raise AuthError(
            f"the authorization server {shown_issuer(server.issuer)} does not take DPoP proofs "
            f"signed with {algorithm}: expected one of {', '.join(known)}; use `algorithm=`"
        )


def _proven(ask: HttpAsk, proofs: TokenProofs | None) -> HttpAsk:
    if proofs is None:
        return ask
    headers = {**ask.headers, **proofs.headers(ask.method, ask.url)}
    return msgspec.structs.replace(ask, headers=headers)


def _tokens(found: TokenAnswer, now: float, proven: bool) -> Tokens:
    kind = TOKEN_TYPES.get(found.token_type.lower())
    if kind is None or (kind == "DPoP" and not proven):
        raise AuthError(
            f"the token endpoint issued a token of the type {plain(found.token_type)!r}: expected "
            f"{'DPoP or ' * proven}Bearer; use `DPoP(...)` if the server asks for it"
        )
    if not _TOKEN.fullmatch(found.access_token):
        raise AuthError(
            "the token endpoint issued a token that no header can carry: expected printable "
            "ASCII; ask its operator"
        )
    return Tokens(
        access_token=found.access_token,
        token_type=kind,
        expires_at=_expiry(found.expires_in, now),
        refresh_token=found.refresh_token or None,
        scopes=None if found.scope is None else tuple(dict.fromkeys(found.scope.split())),
        id_token=found.id_token,
    )


def _expiry(lifetime: float | str | None, now: float) -> float | None:
    try:
        seconds = float(lifetime) if lifetime is not None else None
    except ValueError:
        return None
    if seconds is None or not seconds < MAX_LIFETIME_S:
        return None
    return now + max(seconds, 0.0)
