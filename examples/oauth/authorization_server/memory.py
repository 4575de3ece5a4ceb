"""Bounded stores in memory: values that expire, and identifiers that may be used once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from examples.oauth.authorization_server.errors import OAuthError

__all__ = ["ExpiringStore", "ReplayMemory"]

Value = TypeVar("Value")


class ExpiringStore(Generic[Value]):
    """Values by key, each until its time; beyond `capacity` the oldest one is forgotten."""

    def __init__(self, capacity: int, clock: Callable[[], float]) -> None:
        self._capacity = capacity
        self._clock = clock
        self._held: dict[str, tuple[Value, float]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def put(self, key: str, value: Value, lifetime_s: float) -> None:
        """Keep a value for this many seconds."""
        while len(self._held) >= self._capacity:
            del self._held[next(iter(self._held))]
        self._held[key] = (value, self._clock() + lifetime_s)

    def get(self, key: str) -> Value | None:
        """Return the value of a key; None if it is unknown or has expired."""
        found = self._held.get(key)
        if found is None:
            return None
        if found[1] <= self._clock():
            del self._held[key]
            return None
        return found[0]

    def take(self, key: str) -> Value | None:
        """Return the value of a key and forget it."""
        found = self.get(key)
        self._held.pop(key, None)
        return found


class ReplayMemory:
    """Identifiers that were used. It forgets none before its time: full, it refuses new ones."""

    def __init__(self, capacity: int, clock: Callable[[], float]) -> None:
        self._capacity = capacity
        self._clock = clock
        self._seen: dict[str, float] = {}

    def first_use(self, identifier: str, lifetime_s: float) -> bool:
        """Return True if the identifier is new, and remember it for this many seconds.

        Raises:
            OAuthError: the memory is full.
        """
        now = self._clock()
        if self._seen.get(identifier, 0.0) > now:
            return False
        if len(self._seen) >= self._capacity:
            self._seen = {key: until for key, until in self._seen.items() if until > now}
        if len(self._seen) >= self._capacity:
            raise OAuthError("temporarily_unavailable", "too many requests; try later", 503)
        self._seen[identifier] = now + lifetime_s
        return True
