"""Client ids: registered by hand, by metadata document, or dynamically."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from mcp_gen.auth.flows.exchange import Flow, HttpAsk, Purpose
from mcp_gen.auth.flows.metadata import ClientInformation, ServerMetadata, read_document
from mcp_gen.auth.flows.targets import shown_issuer
from mcp_gen.auth.flows.token_requests import (
    AUTH_METHODS,
    AssertionSigner,
    ClientAuthentication,
    choose_auth_method,
    error_of,
)
from mcp_gen.core.errors import AuthError
from mcp_gen.core.transport.addresses import is_loopback

__all__ = ["RegisteredClient", "RegistrationSettings", "is_metadata_url", "obtain_client"]

GRANTS = ("authorization_code", "refresh_token")
REGISTERED = (200, 201)
SCOPE_REFUSED = frozenset(("invalid_client_metadata", "invalid_scope", "insufficient_scope"))
"""Errors of a registration that may be about its scopes; the last one is Keycloak's."""


class RegistrationSettings(Struct, frozen=True, kw_only=True):
    """Settings of a client, for its registration. Its repr has no secret.

    Args:
        name: Name that users see.
        redirect_uri: Where users come back to.
        client_id: Client that was registered by hand; None for none.
        client_secret: Its secret; None for none.
        metadata_url: URL of a client id metadata document; None for none.
        auth_method: Authentication at the token endpoint; None lets the metadata decide.
        signer: Signs assertions; None if the client has no key.
        more: More members of a dynamic registration, such as `client_uri`.
    """

    name: str
    redirect_uri: str
    client_id: str | None = None
    client_secret: str | None = None
    metadata_url: str | None = None
    auth_method: str | None = None
    signer: AssertionSigner | None = None
    more: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        return f"RegistrationSettings(name={self.name!r}, client_id={self.client_id!r})"


class RegisteredClient(Struct, frozen=True, kw_only=True):
    """A client at one authorization server. Its repr has no secret.

    Args:
        client_id: Its id.
        method: Its authentication at the token endpoint.
        secret: Its secret; None for none.
        secret_expires_at: End of the secret, in seconds since 1970; None for no end.
        redirect_uris: Redirect URIs that were registered; empty if it was not registered here.
        dynamic: True if it was registered dynamically.
    """

    client_id: str
    method: str = "none"
    secret: str | None = None
    secret_expires_at: float | None = None
    redirect_uris: tuple[str, ...] = ()
    dynamic: bool = False

    def __repr__(self) -> str:
        return f"RegisteredClient(client_id={self.client_id!r}, method={self.method!r})"

    def authentication(self, signer: AssertionSigner | None = None) -> ClientAuthentication:
        """Return how the client shows who it is."""
        return ClientAuthentication(self.client_id, self.method, self.secret, signer)

    def serves(self, settings: RegistrationSettings, now: float) -> bool:
        """Return True if a dynamic registration can still be used."""
        ended = self.secret_expires_at is not None and self.secret_expires_at <= now
        return self.dynamic and not ended and settings.redirect_uri in self.redirect_uris


def is_metadata_url(url: str) -> bool:
    """Return True if a URL can be that of a client id metadata document.

    Source: https://www.ietf.org/archive/id/draft-ietf-oauth-client-id-metadata-document-00.html#section-3
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    plain = "@" not in parts.netloc and "#" not in url and url.isascii()
    dots = {".", ".."} & set(parts.path.split("/"))
    return (
        parts.scheme == "https"
        and bool(parts.hostname)
        and len(parts.path) > 1
        and plain
        and not dots
    )


def obtain_client(
    server: ServerMetadata,
    settings: RegistrationSettings,
    *,
    scopes: Collection[str] | None,
    known: RegisteredClient | None,
    now: float,
) -> Flow[RegisteredClient]:
    """Return a client of an authorization server; register one if there is no other way.

    Args:
        server: The authorization server.
        settings: What the program says of its client.
        scopes: Scopes that a new registration names.
        known: A registration of before, at the same authorization server.
        now: The current time, in seconds since 1970.

    Raises:
        AuthError: There is no way to have one, or the registration was refused.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration
    """
    if settings.client_id is not None:
        return RegisteredClient(
            client_id=settings.client_id,
            method=_own_method(server, settings),
            secret=settings.client_secret,
        )
    if known is not None and known.serves(settings, now):
        return known
    if settings.metadata_url is not None and server.client_id_metadata_document_supported:
        return RegisteredClient(
            client_id=settings.metadata_url, method=_own_method(server, settings)
        )
    if server.registration_endpoint is None:
        raise AuthError(
            f"the authorization server {shown_issuer(server.issuer)} registers no clients by "
            "itself: register one there by hand, and give its `client_id`"
        )
    return (yield from _register(server, server.registration_endpoint, settings, scopes))


def _own_method(server: ServerMetadata, settings: RegistrationSettings) -> str:
    """Return the method of a client that the authorization server knows by other means."""
    if settings.auth_method is not None:
        return settings.auth_method
    supported = server.token_endpoint_auth_methods_supported
    usable = ["private_key_jwt"] if settings.signer is not None else []
    if settings.client_secret is not None:
        usable += ["client_secret_basic", "client_secret_post"]
    # Servers seldom list `none`, whatever they do with public clients.
    return choose_auth_method(supported, usable) or (usable[0] if usable else "none")


def _register(
    server: ServerMetadata,
    endpoint: str,
    settings: RegistrationSettings,
    scopes: Collection[str] | None,
) -> Flow[RegisteredClient]:
    wish: dict[str, Any] = {
        "client_name": settings.name,
        "redirect_uris": [settings.redirect_uri],
        "grant_types": _grants(server.grant_types_supported),
        "response_types": ["code"],
        "token_endpoint_auth_method": _wanted_method(server, settings),
        "application_type": _application_type(settings.redirect_uri),
    }
    answer = yield _request(endpoint, wish, scopes, settings.more)
    if answer.status not in REGISTERED:
        error = error_of(answer, server.issuer, Purpose.REGISTRATION)
        fewer = [one for one in scopes or () if one in (server.scopes_supported or ())]
        is_all = len(fewer) == len(scopes or ()) or "scope" in settings.more
        if is_all or error.error not in SCOPE_REFUSED:
            raise error
        # Servers that know the scopes of a resource by the resource alone register none of them.
        answer = yield _request(endpoint, wish, fewer, settings.more)
        if answer.status not in REGISTERED:
            raise error_of(answer, server.issuer, Purpose.REGISTRATION)
    found = read_document(answer, ClientInformation, "the response of the registration")
    if found.redirect_uris is not None and settings.redirect_uri not in found.redirect_uris:
        # The user would be sent to an error page, or somebody else would get the code.
        raise AuthError(
            f"the authorization server {shown_issuer(server.issuer)} registered other redirect "
            f"URIs than it was asked for: expected {shown_issuer(settings.redirect_uri)}; register "
            "a client by hand, and give its `client_id`"
        )
    return RegisteredClient(
        client_id=_client_id(found),
        method=_given_method(found),
        secret=found.client_secret or None,
        # 0 is how the registration says "never".
        secret_expires_at=(found.client_secret_expires_at or None),
        redirect_uris=(settings.redirect_uri,),
        dynamic=True,
    )


def _request(
    endpoint: str, wish: Mapping[str, Any], scopes: Collection[str] | None, more: Mapping[str, Any]
) -> HttpAsk:
    wanted = {"scope": " ".join(scopes)} if scopes else {}
    headers = {"content-type": "application/json", "accept": "application/json"}
    body = msgspec.json.encode({**wish, **wanted, **more})
    return HttpAsk("POST", endpoint, Purpose.REGISTRATION, headers, body)


def _grants(supported: Sequence[str] | None) -> list[str]:
    return [one for one in GRANTS if one == GRANTS[0] or supported is None or one in supported]


def _wanted_method(server: ServerMetadata, settings: RegistrationSettings) -> str:
    if settings.auth_method is not None:
        return settings.auth_method
    usable = ["none", "client_secret_basic", "client_secret_post"]
    if settings.signer is not None:
        usable.insert(0, "private_key_jwt")
    # What a server without the member supports: RFC 8414, section 2.
    supported = server.token_endpoint_auth_methods_supported or ["client_secret_basic"]
    if (found := choose_auth_method(supported, usable)) is None:
        raise AuthError(
            f"the authorization server {shown_issuer(server.issuer)} wants a client with a key or "
            f"certificate: expected one of {', '.join(usable)} in its "
            "`token_endpoint_auth_methods_supported`; register one there by hand, and give its "
            "`client_id`"
        )
    return found


def _application_type(redirect_uri: str) -> str:
    parts = urlsplit(redirect_uri)
    remote = parts.scheme == "https" and not is_loopback(parts.hostname or "")
    return "web" if remote else "native"


def _client_id(found: ClientInformation) -> str:
    if not found.client_id or not found.client_id.isprintable():
        raise AuthError(
            "the response of the registration: expected a `client_id` of printable characters; "
            "ask the operator of the authorization server"
        )
    return found.client_id


def _given_method(found: ClientInformation) -> str:
    default = "client_secret_basic" if found.client_secret else "none"
    method = found.token_endpoint_auth_method or default
    if method not in AUTH_METHODS or (
        method.startswith("client_secret") and not found.client_secret
    ):
        raise AuthError(
            "the authorization server registered the client for an authentication that it cannot "
            f"do: expected one of {', '.join(AUTH_METHODS)}, with a secret where it needs one; "
            "register a client by hand, and give its `client_id`"
        )
    return method
