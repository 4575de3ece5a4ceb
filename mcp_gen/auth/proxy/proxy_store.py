"""Stores of a proxy: logins that are under way, and grants."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

__all__ = ["GRANTS", "LOGINS", "MemoryProxyStore", "ProxyStore"]

LOGINS = "login"
GRANTS = "grant"


class ProxyStore(Protocol):
    """Store of an `OAuthProxy`: write one for a database that several processes share.

    Keys are digests and values are encrypted: a store learns no token. `swap` and `take` are
    atomic: of two that race, one succeeds. Each kind has its own bound.
    """

    async def add(self, kind: str, key: str, value: bytes, expires_at: float) -> None:
        """Store a new entry.

        Args:
            kind: `login` or `grant`.
            key: Its key, within its kind.
            value: Its value.
            expires_at: When to forget it, in seconds since 1970.
        """
        ...

    async def get(self, kind: str, key: str) -> bytes | None:
        """Return the value of an entry; None if there is none, or no longer.

        Args:
            kind: The kind.
            key: The key.
        """
        ...

    async def swap(self, kind: str, key: str, old: bytes, new: bytes, expires_at: float) -> bool:
        """Replace the value of an entry if it is still the old one, and return True then.

        Args:
            kind: The kind.
            key: The key.
            old: What the value has to be.
            new: What it becomes.
            expires_at: When to forget it, in seconds since 1970.
        """
        ...

    async def take(self, kind: str, key: str) -> bytes | None:
        """Remove an entry and return its value; None if there is none.

        Args:
            kind: The kind.
            key: The key.
        """
        ...


class MemoryProxyStore:
    """Store in memory, for one process. When it is full, the oldest entry of the kind goes.

    Args:
        max_logins: Number of logins that are under way.
        max_grants: Number of grants: one for each client of each user that is logged in.
        clock: Returns the time in seconds since 1970.
    """

    def __init__(
        self,
        *,
        max_logins: int = 10_000,
        max_grants: int = 10_000,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._limits = {LOGINS: max_logins, GRANTS: max_grants}
        self._held: dict[str, dict[str, tuple[bytes, float]]] = {LOGINS: {}, GRANTS: {}}
        self._clock = clock

    async def add(self, kind: str, key: str, value: bytes, expires_at: float) -> None:
        """Store a new entry; see `ProxyStore.add`.

        Args:
            kind: The kind.
            key: The key.
            value: The value.
            expires_at: When to forget it.
        """
        held = self._held[kind]
        if len(held) >= self._limits[kind]:
            now = self._clock()
            for old in [one for one, (_, until) in held.items() if until <= now]:
                del held[old]
        while len(held) >= self._limits[kind]:
            del held[next(iter(held))]
        held[key] = (value, expires_at)

    async def get(self, kind: str, key: str) -> bytes | None:
        """Return the value of an entry; None if there is none, or no longer.

        Args:
            kind: The kind.
            key: The key.
        """
        value, until = self._held[kind].get(key, (None, 0.0))
        if value is not None and until <= self._clock():
            del self._held[kind][key]
            return None
        return value

    async def swap(self, kind: str, key: str, old: bytes, new: bytes, expires_at: float) -> bool:
        """Replace a value that is still the old one; see `ProxyStore.swap`.

        Args:
            kind: The kind.
            key: The key.
            old: What the value has to be.
            new: What it becomes.
            expires_at: When to forget it.
        """
        if await self.get(kind, key) != old:
            return False
        held = self._held[kind]
        # Renewed entries are the youngest.
        del held[key]
        held[key] = (new, expires_at)
        return True

    async def take(self, kind: str, key: str) -> bytes | None:
        """Remove an entry and return its value; None if there is none.

        Args:
            kind: The kind.
            key: The key.
        """
        value = await self.get(kind, key)
        self._held[kind].pop(key, None)
        return value

    def __repr__(self) -> str:
        return f"MemoryProxyStore({', '.join(f'{k}={len(v)}' for k, v in self._held.items())})"
