"""Base of all that gives requests their tokens: one login or refresh for all who need it."""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from msgspec.structs import replace

from mcp_gen.auth.client.attempts import Attempts
from mcp_gen.auth.client.credentials import (
    AuthorizationStatus,
    Need,
    of_issuer,
    token_of,
    without_tokens,
)
from mcp_gen.auth.client.credentials_lock import EARLY_LOCK_TIMEOUT_S, LOCK_TIMEOUT_S, hold
from mcp_gen.auth.client.shared_task import SharedTask
from mcp_gen.auth.flows.challenges import BearerChallenge, bearer_challenge
from mcp_gen.auth.flows.discovery import (
    Discovered,
    Wanted,
    challenge_of,
    discover,
    discover_at_origin,
    discover_server,
)
from mcp_gen.auth.flows.exchange import FlowRunner
from mcp_gen.auth.flows.refreshing import refresh, revoke
from mcp_gen.auth.flows.subjects import subject_of
from mcp_gen.auth.flows.targets import covers, origin_of, require_safe_url, resource_of
from mcp_gen.auth.flows.token_requests import AssertionSigner, ClientAuthentication
from mcp_gen.auth.stores.token_store import MemoryTokenStore, StoredCredentials, TokenStore
from mcp_gen.core.errors import AuthError, TransportError, UsageError

if TYPE_CHECKING:
    from mcp_gen.auth.flows.exchange import Flow
    from mcp_gen.auth.flows.metadata import ServerMetadata
    from mcp_gen.auth.flows.token_requests import TokenProofs, Tokens
    from mcp_gen.core.transport.protocols import Lines

__all__ = ["MAX_AUTHORIZATIONS", "TokenAuthorizer"]

T = TypeVar("T")

MAX_AUTHORIZATIONS = 3
REFUSED_FOR_GOOD = frozenset(
    (
        "invalid_grant",
        "invalid_client",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
        "invalid_target",
    )
)
"""Errors after which a refresh token is of no use any more."""
CLIENT_GONE = frozenset(("invalid_client", "unauthorized_client"))
MARGIN_PART = 0.2
"""Part of the life of a token that is the longest margin: a short one is used, too."""
SETTLE_S = 30.0
"""Seconds within which a refusal of a new token counts as one in a row."""
NO_TOKEN: Lines = ()


class TokenAuthorizer(ABC):
    """Holds the tokens for one server; see `RequestAuthorizer`.

    However many requests are refused at once, there is one refresh or login for all of them; also
    for other processes, if the store has a lock that they share.

    Args:
        store: Where credentials are kept; None for the memory of this object.
        fetcher: Sends requests to authorization servers; None for a `Fetcher` of its own.
        allow_hosts: Hosts of authorization servers that may have private addresses.
        account: Tells credentials of several users of one server and store apart.
        legacy_servers: True to search at the origin of a server that has no metadata.
        refresh_margin_s: Seconds before the end of a token in which it is renewed, at most a
            fifth of its life.
        max_authorizations: Number of authorizations in a row whose token the server refuses.
        lock_timeout_s: Seconds to wait for somebody else who has the credentials in use.
        clock: Returns the time in seconds since 1970.
    """

    renews_alone: ClassVar[bool] = False
    """True if `authorize` needs no user, so that it replaces the refresh token."""

    def __init__(
        self,
        *,
        store: TokenStore | None,
        fetcher: FlowRunner | None,
        allow_hosts: Collection[str] = (),
        account: str = "",
        legacy_servers: bool = True,
        refresh_margin_s: float = 30.0,
        max_authorizations: int = MAX_AUTHORIZATIONS,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store: TokenStore = MemoryTokenStore() if store is None else store
        self._fetcher = fetcher
        self._own_fetcher: FlowRunner | None = None
        self._allow_hosts = allow_hosts
        self._account = account
        self._legacy = legacy_servers
        self._margin_s = refresh_margin_s
        self._lock_timeout_s = lock_timeout_s
        self._clock = clock
        self._url = ""
        self._key = ""
        self._loaded = False
        self._credentials: StoredCredentials | None = None
        self._kept: str | None = None
        self._shared = SharedTask()
        self._attempts = Attempts(max_authorizations, SETTLE_S)
        self._proofs: TokenProofs | None = None

    # What a grant is.

    @abstractmethod
    async def authorize(self, need: Need, discovered: Discovered) -> StoredCredentials:
        """Have new credentials of an authorization server.

        Args:
            need: Why.
            discovered: The authorization server, and the resource.

        Raises:
            AuthError: There are none to be had.
        """

    def expected_issuer(self, known: StoredCredentials | None) -> str | None:
        """Return the only authorization server that may be used; None for any.

        Args:
            known: Credentials of before.
        """
        return None

    def usable(self, stored: StoredCredentials) -> StoredCredentials | None:
        """Return those of stored credentials that fit what the program configured."""
        return stored

    def signer(self) -> AssertionSigner | None:
        """Return what signs assertions of the client."""
        return None

    def bind_proofs(self, proofs: TokenProofs) -> None:
        """Prove the possession of a key at the token endpoint, from now on.

        Raises:
            UsageError: There were requests already.
        """
        if self._url:
            raise UsageError("DPoP: wrap the authorization before it is used")
        self._proofs = proofs

    # For the transport.

    @property
    def identity(self) -> Hashable:
        """Whose credentials these are; None while there are none."""
        found = self._credentials
        if found is None or found.access_token is None:
            return None
        return (found.issuer, found.client_id, found.login)

    async def headers(self, method: str, url: str) -> Lines:
        """Return the Authorization header of a request; renew the token first if it ends soon.

        Args:
            method: The HTTP method.
            url: The URL that the request goes to.

        Raises:
            AuthError: The token has ended, and the authorization server gives no other.
            TransportError: The token has ended, and no authorization server can be reached.
            UsageError: There are credentials for another server.
        """
        self._bind(url)
        if not self._loaded:
            self._use(await self._load())
        found = self._credentials
        if found is None or found.access_token is None or not self._goes_to(url, found):
            return NO_TOKEN
        if self._ends_within(found, self._margin_of(found)):
            await self._renew_early(found)
            found = self._credentials
        if found is None or found.access_token is None or self._ends_within(found, 0.0):
            # The refusal says what a new login needs.
            return NO_TOKEN
        return ((b"authorization", f"{found.token_type} {found.access_token}".encode("ascii")),)

    async def retry(
        self, method: str, url: str, status: int, headers: Mapping[str, str], sent: Lines
    ) -> bool:
        """Have new credentials after a refusal; return True if the request should be repeated.

        Args:
            method: The HTTP method.
            url: The URL that the request went to.
            status: 401 or 403.
            headers: The response headers, names in lower case.
            sent: What `headers` returned for the request.

        Raises:
            AuthError: There is no token that the server accepts, or somebody else has the stored
                credentials in use for too long.
        """
        self._bind(url)
        challenge = bearer_challenge(headers)
        if status != 401 and challenge.error != "insufficient_scope":
            return False
        if not self._goes_to(url, self._credentials):
            raise UsageError(
                f"the credentials are for {self._key}, not for {resource_of(url)}: make an "
                "authorization object for each server"
            )
        refused = token_of(sent)
        if self._shared.running or self._valid_token() in (None, refused):
            recover = partial(self._recover, refused, challenge, may_refresh=status == 401)
            await self._shared.join(recover)
        return self._valid_token() not in (None, refused)

    def responded(self, url: str, headers: Mapping[str, str]) -> None:
        """Take notice of a response: a bearer token learns nothing from it."""
        return

    async def aclose(self) -> None:
        """Close connections, and cancel a login that waits for its user. Stored tokens stay."""
        await self._shared.aclose()
        if self._own_fetcher is not None:
            await self._own_fetcher.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # For programs.

    async def status(self, url: str | None = None) -> AuthorizationStatus | None:
        """Return the state of the stored credentials; None if there are none.

        Args:
            url: The URL of the server; None for the one that was used before.
        """
        self._bind(self._url if url is None else url)
        found = await self._load()
        if found is None or found.access_token is None:
            return None
        renewable = found.refresh_token is not None or self.renews_alone
        return AuthorizationStatus(
            server=self._url,
            issuer=found.issuer,
            client_id=found.client_id,
            scopes=tuple(found.scopes),
            expires_at=found.expires_at,
            subject=found.subject,
            logged_in=renewable or not self._ends_within(found, 0.0),
        )

    async def login(self, url: str | None = None) -> AuthorizationStatus:
        """Log in, also if there are credentials.

        Args:
            url: The URL of the server; None for the one that was used before.

        Raises:
            AuthError: There is no token to be had.
        """
        self._bind(self._url if url is None else url)
        challenge = await self._run(challenge_of(self._url))
        await self._shared.idle()
        await self._shared.join(partial(self._log_in, challenge))
        found = await self.status()
        assert found is not None
        return found

    async def logout(self, url: str | None = None) -> bool:
        """Forget the credentials, and revoke the tokens.

        Args:
            url: The URL of the server; None for the one that was used before.

        Returns:
            False if the tokens stay valid until they end: the authorization server does not
            revoke tokens, or it could not be reached.

        Raises:
            AuthError: Somebody else has the credentials in use for too long.
        """
        self._bind(self._url if url is None else url)
        async with hold(self._store, self._key, self._lock_timeout_s):
            stored = await self._store.load(self._key)
            await self._store.delete(self._key)
        self._use(None)
        if stored is None:
            return True
        try:
            return await self._revoke(stored)
        except (AuthError, TransportError):
            return False

    # The rest is how.

    def _bind(self, url: str) -> None:
        if not url:
            raise UsageError("which server? Give its URL")
        if not self._url:
            require_safe_url(url.partition("#")[0], "the URL of the server")
            self._url, self._key = url, resource_of(url)
            if self._account:
                self._key += f"#{self._account}"
        elif origin_of(url) != origin_of(self._url):
            raise UsageError(
                f"the credentials are for {self._key}, not for {resource_of(url)}: make an "
                "authorization object for each server"
            )

    def _goes_to(self, url: str, found: StoredCredentials | None) -> bool:
        """Return True if a token may go to a URL of the server's origin."""
        if resource_of(url) == resource_of(self._url):
            return True
        return found is not None and (found.at_origin or covers(found.resource, url))

    def _valid_token(self) -> str | None:
        """Return the token that `headers` sends: none that has ended."""
        found = self._credentials
        return None if found is None or self._ends_within(found, 0.0) else found.access_token

    def _ends_within(self, found: StoredCredentials, seconds: float) -> bool:
        return found.expires_at is not None and found.expires_at - seconds <= self._clock()

    def _margin_of(self, found: StoredCredentials) -> float:
        """Return the seconds before its end in which a token is renewed: a part of its life."""
        if found.expires_at is None or found.issued_at is None:
            return self._margin_s
        return min(self._margin_s, (found.expires_at - found.issued_at) * MARGIN_PART)

    async def _load(self) -> StoredCredentials | None:
        self._loaded = True
        stored = await self._store.load(self._key)
        found = None if stored is None else self.usable(stored)
        if found is not None and (found.key is None) != (self._proofs is None):
            # Tokens of another kind; the client stays.
            return without_tokens(found)
        return found

    def _use(self, found: StoredCredentials | None) -> None:
        self._credentials = found
        if found is not None and found.key is not None and self._proofs is not None:
            self._proofs.use_key(found.key)

    async def _renew_early(self, found: StoredCredentials) -> None:
        """Renew a token that ends soon; one that is still valid is kept if that fails."""
        ended = self._ends_within(found, 0.0)
        if not self.renews_alone and found.refresh_token is None:
            return
        # A token that is valid waits for no user, and is not tried again for each request.
        if not ended and (self._shared.abandonable or self._kept == found.access_token):
            return
        try:
            await self._shared.join(partial(self._renew, found.access_token, ended=ended))
        except (AuthError, TransportError):
            # Not again for each request: at its end, or when it is refused.
            self._kept = found.access_token
            if ended:
                raise

    async def _renew(self, old: str | None, *, ended: bool) -> None:
        limit_s = self._lock_timeout_s if ended else EARLY_LOCK_TIMEOUT_S
        async with hold(self._store, self._key, limit_s, shared=self._shared):
            stored = await self._load()
            if self._adopted(stored, old) or stored is None:
                return
            server = await self._server_of(stored)
            if stored.refresh_token is not None:
                await self._refresh(stored, server)
            elif self.renews_alone:
                discovered = Discovered(stored.resource, server, at_origin=stored.at_origin)
                await self._authorize(Need(known=stored), discovered)

    async def _recover(
        self, refused: str | None, challenge: BearerChallenge, *, may_refresh: bool
    ) -> None:
        """Have other credentials than those that were refused."""
        async with hold(self._store, self._key, self._lock_timeout_s, shared=self._shared):
            stored = await self._load()
            if self._adopted(stored, refused):
                return
            now = self._clock()
            is_fresh = self._attempts.is_fresh(refused, now)
            is_new = self._attempts.is_new(refused, now)
            discovered = await self._discover(challenge, stored, anew=is_fresh)
            known = of_issuer(stored, discovered)
            if known and known.refresh_token and may_refresh and not is_fresh:
                if await self._refresh(known, discovered.server):
                    return
                known = self._credentials
            self._attempts.begin(refused, now)
            need = Need(challenge=challenge, known=known, is_new=is_new, step_up=not may_refresh)
            with self._attempts.asking_for(challenge.scopes if need.step_up else None):
                await self._authorize(need, discovered)

    async def _log_in(self, challenge: BearerChallenge) -> None:
        async with hold(self._store, self._key, self._lock_timeout_s, shared=self._shared):
            stored = await self._load()
            discovered = await self._discover(challenge, stored)
            need = Need(challenge=challenge, known=of_issuer(stored, discovered))
            self._attempts.forget_declined()
            await self._authorize(need, discovered)

    def _adopted(self, stored: StoredCredentials | None, old: str | None) -> bool:
        """Use stored credentials, and return True if somebody else has renewed them meanwhile."""
        self._use(stored)
        if stored is None or stored.access_token in (None, old):
            return False
        return not self._ends_within(stored, 0.0)

    async def _authorize(self, need: Need, discovered: Discovered) -> None:
        found = await self.authorize(need, discovered)
        await self._save(found)
        self._attempts.obtained(found.access_token, self._clock(), authorized=True)

    async def _refresh(self, stored: StoredCredentials, server: ServerMetadata) -> bool:
        """Renew tokens; return False if the refresh token, or the client, is not known any more."""
        token, now = stored.refresh_token or "", self._clock()
        client = self._authentication(stored)
        flow = refresh(server, client, token, stored.resource, now=now, proofs=self._proofs)
        try:
            found = self.with_tokens(stored, await self._run(flow))
        except AuthError as error:
            if error.error not in REFUSED_FOR_GOOD:
                raise
            # Nobody is to send it again. A client that is not known is registered anew.
            is_known = error.error not in CLIENT_GONE
            dynamic = stored.dynamic and is_known
            await self._save(replace(stored, refresh_token=None, dynamic=dynamic))
            return False
        await self._save(found)
        self._attempts.obtained(found.access_token, now, authorized=False)
        return True

    def with_tokens(self, base: StoredCredentials, tokens: Tokens) -> StoredCredentials:
        """Return credentials with new tokens.

        Args:
            base: Issuer, client, and what was asked for; its refresh token stays without another.
            tokens: The response of the token endpoint.
        """
        scopes = base.scopes if tokens.scopes is None else list(tokens.scopes)
        return replace(
            base,
            access_token=tokens.access_token,
            token_type=tokens.token_type,
            issued_at=self._clock(),
            expires_at=tokens.expires_at,
            refresh_token=tokens.refresh_token or base.refresh_token,
            scopes=scopes,
            login=base.login or secrets.token_urlsafe(12),
            subject=subject_of(tokens.id_token, base.issuer, base.client_id) or base.subject,
            key=None if self._proofs is None else self._proofs.key,
        )

    async def _save(self, found: StoredCredentials) -> None:
        await self._store.save(self._key, found)
        self._use(found)

    async def _discover(
        self, challenge: BearerChallenge, stored: StoredCredentials | None, *, anew: bool = False
    ) -> Discovered:
        wanted = Wanted(
            url=self._url,
            challenge=challenge,
            issuer=self.expected_issuer(stored),
            known_issuer=None if stored is None else stored.issuer,
            anew=anew,
            legacy=self._legacy,
        )
        return await self._run(discover(wanted))

    async def _server_of(self, stored: StoredCredentials) -> ServerMetadata:
        if not stored.at_origin:
            return await self._run(discover_server(stored.issuer))
        wanted = Wanted(self._url, issuer=stored.issuer)
        return (await self._run(discover_at_origin(wanted))).server

    def _authentication(self, stored: StoredCredentials) -> ClientAuthentication:
        return ClientAuthentication(
            stored.client_id,
            stored.token_endpoint_auth_method,
            self.secret_of(stored),
            self.signer(),
        )

    def secret_of(self, stored: StoredCredentials) -> str | None:
        """Return the secret of the client: the stored one, or the program's own."""
        return stored.client_secret

    async def _revoke(self, stored: StoredCredentials) -> bool:
        tokens = (("refresh_token", stored.refresh_token), ("access_token", stored.access_token))
        held = [(hint, token) for hint, token in tokens if token is not None]
        if not held:
            return True
        server = await self._server_of(stored)
        client = self._authentication(stored)
        done = True
        for hint, token in held:
            done &= await self._run(revoke(server, client, token, hint, now=self._clock()))
        return done

    async def _run(self, flow: Flow[T], *, configured: str | None = None) -> T:
        """Send the requests of a flow: at the behest of the server, or of a configured URL."""
        if self._fetcher is None:
            # Only now: it loads the HTTP client.
            from mcp_gen.auth.fetching.fetcher import Fetcher

            self._fetcher = self._own_fetcher = Fetcher(allow_hosts=self._allow_hosts)
        return await self._fetcher.run(flow, configured=configured or self._url)
