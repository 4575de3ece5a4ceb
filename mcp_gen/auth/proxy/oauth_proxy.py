"""OAuthProxy: registration and short tokens for MCP clients, before a provider without either."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from mcp_gen.auth.flows.exchange import FlowRunner
from mcp_gen.auth.proxy.authorization import AuthorizationPages, ProxyTerms
from mcp_gen.auth.proxy.clients import ProxyClients
from mcp_gen.auth.proxy.grants import GrantBook, GrantLives
from mcp_gen.auth.proxy.login_provider import LoginProvider, ProviderClient
from mcp_gen.auth.proxy.proxy_store import MemoryProxyStore, ProxyStore
from mcp_gen.auth.proxy.sealing import ProxyKeys
from mcp_gen.auth.proxy.token_endpoint import TokenEndpoint
from mcp_gen.auth.proxy.web import (
    OPEN,
    EndpointRefusal,
    WebReply,
    WebRequest,
    json_reply,
    read_request,
    send_reply,
)
from mcp_gen.auth.server.admission_log import AdmissionLog
from mcp_gen.auth.server.challenges import checked_scopes
from mcp_gen.auth.server.legacy_metadata import SERVER_METADATA
from mcp_gen.auth.server.resource_server import ResourceServer
from mcp_gen.auth.verifiers.configured_urls import check_url
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.access_token import AccessToken
from mcp_gen.core.transport.authorizing import Admission, Refusal
from mcp_gen.core.transport.headers import Headers

__all__ = ["OAuthProxy"]


class _Route(NamedTuple):
    method: str
    endpoint: Callable[[WebRequest], Awaitable[WebReply]]
    is_open: bool
    """True if pages of every origin may call it: it reads no cookie."""


class OAuthProxy:
    """Protects a server whose users log in at a provider that registers no clients.

    MCP clients register here, and get short tokens that are of use at this server alone. The
    provider knows one client, whose redirect URI is the URL of the server's mount with
    `/callback`. The provider's tokens stay here: `upstream_token` returns them for the server's
    own requests to the provider.

    ```python
    auth = OAuthProxy(
        upstream="https://accounts.google.com",
        client_id=os.environ["CLIENT_ID"],
        client_secret=os.environ["CLIENT_SECRET"],
        resource="https://api.example.com/mcp",
        secret=os.environ["PROXY_SECRET"],
    )
    app = server.asgi(auth=auth)
    ```

    Args:
        upstream: The provider; a text is an issuer, whose metadata has the endpoints.
        client_id: The client that is registered at the provider.
        client_secret: Its secret.
        resource: URL of this server as its clients know it. It ends with `path`; what is above is
            the issuer, below which are the endpoints.
        path: Path of the endpoint below the mount, as in `server.asgi(path=...)`.
        scopes: Scopes that each request needs; a client that asks for none gets them.
        scopes_supported: All scopes that are granted, with those of tools; None for `scopes`.
        name: Name of this server on the consent page; None for its host.
        identify: Returns the user of an access token of the provider: a text that never changes
            and is nobody else's, now or later. It raises `AuthError(..., "invalid_token")` if the
            provider no longer takes the token. None asks the userinfo endpoint.
        secret: Signs client ids and encrypts what is stored: at least 32 bytes. Of several, the
            first is used, and all are accepted. None for a random one: then all logins and
            registrations end with this process.
        store: Has logins and grants; None for this process's memory.
        code_s: Life of a code, in seconds.
        access_token_s: Life of an access token, in seconds.
        refresh_token_s: Life of a refresh token that is not used, in seconds.
        login_s: Seconds that a user has for consent, and again for the login.
        fetcher: Sends requests to the provider; None for a `Fetcher` with its defaults.
        clock: Returns the time in seconds since 1970.

    Raises:
        UsageError: An option has a value that cannot work.

    Source: https://modelcontextprotocol.io/docs/tutorials/security/security_best_practices#confused-deputy-problem
    """

    def __init__(
        self,
        *,
        upstream: LoginProvider | str,
        client_id: str,
        client_secret: str,
        resource: str,
        path: str = "/mcp",
        scopes: Collection[str] = (),
        scopes_supported: Collection[str] | None = None,
        name: str | None = None,
        identify: Callable[[str], Awaitable[str]] | None = None,
        secret: str | bytes | Sequence[str | bytes] | None = None,
        store: ProxyStore | None = None,
        code_s: float = 60.0,
        access_token_s: float = 900.0,
        refresh_token_s: float = 30 * 86_400.0,
        login_s: float = 600.0,
        fetcher: FlowRunner | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_url("resource", resource)
        if not path.startswith("/") or not resource.endswith(path) or path == "/":
            raise UsageError(f"resource={resource!r}: expected a URL that ends with {path!r}")
        if store is not None and secret is None:
            raise UsageError("secret: expected one, for a store that outlives this process")
        if min(code_s, access_token_s, refresh_token_s, login_s) <= 0:
            raise UsageError("code_s, access_token_s, refresh_token_s, login_s: expected above 0")
        issuer = resource.removesuffix(path)
        needed = checked_scopes("scopes", scopes)
        more = checked_scopes("scopes_supported", scopes_supported or ())
        self.issuer = issuer
        self.resource = resource
        self._scopes = tuple(dict.fromkeys([*needed, *more]))
        self._fetcher = fetcher
        self._clock = clock
        keys = ProxyKeys(secret)
        self.is_local = store is None
        """True if no other process can know the logins and grants."""
        if store is None:
            store = MemoryProxyStore(clock=clock)
        provider = LoginProvider(issuer=upstream) if isinstance(upstream, str) else upstream
        self._provider = ProviderClient(
            provider,
            client_id,
            client_secret,
            f"{issuer}/callback",
            identify,
            self._runner,
            clock,
        )
        lives = GrantLives(code_s, access_token_s, refresh_token_s)
        terms = ProxyTerms(
            issuer,
            resource,
            name or urlsplit(resource).netloc,
            needed,
            frozenset(self._scopes),
            login_s,
            clock,
            AdmissionLog(clock).unavailable,
        )
        clients = ProxyClients(keys, clock)
        self._grants = GrantBook(store, keys, self._provider, lives, clock)
        pages = AuthorizationPages(terms, keys, store, clients, self._provider, self._grants)
        tokens = TokenEndpoint(terms, lives, clients, self._grants)

        async def register(request: WebRequest) -> WebReply:
            return clients.register(request)

        self._routes = {
            "/register": _Route("POST", register, True),
            "/authorize": _Route("GET", pages.authorize, False),
            "/consent": _Route("POST", pages.consent, False),
            "/callback": _Route("GET", pages.callback, False),
            "/token": _Route("POST", tokens.token, True),
            "/revoke": _Route("POST", tokens.revoke, True),
        }
        if path in self._routes:
            raise UsageError(f"path={path!r}: expected none of {', '.join(self._routes)}")
        self._server = ResourceServer(
            issuer,
            audience=resource,
            scopes=needed,
            scopes_supported=self._scopes,
            verifier=self,
            path=path,
            principal=self._principal,
            # There is one clock.
            leeway_s=0.0,
            clock=clock,
        )
        self.leeway_s = self._server.leeway_s

    # --- what transports call ---

    def known(self, scope: Mapping[str, Any], headers: Headers) -> Admission | None:
        """Return None: the grant of each request is looked up, so that its end is felt at once.

        Args:
            scope: The ASGI scope of the request.
            headers: The headers of the request.
        """
        return self._server.known(scope, headers)

    async def admit(self, scope: Mapping[str, Any], headers: Headers) -> Admission | Refusal:
        """Verify the credentials of a request.

        Args:
            scope: The ASGI scope of the request.
            headers: The headers of the request.
        """
        return await self._server.admit(scope, headers)

    def insufficient(
        self, scope: Mapping[str, Any], missing: Collection[str], admission: Admission
    ) -> Refusal:
        """Return the refusal of an admitted request whose token lacks scopes.

        Args:
            scope: The ASGI scope of the request.
            missing: Scopes that the operation needs and the token has not.
            admission: The admission of the request.
        """
        return self._server.insufficient(scope, missing, admission)

    async def document(self, scope: Mapping[str, Any], path: str) -> bytes | None:
        """Return the metadata document at a path, as JSON; None if there is none.

        Args:
            scope: The ASGI scope of the request.
            path: The path, below the mount of the app.
        """
        public = urlsplit(self.issuer).path
        if path in (SERVER_METADATA, f"{SERVER_METADATA}{public}"):
            return msgspec.json.encode(self._metadata())
        return await self._server.document(scope, path)

    def serves(self, path: str) -> bool:
        """Return True if there is an endpoint at a path.

        Args:
            path: The path, below the mount of the app.
        """
        return path in self._routes

    async def respond(
        self,
        scope: Mapping[str, Any],
        receive: Callable[[], Awaitable[Any]],
        send: Callable[[Any], Awaitable[None]],
        path: str,
    ) -> None:
        """Answer a request to an endpoint.

        Args:
            scope: The ASGI scope of the request.
            receive: The ASGI receive callable.
            send: The ASGI send callable.
            path: The path, below the mount of the app.
        """
        route = self._routes[path]
        try:
            if scope["method"] == "OPTIONS" and route.is_open:
                reply = WebReply(204, OPEN)
            elif scope["method"] != route.method:
                reply = WebReply(405, {"allow": route.method})
            else:
                reply = await route.endpoint(await read_request(scope, receive))
        except EndpointRefusal as refusal:
            told = {"error": refusal.code, "error_description": refusal.description}
            reply = json_reply(told, refusal.status)
        await send_reply(send, reply)

    async def aclose(self) -> None:
        """Close all connections. What is stored stays."""
        await self._grants.aclose()
        # The resource server would close its verifier, which is this.
        if self._fetcher is not None:
            await self._fetcher.aclose()

    # --- what the server calls ---

    async def upstream_token(self, token: AccessToken) -> str:
        """Return an access token of the provider, for the server's own requests there.

        It is renewed first if it ends soon. Never give it to a client.

        Args:
            token: The token of the request that is handled: `ctx.token`.

        Raises:
            AuthError: The user has to log in again, or the provider refuses.
            TransportError: The provider cannot be reached.
        """
        return await self._grants.upstream_token(token.raw())

    async def verify(self, token: str) -> AccessToken | None:
        """Return what a token of this proxy says; None if it is not valid.

        Args:
            token: The token as the client sent it.
        """
        found = await self._grants.find(token)
        if found is None:
            return None
        grant, ends_at = found
        return AccessToken(
            token,
            issuer=self.issuer,
            subject=grant.subject,
            client_id=grant.client_id,
            scopes=frozenset(grant.scopes),
            expires_at=ends_at,
            claims={
                "iss": self.issuer,
                "sub": grant.subject,
                "aud": grant.resource,
                "scope": " ".join(grant.scopes),
                "upstream_issuer": self._provider.issuer,
            },
        )

    def _principal(self, token: AccessToken) -> str | None:
        """Return the name of a user of the provider: issuer and user are the provider's."""
        return AccessToken("", issuer=self._provider.issuer, subject=token.subject).principal

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "revocation_endpoint": f"{self.issuer}/revoke",
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **({"scopes_supported": list(self._scopes)} if self._scopes else {}),
        }

    def _runner(self) -> FlowRunner:
        if self._fetcher is None:
            # Loads the HTTP client when the first user logs in.
            from mcp_gen.auth.fetching.fetcher import Fetcher

            self._fetcher = Fetcher()
        return self._fetcher

    def __repr__(self) -> str:
        return f"OAuthProxy({self._provider.issuer!r}, resource={self.resource!r})"
