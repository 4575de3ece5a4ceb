"""Discovery: from a server's URL to its authorization server and that server's endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct

from mcp_gen.auth.flows.challenges import BearerChallenge, bearer_challenge
from mcp_gen.auth.flows.exchange import Flow, HttpAnswer, HttpAsk, Purpose
from mcp_gen.auth.flows.metadata import ResourceMetadata, ServerMetadata, read_document
from mcp_gen.auth.flows.targets import (
    covers,
    origin_of,
    require_safe_url,
    resource_of,
    shown_issuer,
    well_known,
)
from mcp_gen.core.errors import AuthError, TransportError
from mcp_gen.core.revisions import with_authorization_at_origin

__all__ = [
    "Discovered",
    "Wanted",
    "challenge_of",
    "discover",
    "discover_at_origin",
    "discover_resource",
    "discover_server",
    "server_metadata_urls",
]

T = TypeVar("T")

MAX_SERVERS = 3
"""Number of authorization servers of one resource that are tried."""
PROBE = b'{"jsonrpc":"2.0","id":0,"method":"ping"}'
"""A request without effect, which is refused without a token."""
RESOURCE = "oauth-protected-resource"
SERVERS = ("oauth-authorization-server", "openid-configuration")
DEFAULT_PATHS = {"authorization": "/authorize", "token": "/token", "registration": "/register"}
"""Endpoints of an authorization server without metadata, at the origin of the server.

https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#fallbacks-for-servers-without-metadata-discovery
"""


class Wanted(Struct, frozen=True):
    """Terms of a discovery.

    Args:
        url: The URL of the server.
        challenge: What its refusal said.
        issuer: The authorization server that has to be among those of the resource; None for any.
        known_issuer: The authorization server of credentials that are stored; preferred.
        anew: True to use no cached documents: what they led to was refused.
        legacy: True to search at the origin of a server that has no metadata.
    """

    url: str
    challenge: BearerChallenge = BearerChallenge()
    issuer: str | None = None
    known_issuer: str | None = None
    anew: bool = False
    legacy: bool = True


class Discovered(Struct, frozen=True):
    """Result of a discovery.

    Args:
        resource: The resource identifier to ask tokens for.
        server: The metadata of the authorization server.
        scopes_supported: Scopes of the resource; None if they are not told.
        at_origin: True if the authorization server was found at the origin of the server, which
            has no metadata.
    """

    resource: str
    server: ServerMetadata
    scopes_supported: tuple[str, ...] | None = None
    at_origin: bool = False


def discover(wanted: Wanted) -> Flow[Discovered]:
    """Find the authorization server of a server, and its endpoints.

    Raises:
        AuthError: There is none, its metadata cannot be used, or it is not the expected one.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
    """
    told = wanted.challenge.resource_metadata
    resource = yield from discover_resource(wanted.url, told, anew=wanted.anew)
    if resource is None:
        return (yield from discover_at_origin(wanted))
    server = yield from _one_of(_issuers(resource, wanted))
    scopes = resource.scopes_supported
    return Discovered(resource.resource, server, None if scopes is None else tuple(scopes))


def challenge_of(url: str) -> Flow[BearerChallenge]:
    """Return the challenge of a server to a request without a token.

    Args:
        url: The URL of the server.
    """
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    answer = yield HttpAsk("POST", url, Purpose.CHALLENGE, headers, PROBE)
    return bearer_challenge(answer.headers) if answer.status == 401 else BearerChallenge()


def discover_resource(
    url: str, told: str | None, *, anew: bool = False
) -> Flow[ResourceMetadata | None]:
    """Return the metadata of a server; None if it has none.

    Args:
        url: The URL of the server.
        told: URL of the metadata in its challenge; None if it was not told.
        anew: True to use no cached document.

    Raises:
        AuthError: The metadata is that of another resource, or cannot be read.

    Source: https://www.rfc-editor.org/rfc/rfc9728.html#section-3
    """
    candidates = [well_known(resource_of(url), RESOURCE), well_known(url, RESOURCE, path=False)]
    if told is not None:
        candidates.insert(0, require_safe_url(told, "the `resource_metadata` of the challenge"))
    complaint: AuthError | None = None
    for candidate in dict.fromkeys(candidates):
        headers = {"cache-control": "no-cache"} if anew else None
        answer = yield _get(candidate, Purpose.RESOURCE_METADATA, headers)
        try:
            document = _document(answer, ResourceMetadata, Purpose.RESOURCE_METADATA)
        except AuthError as error:
            # Such as the start page of a site that has one for every path.
            complaint = complaint or error
            continue
        if document is not None:
            return _about(document, url)
    if complaint is not None:
        raise complaint
    return None


def discover_server(issuer: str) -> Flow[ServerMetadata]:
    """Return the metadata of an authorization server.

    Args:
        issuer: Its issuer, to which the `issuer` of the metadata has to be equal.

    Raises:
        AuthError: There is no metadata of that issuer.

    Source: https://www.rfc-editor.org/rfc/rfc8414.html#section-3.3
    """
    require_safe_url(issuer, "the authorization server that the resource names")
    complaint: AuthError | None = None
    for candidate in server_metadata_urls(issuer):
        answer = yield _get(candidate, Purpose.SERVER_METADATA)
        try:
            found = _document(answer, ServerMetadata, Purpose.SERVER_METADATA)
            if found is not None:
                return _checked(found, issuer)
        except AuthError as error:
            complaint = complaint or error
    if complaint is not None:
        raise complaint
    raise AuthError(
        f"the authorization server {shown_issuer(issuer)} has no metadata: expected it at "
        f"/.well-known/{SERVERS[0]} or /.well-known/{SERVERS[1]}; check `authorization_servers` "
        "of the resource"
    )


def _about(document: ResourceMetadata, url: str) -> ResourceMetadata:
    if not covers(document.resource, url):
        raise AuthError(
            "the metadata of the server is about another resource: expected "
            f"{shown_issuer(resource_of(url))} or a path above it, got "
            f"{shown_issuer(document.resource)}; its operator has to correct `resource`"
        )
    return document


def _issuers(resource: ResourceMetadata, wanted: Wanted) -> list[str]:
    """Return the issuers to try in turn."""
    issuers = resource.authorization_servers or []
    if not issuers:
        raise AuthError(
            "the metadata of the server names no authorization server; its operator has to fill "
            "in `authorization_servers`"
        )
    if wanted.issuer is None:
        known = [one for one in issuers if one == wanted.known_issuer]
        return known or list(dict.fromkeys(issuers))
    if wanted.issuer not in issuers:
        raise AuthError(
            f"the server has another authorization server: expected {shown_issuer(wanted.issuer)}, "
            f"which the client is registered with, got {', '.join(map(shown_issuer, issuers[:3]))};"
            " register a client there, and give its `client_id` and `issuer`"
        )
    return [wanted.issuer]


def _one_of(issuers: list[str]) -> Flow[ServerMetadata]:
    *first, last = issuers[:MAX_SERVERS]
    for issuer in first:
        with suppress(AuthError, TransportError):
            return (yield from discover_server(issuer))
    return (yield from discover_server(last))


def discover_at_origin(wanted: Wanted) -> Flow[Discovered]:
    """Find the authorization server as clients did before resources had metadata: at the origin.

    Raises:
        AuthError: Its metadata is that of another origin, or it is not the expected one.

    Source: https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization#authorization-base-url
    """
    base = _base(wanted.url)
    version = with_authorization_at_origin()
    if version is None or not wanted.legacy:
        raise AuthError(
            f"the server {shown_issuer(wanted.url)} asks for a token and does not say where to "
            f"have it: expected /.well-known/{RESOURCE} or `resource_metadata` in its challenge; "
            "ask its operator"
        )
    headers = {"mcp-protocol-version": version}
    answer = yield _get(well_known(base, SERVERS[0]), Purpose.SERVER_METADATA, headers)
    server = _document(answer, ServerMetadata, Purpose.SERVER_METADATA)
    if server is None:
        server = _default_server(base)
    elif origin_of(server.issuer) != origin_of(base):
        raise _mismatch(base, server.issuer)
    if wanted.issuer not in (None, server.issuer):
        raise AuthError(
            f"the server has another authorization server: expected {shown_issuer(wanted.issuer)},"
            f" got {shown_issuer(server.issuer)}; register a client there, and give its "
            "`client_id` and `issuer`"
        )
    checked = _with_safe_endpoints(server)
    return Discovered(resource_of(wanted.url), checked, at_origin=True)


def _default_server(base: str) -> ServerMetadata:
    return ServerMetadata(
        issuer=base,
        authorization_endpoint=base + DEFAULT_PATHS["authorization"],
        token_endpoint=base + DEFAULT_PATHS["token"],
        registration_endpoint=base + DEFAULT_PATHS["registration"],
        # Nothing can be known; the code challenge is sent whatever the server makes of it.
        code_challenge_methods_supported=["S256"],
    )


def server_metadata_urls(issuer: str) -> list[str]:
    """Return the URLs of the metadata of an authorization server, in the order to try them.

    Args:
        issuer: Its issuer.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery
    """
    # Without a path, the last two are one.
    appended = f"{issuer.rstrip('/')}/.well-known/{SERVERS[1]}"
    return list(dict.fromkeys([*(well_known(issuer, suffix) for suffix in SERVERS), appended]))


def _checked(found: ServerMetadata, issuer: str) -> ServerMetadata:
    if found.issuer != issuer:
        raise _mismatch(issuer, found.issuer)
    return _with_safe_endpoints(found)


def _mismatch(expected: str, got: str) -> AuthError:
    return AuthError(
        "the metadata of the authorization server is that of another one: expected the issuer "
        f"{shown_issuer(expected)}, got {shown_issuer(got)}; both have to be equal in every "
        "character, which is for their operators to correct"
    )


def _with_safe_endpoints(found: ServerMetadata) -> ServerMetadata:
    for name in ("authorization", "token", "registration", "revocation"):
        endpoint: str | None = getattr(found, f"{name}_endpoint")
        if endpoint is not None:
            require_safe_url(endpoint, f"the {name} endpoint of {shown_issuer(found.issuer)}")
    return found


def _base(url: str) -> str:
    whole = resource_of(url)
    return "/".join(whole.split("/", 3)[:3])


def _get(url: str, purpose: Purpose, headers: Mapping[str, str] | None = None) -> HttpAsk:
    return HttpAsk("GET", url, purpose, {"accept": "application/json", **(headers or {})})


def _document(answer: HttpAnswer, type: type[T], purpose: Purpose) -> T | None:
    """Return the document of a response; None if there is none at that place."""
    if answer.status == 200:
        return read_document(answer, type, purpose.value)
    if answer.status >= 500 or answer.status == 429:
        raise AuthError(
            f"{purpose.value} cannot be had: expected status 200, got {answer.status}; try again "
            "later"
        )
    return None
