"""OAuth: a user logs in with a browser, and the client acts for that user."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from msgspec.structs import replace

from mcp_gen.auth.browser.browser_login import BrowserLogin
from mcp_gen.auth.client.authorizer import MAX_AUTHORIZATIONS, TokenAuthorizer
from mcp_gen.auth.client.credentials import Need, without_tokens
from mcp_gen.auth.client.credentials_lock import LOCK_TIMEOUT_S
from mcp_gen.auth.flows.authorization_code import (
    AuthorizationRequest,
    Pending,
    begin_authorization,
    redeem,
    require_pkce,
)
from mcp_gen.auth.flows.discovery import Discovered
from mcp_gen.auth.flows.exchange import FlowRunner
from mcp_gen.auth.flows.registration import (
    RegisteredClient,
    RegistrationSettings,
    is_metadata_url,
    obtain_client,
)
from mcp_gen.auth.flows.scopes import choose_scopes, is_scope
from mcp_gen.auth.flows.targets import is_safe_url
from mcp_gen.auth.flows.token_requests import AUTH_METHODS, AssertionSigner
from mcp_gen.auth.stores.token_store import StoredCredentials, TokenStore
from mcp_gen.core.errors import AuthError, UsageError
from mcp_gen.core.redaction import shown_url

__all__ = ["OAuth", "OnAuthorize", "RedirectReceiver"]

OnAuthorize: TypeAlias = Callable[[AuthorizationRequest], Awaitable[str]]
"""Shows a user the request, opens its `url`, and returns the URL that the browser came back to."""

UNREGISTERED = frozenset(("invalid_client", "unauthorized_client", "invalid_scope"))
"""Errors after which a client that was registered before is registered anew, once."""


class RedirectReceiver(Protocol):
    """Sends users to an authorization server, and has a redirect URI; see `BrowserLogin`."""

    async def open(self, registered: Sequence[str] = ()) -> str:
        """Begin to listen, and return the redirect URI; pair with `finish`.

        Args:
            registered: Redirect URIs that the client is registered with, one of which is best.
        """
        ...

    async def authorize(self, request: AuthorizationRequest) -> str:
        """Show the request to the user, open its URL, and return the URL of the redirect.

        Args:
            request: What the user has to see.
        """
        ...

    async def finish(self, error: BaseException | None = None) -> None:
        """Show the outcome, and stop listening; without effect if it is over.

        Args:
            error: What failed; None if the user is logged in.
        """
        ...


class OAuth(TokenAuthorizer):
    """Authorization of a client by a user, with a browser: `connect(url, auth=OAuth())`.

    The client finds the authorization server of the server, registers itself there, and sends the
    user to it, when the server first refuses a request. Tokens are renewed before they end. One
    object is for one server, and may be shared by its connections.

    Args:
        client_name: Name of the client, which users see at the login.
        client_id: Client that was registered at the authorization server by hand.
        client_secret: Its secret. Name its `issuer`, too: without it, the secret goes to the first
            authorization server that the server names.
        client_metadata_url: https URL of a client id metadata document, which authorization
            servers read instead of a registration.
        issuer: The only authorization server that may be used; `client_id` is of that one. None:
            the first that the server names. A `client_id` stays with the first that it was used
            with.
        redirect_uri: Where browsers come back to: https, or http on loopback. Needed if
            `on_authorize` is a function.
        redirect_port: Port of the listener on loopback that takes the redirect; 0 for a free one.
        scopes: Scopes to ask for, beside those that the server demands. None: what the server
            names.
        store: Where tokens and registrations are kept; None for the memory of this object.
        account: Tells several users of one server and store apart.
        on_authorize: Shows the user the request, opens its URL, and returns the URL that the
            browser came back to; or a `BrowserLogin`. None for a `BrowserLogin()`: a browser, and
            a listener on loopback.
        interactive: False if nobody is there to log in: stored credentials are used and renewed.
        token_endpoint_auth_method: `none`, `client_secret_basic`, `client_secret_post` or
            `private_key_jwt`; None lets the metadata decide.
        signer: Signs assertions of the client, for `private_key_jwt`.
        offline_access: True to ask for a refresh token where it has a scope of its own.
        authorization_params: More parameters of the authorization request, such as `login_hint`.
        registration_params: More members of a dynamic registration, such as `client_uri`.
        legacy_servers: True to search for the authorization server at the origin of a server
            that has no metadata, and then at `/authorize` and `/token` there.
        allow_hosts: Hosts of authorization servers that may have private addresses.
        fetcher: Sends requests to authorization servers; None for a `Fetcher`.
        login_timeout_s: Seconds that a user may take to log in. A login of the same server in
            another process that shares the store is waited for a minute longer.
        refresh_margin_s: Seconds before the end of a token in which it is renewed, at most a
            fifth of its life.
        max_authorizations: Number of authorizations in a row whose token the server refuses.
        clock: Returns the time in seconds since 1970.

    Raises:
        UsageError: Arguments do not fit together.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
    """

    def __init__(
        self,
        *,
        client_name: str = "mcp_gen",
        client_id: str | None = None,
        client_secret: str | None = None,
        client_metadata_url: str | None = None,
        issuer: str | None = None,
        redirect_uri: str | None = None,
        redirect_port: int = 0,
        scopes: Collection[str] | None = None,
        store: TokenStore | None = None,
        account: str = "",
        on_authorize: OnAuthorize | RedirectReceiver | None = None,
        interactive: bool = True,
        token_endpoint_auth_method: str | None = None,
        signer: AssertionSigner | None = None,
        offline_access: bool = True,
        authorization_params: Mapping[str, str] | None = None,
        registration_params: Mapping[str, Any] | None = None,
        legacy_servers: bool = True,
        allow_hosts: Collection[str] = (),
        fetcher: FlowRunner | None = None,
        login_timeout_s: float = 300.0,
        refresh_margin_s: float = 30.0,
        max_authorizations: int = MAX_AUTHORIZATIONS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(
            store=store,
            fetcher=fetcher,
            allow_hosts=allow_hosts,
            account=account,
            legacy_servers=legacy_servers,
            refresh_margin_s=refresh_margin_s,
            max_authorizations=max_authorizations,
            # Somebody else may be waiting for its user, for as long as this would.
            lock_timeout_s=login_timeout_s + LOCK_TIMEOUT_S,
            clock=clock,
        )
        self._settings = RegistrationSettings(
            name=client_name,
            redirect_uri=redirect_uri or "",
            client_id=client_id,
            client_secret=client_secret,
            metadata_url=client_metadata_url,
            auth_method=token_endpoint_auth_method,
            signer=signer,
            more=dict(registration_params or {}),
        )
        _check(self._settings, redirect_uri)
        self._hook = _hook(on_authorize, redirect_uri, redirect_port)
        self._issuer = issuer
        self._scopes = None if scopes is None else _scopes(scopes)
        self._interactive = interactive
        self._offline = offline_access
        self._authorization_params = dict(authorization_params or {})
        self._login_timeout_s = login_timeout_s

    def __repr__(self) -> str:
        return f"OAuth(client_name={self._settings.name!r}, server={self._key or None!r})"

    def expected_issuer(self, known: StoredCredentials | None) -> str | None:
        """Return the authorization server of a client that was registered by hand."""
        if self._issuer is not None or self._settings.client_id is None or known is None:
            return self._issuer
        return known.issuer

    def usable(self, stored: StoredCredentials) -> StoredCredentials | None:
        """Return stored credentials of the client and the scopes that are configured."""
        ours = self._settings.client_id
        if ours is None:
            is_ours = stored.dynamic or stored.client_id == self._settings.metadata_url
        else:
            is_ours = stored.client_id == ours
        if not is_ours:
            return None
        if self._issuer is not None and stored.issuer != self._issuer:
            return None
        if not set(self._scopes or ()) <= {*stored.requested_scopes, *stored.scopes}:
            return without_tokens(stored)
        return stored

    def signer(self) -> AssertionSigner | None:
        """Return what signs assertions of the client."""
        return self._settings.signer

    def secret_of(self, stored: StoredCredentials) -> str | None:
        """Return the secret of the client; that of the program is not stored."""
        own = stored.client_id == self._settings.client_id
        return self._settings.client_secret if own else stored.client_secret

    async def authorize(self, need: Need, discovered: Discovered) -> StoredCredentials:
        """Send the user to the authorization server, and exchange the code for tokens.

        Args:
            need: Why.
            discovered: The authorization server, and the resource.

        Raises:
            AuthError: The user declined or took too long, or the authorization server refused.
        """
        scopes = self._choose(need, discovered)
        need.check(scopes)
        require_pkce(discovered.server)
        if not self._interactive:
            raise AuthError(
                f"nobody is there to log in: the server {self._key} needs a token of "
                f"{discovered.server.issuer}, and none is stored; log in where there is a browser, "
                f"with the same store: mcp-gen login {shown_url(self._url)}"
            )
        registered = None if need.known is None else _registered(need.known)
        try:
            return await self._log_in_as(registered, discovered, scopes)
        except AuthError as error:
            if registered is None or not registered.dynamic or error.error not in UNREGISTERED:
                raise
        return await self._log_in_as(None, discovered, scopes)

    async def _log_in_as(
        self,
        registered: RegisteredClient | None,
        discovered: Discovered,
        scopes: tuple[str, ...] | None,
    ) -> StoredCredentials:
        """Log in once, as a client that is registered or as a new one."""
        redirect_uri = await self._hook.open(registered.redirect_uris if registered else ())
        settings = replace(self._settings, redirect_uri=redirect_uri)
        try:
            found = await self._authorize_as(registered, discovered, settings, scopes)
        except Exception as error:
            await self._hook.finish(error)
            raise
        except BaseException:
            await self._hook.finish(AuthError("the login was closed before it was done"))
            raise
        await self._hook.finish()
        return found

    async def _authorize_as(
        self,
        registered: RegisteredClient | None,
        discovered: Discovered,
        settings: RegistrationSettings,
        scopes: tuple[str, ...] | None,
    ) -> StoredCredentials:
        client = await self._run(
            obtain_client(
                discovered.server,
                settings,
                scopes=_registered_scopes(scopes, discovered),
                known=registered,
                now=self._clock(),
            )
        )
        pending = begin_authorization(
            discovered,
            client,
            client_name=settings.name,
            redirect_uri=settings.redirect_uri,
            scopes=scopes,
            state=secrets.token_urlsafe(32),
            verifier=secrets.token_urlsafe(48),
            more=self._authorization_params,
        )
        redirected = await self._ask_user(pending)
        now = self._clock()
        tokens = await self._run(
            redeem(pending, redirected, now=now, signer=self.signer(), proofs=self._proofs)
        )
        own = client.client_id == self._settings.client_id
        base = StoredCredentials(
            issuer=discovered.server.issuer,
            resource=discovered.resource,
            client_id=client.client_id,
            client_secret=None if own else client.secret,
            client_secret_expires_at=client.secret_expires_at,
            token_endpoint_auth_method=client.method,
            redirect_uris=list(client.redirect_uris),
            dynamic=client.dynamic,
            at_origin=discovered.at_origin,
            scopes=list(scopes or ()),
            requested_scopes=list(scopes or ()),
        )
        return self.with_tokens(base, tokens)

    async def _ask_user(self, pending: Pending) -> str:
        self._shared.abandonable = True
        try:
            async with asyncio.timeout(self._login_timeout_s):
                return await self._hook.authorize(pending.request)
        except TimeoutError:
            raise AuthError(
                f"nobody has logged in at {pending.request.issuer} within "
                f"{self._login_timeout_s:g} s (login_timeout_s); try again, or forget a "
                "registration that is not known there any more: mcp-gen logout "
                f"{shown_url(self._url)}"
            ) from None
        finally:
            self._shared.abandonable = False

    def _choose(self, need: Need, discovered: Discovered) -> tuple[str, ...] | None:
        known = need.known
        previous = [] if known is None else [*known.requested_scopes, *known.scopes]
        return choose_scopes(
            configured=self._scopes,
            challenged=need.challenged(discovered.scopes_supported),
            resource=discovered.scopes_supported,
            server=discovered.server.scopes_supported,
            previous=previous,
            offline=self._offline,
        )


class _Function:
    """A function of the program, with a redirect URI of the program; see `RedirectReceiver`."""

    def __init__(self, function: OnAuthorize, redirect_uri: str) -> None:
        self._function = function
        self._redirect_uri = redirect_uri

    async def open(self, registered: Sequence[str] = ()) -> str:
        return self._redirect_uri

    async def authorize(self, request: AuthorizationRequest) -> str:
        return await self._function(request)

    async def finish(self, error: BaseException | None = None) -> None:
        """Do nothing: the function closes what it opens."""


def _hook(
    given: OnAuthorize | RedirectReceiver | None,
    redirect_uri: str | None,
    port: int,
) -> RedirectReceiver:
    if given is None:
        if redirect_uri is not None:
            if port:
                raise UsageError("redirect_port: `redirect_uri` has its own")
            return BrowserLogin.at(redirect_uri)
        return BrowserLogin(port=port)
    if port:
        raise UsageError("redirect_port: it is the port of the listener without `on_authorize`")
    if not callable(given):
        if redirect_uri is not None:
            raise UsageError("redirect_uri: `on_authorize` has its own")
        return given
    if redirect_uri is None:
        raise UsageError("redirect_uri: give it with `on_authorize`: where browsers come back to")
    return _Function(given, redirect_uri)


def _registered(known: StoredCredentials) -> RegisteredClient:
    return RegisteredClient(
        client_id=known.client_id,
        method=known.token_endpoint_auth_method,
        secret=known.client_secret,
        secret_expires_at=known.client_secret_expires_at,
        redirect_uris=tuple(known.redirect_uris),
        dynamic=known.dynamic,
    )


def _registered_scopes(
    scopes: tuple[str, ...] | None, discovered: Discovered
) -> tuple[str, ...] | None:
    """Return scopes for a registration: also those that a later request may need."""
    if scopes is None:
        return None
    offered = discovered.server.scopes_supported
    later = [one for one in discovered.scopes_supported or () if offered and one in offered]
    return tuple(dict.fromkeys([*scopes, *filter(is_scope, later)]))


def _scopes(scopes: Collection[str]) -> tuple[str, ...]:
    if isinstance(scopes, str) or not all(is_scope(one) for one in scopes):
        raise UsageError(
            "scopes: expected a list of scopes, each without blanks and quotes: scopes=['a', 'b']"
        )
    return tuple(dict.fromkeys(scopes))


def _check(settings: RegistrationSettings, redirect_uri: str | None) -> None:
    if settings.client_secret is not None and settings.client_id is None:
        raise UsageError("client_secret: give the `client_id` that it belongs to")
    url = settings.metadata_url
    if url is not None and not is_metadata_url(url):
        raise UsageError(
            "client_metadata_url: expected an https URL with a path, such as "
            f"https://app.example/client.json, got {url!r}"
        )
    if redirect_uri is not None and not is_safe_url(redirect_uri):
        raise UsageError(
            "redirect_uri: expected an https URL, or http on loopback, got "
            f"{urlsplit(redirect_uri).scheme!r}"
        )
    method = settings.auth_method
    if method is not None and method not in AUTH_METHODS:
        raise UsageError(
            f"token_endpoint_auth_method: expected one of {', '.join(AUTH_METHODS)}, got {method!r}"
        )
    if method == "private_key_jwt" and settings.signer is None:
        raise UsageError("token_endpoint_auth_method: private_key_jwt needs a `signer`")
