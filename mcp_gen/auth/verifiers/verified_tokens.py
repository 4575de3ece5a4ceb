"""Bounded memory of tokens that were verified, by their SHA-256."""

from __future__ import annotations

from hashlib import sha256
from typing import Generic, TypeVar

__all__ = ["VerifiedTokens"]

T = TypeVar("T")


class VerifiedTokens(Generic[T]):
    """Remembers what was found out about tokens, each until a time of its own.

    No token is kept as a key: what is looked up depends on a digest that nobody can choose.

    Args:
        limit: The number of tokens that are remembered; the oldest is forgotten first.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: dict[bytes, tuple[float, T]] = {}

    def get(self, token: bytes, now: float) -> T | None:
        """Return what is known of a token; None if nothing is, or no longer.

        Args:
            token: The token.
            now: The time in seconds since 1970.
        """
        entry = self._entries.get(sha256(token).digest())
        if entry is None or now >= entry[0]:
            return None
        return entry[1]

    def put(self, token: bytes, found: T, until: float, now: float) -> None:
        """Remember what was found out about a token.

        Args:
            token: The token.
            found: What is known of it.
            until: When to forget it, in seconds since 1970.
            now: The time.
        """
        if until <= now or self._limit <= 0:
            return
        key = sha256(token).digest()
        entries = self._entries
        entries.pop(key, None)
        while len(entries) >= self._limit:
            del entries[next(iter(entries))]
        entries[key] = (until, found)

    def until(self, token: bytes) -> float:
        """Return until when a token is known; minus infinity if it is not.

        Args:
            token: The token.
        """
        entry = self._entries.get(sha256(token).digest())
        return float("-inf") if entry is None else entry[0]

    def clear(self) -> None:
        """Forget all."""
        self._entries.clear()

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"VerifiedTokens({len(self)} of {self._limit})"
