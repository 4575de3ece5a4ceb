"""Settings of the example authorization server: its switches for tests, lifetimes and limits."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = ["GRANT_TYPES", "Document", "Fetch", "JwksSource", "Settings"]

TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
GRANT_TYPES = (
    "authorization_code",
    "refresh_token",
    "client_credentials",
    TOKEN_EXCHANGE,
    JWT_BEARER,
)


class Document(NamedTuple):
    """Fetched document: a client's metadata, or a key set."""

    status: int
    content_type: str
    body: bytes


Fetch: TypeAlias = Callable[[str], Awaitable[Document]]
"""Function that fetches a URL. It must not follow redirects, and must bound size and time."""

JwksSource: TypeAlias = Mapping[str, Any] | Callable[[], Mapping[str, Any]]
"""JSON Web Key Set of an issuer, or a function that returns the one of now."""


@dataclass(kw_only=True, eq=False, repr=False)
class Settings:
    """Settings of the server. A test may change one at any time: the next request sees it.

    Clock and limits are those that the server began with.
    """

    issuer: str
    """Issuer identifier, with or without a path; endpoints are below it."""

    clock: Callable[[], float] = time.time
    """Unix time in seconds."""

    # Users and consent
    users: Mapping[str, str] = field(default_factory=lambda: {"demo": "demo"})
    """Passwords by name, for the consent page."""
    user: str = "demo"
    """User that is logged in where consent is automatic."""
    consent: Literal["automatic", "page", "denied"] = "automatic"
    """Consent is given at once, asked for by a page, or denied at once."""

    # Metadata
    documents: tuple[str, ...] = ("oauth", "oidc", "oidc-appended")
    """Discovery documents: RFC 8414, OpenID Connect with its path inserted, and appended."""
    scopes_supported: tuple[str, ...] | None = None
    """Scopes that are granted and published; None grants any and publishes none."""
    iss_parameter: bool = True
    """Send `iss` in authorization responses, and say so (RFC 9207)."""

    # Clients
    registration: bool = True
    """Dynamic registration (RFC 7591)."""
    default_application_type: Literal["web", "native"] | None = None
    """`application_type` of registrations without one; None: by their redirect URIs."""
    client_id_metadata_documents: bool = True
    """Take URLs as client ids; needs `fetch`."""
    fetch: Fetch | None = None
    """Fetches metadata documents and key sets of clients; None: nothing is fetched."""
    token_endpoint_auth_methods: tuple[str, ...] = (
        "none",
        "client_secret_basic",
        "client_secret_post",
        "private_key_jwt",
    )
    loopback_hosts: frozenset[str] = frozenset({"127.0.0.1", "[::1]"})
    """Hosts of `http` redirect URIs whose port is not compared (RFC 8252, section 7.3)."""

    # Authorization requests
    pkce_methods: tuple[str, ...] = ("S256",)
    pkce_required: bool = True
    resources: frozenset[str] | None = None
    """Resources that tokens are given for; None: any."""
    resource_required: bool = False

    # Tokens
    introspection: bool = True
    revocation: bool = True
    grant_types: tuple[str, ...] = GRANT_TYPES
    access_token_format: Literal["jwt", "opaque"] = "jwt"
    refresh_tokens: Literal["always", "offline_access", "never"] = "always"
    """Given to every client that registered the grant, to one with that scope, or to nobody."""
    rotate_refresh_tokens: bool = True
    code_lifetime_s: float = 60.0
    access_token_lifetime_s: float = 300.0
    refresh_token_lifetime_s: float = 86_400.0
    id_token_lifetime_s: float = 300.0
    id_jag_lifetime_s: float = 300.0

    # Assertions of others
    trusted_issuers: Mapping[str, JwksSource] = field(default_factory=dict[str, JwksSource])
    """Issuers of ID-JAGs and of workload JWTs, with their keys."""
    workloads: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Client ids of workloads by issuer and subject; one that is absent is refused."""
    exchange_audiences: frozenset[str] | None = None
    """Authorization servers that an ID-JAG is given for; None: any."""
    foreign_client_ids: Mapping[tuple[str, str], str] = field(
        default_factory=dict[tuple[str, str], str]
    )
    """Ids of our clients at other authorization servers, by audience and client id."""
    assertion_lifetime_s: float = 3_600.0
    """Longest time from now to the `exp` of a client's or another issuer's assertion."""
    leeway_s: float = 5.0

    # Proof of possession (RFC 9449)
    dpop: Literal["off", "on", "required"] = "on"
    dpop_nonces: bool = False
    dpop_nonce_lifetime_s: float = 300.0
    dpop_proof_lifetime_s: float = 60.0

    # Limits
    max_body_bytes: int = 65_536
    max_document_bytes: int = 5_120
    max_clients: int = 1_000
    max_held: int = 10_000
    """Codes, tokens, grants, pages: each store keeps this many, and forgets the oldest."""
    max_requests_logged: int = 10_000
    document_cache_s: float = 300.0

    def url(self, name: str) -> str:
        """Return the URL of an endpoint."""
        return f"{self.issuer.rstrip('/')}/{name}"

    @property
    def token_url(self) -> str:
        """URL of the token endpoint."""
        return self.url("token")
