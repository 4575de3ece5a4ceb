"""Grants of users to clients, with their codes, tokens and the tokens of the provider."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from mcp_gen.auth.flows.authorization_code import code_challenge
from mcp_gen.auth.flows.token_requests import Tokens
from mcp_gen.auth.proxy.login_provider import ProviderClient
from mcp_gen.auth.proxy.proxy_store import GRANTS, ProxyStore
from mcp_gen.auth.proxy.sealing import ProxyKeys, digest, random_text
from mcp_gen.auth.proxy.web import EndpointRefusal
from mcp_gen.core.errors import AuthError

__all__ = ["GrantBook", "GrantLives", "IssuedTokens", "ProxyGrant"]

MAX_TOKEN_CHARS = 200
MAX_ACCESS_TOKENS = 4
"""Access tokens of one grant that are valid at a time: calls that run have the one before."""
EARLY_S = 30.0
"""Seconds before its end at which a token of the provider is renewed."""


class GrantLives(Struct, frozen=True):
    """Lifetimes, in seconds.

    Args:
        code_s: Life of a code.
        access_s: Life of an access token.
        unused_s: Life of a refresh token.
    """

    code_s: float = 60.0
    access_s: float = 900.0
    unused_s: float = 30 * 86_400.0


class ProxyGrant(Struct, frozen=True, kw_only=True):
    """Grant of a user to a client. Codes and tokens are held as digests. Its repr has no secret.

    Args:
        client_id: The client.
        subject: The user, as the provider names it.
        resource: The server that it is for.
        scopes: What the client may do.
        redirect_uri: Where the code went.
        challenge: The PKCE challenge of the code.
        upstream: The tokens of the provider.
        ends_at: End of the code, then of the refresh token, in seconds since 1970.
        code: Digest of the code; None once it was used.
        refresh: Digest of the refresh token that is valid now.
        access: Digests and ends of the access tokens.
    """

    client_id: str
    subject: str
    resource: str
    scopes: tuple[str, ...]
    redirect_uri: str
    challenge: str
    upstream: Tokens
    ends_at: float
    code: str | None = None
    refresh: str | None = None
    access: tuple[tuple[str, float], ...] = ()

    def __repr__(self) -> str:
        return f"ProxyGrant(subject={self.subject!r}, scopes={self.scopes!r})"


class IssuedTokens(NamedTuple):
    """Tokens for a client, once."""

    access: str
    refresh: str
    scopes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"IssuedTokens(scopes={self.scopes!r})"


class _HeldGrant(NamedTuple):
    key: str
    raw: bytes
    grant: ProxyGrant


class GrantBook:
    """Grants in a store. One entry holds all of a grant: with it, all its tokens end.

    A code or a refresh token that is shown a second time ends its grant, because one of the two
    who had it was a thief.

    Args:
        store: The store.
        keys: Encrypts entries.
        provider: Renews the provider's tokens.
        lives: Lifetimes.
        clock: Returns the time in seconds since 1970.

    Source: https://www.rfc-editor.org/rfc/rfc9700.html#section-4.14
    """

    def __init__(
        self,
        store: ProxyStore,
        keys: ProxyKeys,
        provider: ProviderClient,
        lives: GrantLives,
        clock: Callable[[], float],
    ) -> None:
        self._store = store
        self._keys = keys
        self._provider = provider
        self._lives = lives
        self._clock = clock
        self._renewing: dict[str, asyncio.Task[ProxyGrant]] = {}

    async def begin(
        self,
        *,
        client_id: str,
        subject: str,
        resource: str,
        scopes: tuple[str, ...],
        redirect_uri: str,
        challenge: str,
        upstream: Tokens,
    ) -> str:
        """Store a new grant and return its code.

        Args:
            client_id: The client.
            subject: The user.
            resource: The server.
            scopes: What the client may do.
            redirect_uri: Where the code goes.
            challenge: The PKCE challenge.
            upstream: The tokens of the provider.
        """
        name = random_text()
        code = _token(name)
        grant = ProxyGrant(
            client_id=client_id,
            subject=subject,
            resource=resource,
            scopes=scopes,
            redirect_uri=redirect_uri,
            challenge=challenge,
            # Of no use later, and personal.
            upstream=replace(upstream, id_token=None),
            ends_at=self._clock() + self._lives.code_s,
            code=digest(code),
        )
        await self._store.add(GRANTS, digest(name), self._keys.seal(grant), grant.ends_at)
        return code

    async def redeem(
        self, code: str, client_id: str, redirect_uri: str | None, verifier: str
    ) -> IssuedTokens:
        """Exchange a code for tokens.

        Args:
            code: The code.
            client_id: The client that shows it.
            redirect_uri: Where the client says it went; None if it does not.
            verifier: The PKCE verifier.

        Raises:
            EndpointRefusal: It is not valid; what it was of has ended.
        """
        held = await self._find(code)
        grant = held.grant
        right = (
            _same(grant.code, digest(code))
            and grant.client_id == client_id
            and redirect_uri in (None, grant.redirect_uri)
            and verifier.isascii()
            and hmac.compare_digest(code_challenge(verifier), grant.challenge)
        )
        return await self._issue(held, code) if right else await self._refuse(held.key)

    async def renew(self, refresh_token: str, client_id: str) -> IssuedTokens:
        """Exchange a refresh token for new tokens.

        The grant ends if the provider does not know the user any more.

        Args:
            refresh_token: The refresh token.
            client_id: The client that shows it.

        Raises:
            EndpointRefusal: It is not valid; what it was of has ended.
            AuthError: The provider cannot be asked.
            TransportError: The provider cannot be reached.
        """
        held = await self._find(refresh_token)
        grant = held.grant
        if not _same(grant.refresh, digest(refresh_token)) or grant.client_id != client_id:
            return await self._refuse(held.key)
        await self._check_user(held.key, await self._with_upstream(held))
        return await self._issue(await self._find(refresh_token), refresh_token)

    async def find(self, access_token: str) -> tuple[ProxyGrant, float] | None:
        """Return the grant of a valid access token, and when the token ends; None if it is not.

        Args:
            access_token: The token.
        """
        held = await self._load(access_token)
        if held is None:
            return None
        shown = digest(access_token)
        now = self._clock()
        for known, ends_at in held.grant.access:
            if _same(known, shown) and now < ends_at:
                return held.grant, ends_at
        return None

    async def end(self, token: str, client_id: str) -> None:
        """End the grant of a token of a client, if there is one.

        Args:
            token: An access or refresh token.
            client_id: The client that shows it.
        """
        held = await self._load(token)
        if held is not None and held.grant.client_id == client_id:
            shown = digest(token)
            known = [held.grant.refresh, *(one for one, _ in held.grant.access)]
            if any(_same(one, shown) for one in known):
                await self._store.take(GRANTS, held.key)

    async def upstream_token(self, access_token: str) -> str:
        """Return an access token of the provider that is valid now.

        Args:
            access_token: The token of the client.

        Raises:
            AuthError: The user has to log in again, or the provider cannot be asked.
            TransportError: The provider cannot be reached.
        """
        held = await self._load(access_token)
        shown = digest(access_token)
        if held is None or not any(_same(one, shown) for one, _ in held.grant.access):
            raise AuthError("the login has ended: the user has to log in again")
        return (await self._with_upstream(held)).upstream.access_token

    async def aclose(self) -> None:
        """Await the renewals that run: a rotated refresh token must not get lost."""
        if self._renewing:
            await asyncio.wait(self._renewing.values())

    async def _issue(self, held: _HeldGrant, shown: str) -> IssuedTokens:
        """Issue tokens for a code or refresh token that was checked; it is then used up."""
        now = self._clock()
        name = shown.partition(".")[0]
        issued = IssuedTokens(_token(name), _token(name), held.grant.scopes)
        valid = [one for one in held.grant.access if one[1] > now][1 - MAX_ACCESS_TOKENS :]
        grant = replace(
            held.grant,
            code=None,
            refresh=digest(issued.refresh),
            access=(*valid, (digest(issued.access), now + self._lives.access_s)),
            ends_at=now + self._lives.unused_s,
        )
        if not await self._swap(held, grant):
            latest = await self._find(shown)
            if not _same(latest.grant.code or latest.grant.refresh, digest(shown)):
                # Somebody else was faster with the same code or refresh token.
                return await self._refuse(held.key)
            return await self._issue(latest, shown)
        return issued

    async def _check_user(self, key: str, grant: ProxyGrant) -> None:
        """Check that the provider still knows the user by its token.

        Raises:
            EndpointRefusal: It does not: the grant has ended.
        """
        try:
            subject = await self._provider.subject(grant.upstream.access_token)
        except AuthError as error:
            if error.error != "invalid_token":
                raise
            subject = None
        if subject != grant.subject:
            await self._refuse(key)

    async def _with_upstream(self, held: _HeldGrant) -> ProxyGrant:
        """Return a grant whose token of the provider is valid now.

        Raises:
            EndpointRefusal: It cannot be renewed: the grant has ended.
        """
        ends_at = held.grant.upstream.expires_at
        if ends_at is None or self._clock() < ends_at - EARLY_S:
            return held.grant
        task = self._renewing.get(held.key)
        if task is None:
            task = asyncio.create_task(self._renew_upstream(held))
            self._renewing[held.key] = task
            task.add_done_callback(lambda ended: self._renewed(held.key, ended))
        return await asyncio.shield(task)

    def _renewed(self, key: str, task: asyncio.Task[ProxyGrant]) -> None:
        del self._renewing[key]
        if not task.cancelled():
            # Who awaits it gets the error; nobody may be left.
            task.exception()

    async def _renew_upstream(self, held: _HeldGrant) -> ProxyGrant:
        old = held.grant.upstream
        if old.refresh_token is None:
            return await self._refuse(held.key)
        try:
            new = await self._provider.refresh(old.refresh_token)
        except AuthError as error:
            latest = await self._load_key(held.key)
            if latest is not None and latest.grant.upstream != old:
                # Another process has renewed it meanwhile.
                return latest.grant
            if error.error == "invalid_grant":
                return await self._refuse(held.key)
            raise
        kept = replace(new, refresh_token=new.refresh_token or old.refresh_token, id_token=None)
        while True:
            latest = await self._load_key(held.key)
            if latest is None:
                raise _ended()
            grant = replace(latest.grant, upstream=kept)
            if await self._swap(latest, grant):
                return grant

    async def _swap(self, held: _HeldGrant, grant: ProxyGrant) -> bool:
        new = self._keys.seal(grant)
        return await self._store.swap(GRANTS, held.key, held.raw, new, grant.ends_at)

    async def _find(self, token: str) -> _HeldGrant:
        held = await self._load(token)
        if held is None:
            raise _ended()
        return held

    async def _load(self, token: str) -> _HeldGrant | None:
        name, _, secret = token.partition(".")
        if not secret or len(token) > MAX_TOKEN_CHARS:
            return None
        return await self._load_key(digest(name))

    async def _load_key(self, key: str) -> _HeldGrant | None:
        raw = await self._store.get(GRANTS, key)
        grant = None if raw is None else self._keys.unseal(raw, ProxyGrant)
        if raw is None or grant is None or self._clock() >= grant.ends_at:
            return None
        return _HeldGrant(key, raw, grant)

    async def _refuse(self, key: str) -> NoReturn:
        await self._store.take(GRANTS, key)
        raise _ended()


def _ended() -> EndpointRefusal:
    return EndpointRefusal("invalid_grant", "not valid, or no longer: log in again")


def _token(name: str) -> str:
    """Return a new code or token of a grant: its name finds the entry, the rest is compared."""
    return f"{name}.{random_text()}"


def _same(known: str | None, shown: str) -> bool:
    return known is not None and hmac.compare_digest(known, shown)
