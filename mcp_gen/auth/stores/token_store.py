"""Token store: Protocol, stored credentials and the in-memory implementation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from msgspec import Struct

__all__ = ["MemoryTokenStore", "StoredCredentials", "TokenStore"]


class StoredCredentials(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Credentials for one server, in a form that any store can keep.

    `msgspec.json` encodes and decodes it. All of it belongs to one authorization server: nothing
    is ever sent to another issuer. Its repr has no secret; its JSON has.
    """

    issuer: str
    """Issuer of the authorization server that everything here is from."""
    resource: str = ""
    """The `resource` that tokens are asked for; empty before the first."""
    client_id: str
    """The client at that authorization server."""
    client_secret: str | None = None
    """Its secret, where the authorization server gave one; never one of the program's own."""
    client_secret_expires_at: float | None = None
    """End of the secret, in seconds since 1970; None for no end."""
    token_endpoint_auth_method: str = "none"
    """Authentication of the client at the token endpoint."""
    redirect_uris: list[str] = []
    """Redirect URIs that the client is registered with; empty if it was not registered here."""
    dynamic: bool = False
    """True if the client was registered by dynamic registration."""
    at_origin: bool = False
    """True if the authorization server was found at the server's origin, not by its metadata."""
    login: str = ""
    """Random name of the login, which a refresh keeps; tells the users of one client apart."""
    access_token: str | None = None
    """The access token; None before the first, and after a logout."""
    token_type: str = "Bearer"
    """`Bearer` or `DPoP`."""
    issued_at: float | None = None
    """Time at which the access token was asked for, in seconds since 1970."""
    expires_at: float | None = None
    """End of the access token, in seconds since 1970; None if the server did not say."""
    refresh_token: str | None = None
    """The refresh token; None if there is none."""
    scopes: list[str] = []
    """Scopes that are granted."""
    requested_scopes: list[str] = []
    """Scopes that were asked for, which a later request includes."""
    subject: str | None = None
    """The user, where the authorization server said it (`sub` of an ID token)."""
    key: str | None = None
    """Private key (JWK) that the tokens are bound to; None for bearer tokens."""

    def __repr__(self) -> str:
        return (
            f"StoredCredentials(issuer={self.issuer!r}, client_id={self.client_id!r}, "
            f"scopes={self.scopes!r}, expires_at={self.expires_at!r})"
        )


class TokenStore(Protocol):
    """Keeps credentials by key. A key is an opaque text of the client, made of the server's URL.

    One who wants to renew a token takes the lock, loads again, and renews only what nobody else
    has renewed meanwhile: a rotated refresh token that is used twice logs its user out. A store
    that several processes share has a lock that they share.
    """

    async def load(self, key: str) -> StoredCredentials | None:
        """Return the credentials of a key as they are now, also if another process wrote them.

        Args:
            key: The key.

        Returns:
            The credentials; None if there are none, or none that can be read.
        """
        ...

    async def save(self, key: str, credentials: StoredCredentials) -> None:
        """Replace the credentials of a key. They are stored when this returns.

        Args:
            key: The key.
            credentials: What to keep.
        """
        ...

    async def delete(self, key: str) -> None:
        """Forget the credentials of a key; without effect if there are none.

        Args:
            key: The key.
        """
        ...

    def lock(self, key: str) -> AbstractAsyncContextManager[None]:
        """Return a context in which nobody else has the lock of this key.

        It is held during requests to an authorization server, and while a user logs in. `load`,
        `save` and `delete` do not take it. It is not reentrant, and it is released when its
        process ends.

        Args:
            key: The key.
        """
        ...


class MemoryTokenStore:
    """Token store in the memory of this process; all is forgotten when it ends."""

    def __init__(self) -> None:
        self._credentials: dict[str, StoredCredentials] = {}
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    async def load(self, key: str) -> StoredCredentials | None:
        """Return the credentials of a key; None if there are none."""
        return self._credentials.get(key)

    async def save(self, key: str, credentials: StoredCredentials) -> None:
        """Replace the credentials of a key."""
        self._credentials[key] = credentials

    async def delete(self, key: str) -> None:
        """Forget the credentials of a key."""
        self._credentials.pop(key, None)

    @asynccontextmanager
    async def lock(self, key: str) -> AsyncGenerator[None]:
        """Hold the lock of a key."""
        # Dropped when nobody holds or awaits it: a lock belongs to one event loop.
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            _, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = lock, users - 1

    def __repr__(self) -> str:
        return f"MemoryTokenStore({len(self._credentials)} keys)"
