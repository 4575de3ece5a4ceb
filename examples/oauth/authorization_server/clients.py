"""Clients: pre-registered, registered dynamically (RFC 7591), or known by their document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from examples.oauth.authorization_server.errors import OAuthError
from examples.oauth.authorization_server.jwts import new_id
from examples.oauth.authorization_server.memory import ExpiringStore
from examples.oauth.authorization_server.settings import Settings

__all__ = ["Client", "ClientDirectory", "ClientMetadata"]

SECRET_METHODS = ("client_secret_basic", "client_secret_post")
UNUSABLE_SCHEMES = frozenset({"", "javascript", "data", "file", "vbscript", "about", "blob"})
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LOCAL = re.compile(r"http://(?P<host>\[[^\]]*\]|[^:/?#@\[\]]+)(:[0-9]{1,5})?(?P<rest>([/?].*)?)")
_UNUSABLE = re.compile(r"[^!-~]|[#*]")
"""Characters that no redirect URI has: spaces, fragments, wildcards, all beyond ASCII."""
_DOCUMENT_URL = re.compile(r"https://[^@/?#\s]+/[^@?#\s]+")
FOREVER_S = 10 * 365 * 86_400.0


class ClientMetadata(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Metadata of a client (RFC 7591, section 2), as far as this server uses it."""

    redirect_uris: list[str] = []
    token_endpoint_auth_method: str | None = None
    grant_types: list[str] | None = None
    response_types: list[str] | None = None
    application_type: Literal["web", "native"] | None = None
    client_name: str | None = None
    client_uri: str | None = None
    scope: str | None = None
    jwks: dict[str, Any] | None = None
    jwks_uri: str | None = None
    dpop_bound_access_tokens: bool = False


class ClientDocument(ClientMetadata, kw_only=True, omit_defaults=True):
    """Client id metadata document."""

    client_id: str
    client_secret: str | None = None


class Client(msgspec.Struct, kw_only=True, frozen=True):
    """Client that the server knows. The defaults are those of a registered public client."""

    client_id: str
    redirect_uris: tuple[str, ...] = ()
    secret: str | None = None
    auth_method: str = "none"
    grant_types: frozenset[str] = frozenset({"authorization_code", "refresh_token"})
    name: str = ""
    scope: str | None = None
    """Scopes it may ask for; None: any."""
    jwks: Mapping[str, Any] | None = None
    jwks_uri: str | None = None
    dpop_bound: bool = False

    def __repr__(self) -> str:
        return f"Client({self.client_id!r})"


class ClientDirectory:
    """All clients that the server knows."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._added: dict[str, Client] = {}
        self._registered = ExpiringStore[Client](settings.max_clients, settings.clock)
        self._documents = ExpiringStore[Client](settings.max_clients, settings.clock)

    def add(self, client: Client) -> Client:
        """Pre-register a client."""
        self._added[client.client_id] = client
        return client

    async def find(self, client_id: str) -> Client | None:
        """Return a client; None if it is unknown.

        Raises:
            OAuthError: the client id is a URL, and its document is refused.
        """
        known = self._added.get(client_id) or self._registered.get(client_id)
        if known is not None or not self._takes_documents(client_id):
            return known
        cached = self._documents.get(client_id)
        if cached is None:
            cached = await self._from_document(client_id)
            self._documents.put(client_id, cached, self._settings.document_cache_s)
        return cached

    def register(self, body: bytes) -> tuple[Client, Mapping[str, Any]]:
        """Register a client; return it and the response to it.

        Raises:
            OAuthError: its metadata is refused.
        """
        try:
            metadata = msgspec.json.decode(body, type=ClientMetadata)
        except msgspec.DecodeError as error:
            raise OAuthError("invalid_client_metadata", str(error)) from None
        metadata.token_endpoint_auth_method = (
            metadata.token_endpoint_auth_method or "client_secret_basic"
        )
        client = self._client(new_id(), metadata)
        if client.auth_method in SECRET_METHODS:
            client = msgspec.structs.replace(client, secret=new_id())
        self._registered.put(client.client_id, client, FOREVER_S)
        return client, self._response(client, metadata)

    def _response(self, client: Client, metadata: ClientMetadata) -> Mapping[str, Any]:
        issued = {
            "client_id": client.client_id,
            "client_id_issued_at": int(self._settings.clock()),
            "grant_types": sorted(client.grant_types),
            "response_types": ["code"],
            "application_type": metadata.application_type,
        }
        if client.secret is not None:
            issued |= {"client_secret": client.secret, "client_secret_expires_at": 0}
        return {**msgspec.to_builtins(metadata), **issued}

    def _client(self, client_id: str, metadata: ClientMetadata) -> Client:
        settings = self._settings
        method = metadata.token_endpoint_auth_method or "none"
        if method not in settings.token_endpoint_auth_methods:
            raise OAuthError(
                "invalid_client_metadata", f"token_endpoint_auth_method {method} is not supported"
            )
        if method == "private_key_jwt" and (metadata.jwks is None) == (metadata.jwks_uri is None):
            raise OAuthError(
                "invalid_client_metadata", "private_key_jwt needs either jwks or jwks_uri"
            )
        # What the server does not support is left out: the response tells what was registered.
        asked = metadata.grant_types or ["authorization_code"]
        grants = frozenset(asked) & frozenset(settings.grant_types)
        if not grants:
            raise OAuthError("invalid_client_metadata", "no supported grant_types")
        if "code" not in (metadata.response_types or ["code"]) and "authorization_code" in grants:
            raise OAuthError("invalid_client_metadata", "response_types must have code")
        if "authorization_code" in grants:
            self._check_redirect_uris(metadata)
        return Client(
            client_id=client_id,
            redirect_uris=tuple(metadata.redirect_uris),
            auth_method=method,
            grant_types=grants,
            name=metadata.client_name or "",
            scope=metadata.scope,
            jwks=metadata.jwks,
            jwks_uri=metadata.jwks_uri,
            dpop_bound=metadata.dpop_bound_access_tokens,
        )

    def _check_redirect_uris(self, metadata: ClientMetadata) -> None:
        if not metadata.redirect_uris:
            raise OAuthError("invalid_redirect_uri", "redirect_uris is missing")
        kinds = {redirect_kind(uri) for uri in metadata.redirect_uris}
        if "refused" in kinds:
            raise OAuthError(
                "invalid_redirect_uri",
                "redirect URIs must be https, or http on loopback, without a fragment",
            )
        given = metadata.application_type or self._settings.default_application_type
        metadata.application_type = given or ("web" if kinds == {"https"} else "native")
        if metadata.application_type == "web" and kinds != {"https"}:
            raise OAuthError(
                "invalid_redirect_uri",
                "redirect URIs of a web application must be https; application_type is web",
            )

    def _takes_documents(self, client_id: str) -> bool:
        settings = self._settings
        return (
            settings.client_id_metadata_documents
            and settings.fetch is not None
            and client_id.startswith("https://")
        )

    async def _from_document(self, client_id: str) -> Client:
        fetch = self._settings.fetch
        assert fetch is not None
        if not _DOCUMENT_URL.fullmatch(client_id) or {".", ".."} & set(client_id.split("/")):
            raise OAuthError("invalid_client", "the client id is no URL of a metadata document")
        try:
            found = await fetch(client_id)
        except (OSError, TimeoutError) as error:
            raise OAuthError("invalid_client", "the metadata document was not fetched") from error
        if found.status != 200 or len(found.body) > self._settings.max_document_bytes:
            raise OAuthError("invalid_client", "the metadata document is missing or too large")
        if not is_json(found.content_type):
            raise OAuthError("invalid_client", "the metadata document is not JSON")
        try:
            document = msgspec.json.decode(found.body, type=ClientDocument)
        except msgspec.DecodeError as error:
            raise OAuthError("invalid_client", f"the metadata document: {error}") from None
        if document.client_id != client_id:
            raise OAuthError("invalid_client", "the metadata document is of another client id")
        method = document.token_endpoint_auth_method or "none"
        if document.client_secret is not None or method not in ("none", "private_key_jwt"):
            raise OAuthError("invalid_client", "a metadata document can hold no shared secret")
        return self._client(client_id, document)


def is_json(content_type: str) -> bool:
    """Return True for `application/json` and its kin."""
    kind = content_type.partition(";")[0].strip().lower()
    return re.fullmatch(r"application/([\w.-]+\+)?json", kind) is not None


def redirect_kind(uri: str) -> Literal["https", "loopback", "custom", "refused"]:
    """Return the kind of a redirect URI, which says what applications may have it."""
    try:
        parts = urlsplit(uri)
        host = parts.hostname
    except ValueError:
        return "refused"
    if _UNUSABLE.search(uri) or "@" in parts.netloc:
        return "refused"
    if parts.scheme == "https":
        if not host:
            return "refused"
        return "loopback" if host in LOOPBACK else "https"
    if parts.scheme == "http":
        return "loopback" if host in LOOPBACK else "refused"
    return "refused" if parts.scheme in UNUSABLE_SCHEMES else "custom"


def redirects_to(client: Client, uri: str, settings: Settings) -> bool:
    """Return True if a client registered this redirect URI; ports on loopback may differ."""
    return any(
        uri == registered or same_but_port(uri, registered, settings.loopback_hosts)
        for registered in client.redirect_uris
    )


def same_but_port(one: str, other: str, hosts: frozenset[str]) -> bool:
    """Return True if two `http` URIs with one of these hosts differ in their ports at most."""
    first, second = _LOCAL.fullmatch(one), _LOCAL.fullmatch(other)
    return (
        first is not None
        and second is not None
        and first["host"] in hosts
        and first.group("host", "rest") == second.group("host", "rest")
    )
