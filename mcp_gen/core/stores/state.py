"""State store: Protocol and in-memory implementation."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from msgspec import Struct

__all__ = ["MemoryStateStore", "StateStore"]


class StateStore(Protocol):
    """Stores what handlers keep with `ctx.state`: values by the key of a client and a name.

    Its methods are awaited on the server's event loop. The values of one key expire together. Times
    are seconds since the epoch. A store that several processes share makes state independent of the
    process that answers.
    """

    async def save(
        self, key: str, name: str, value: bytes, *, expires_at: float, now: float, max_bytes: int
    ) -> bool:
        """Store a value; all values of the key then expire at `expires_at`.

        Args:
            key: Whose state it is.
            name: Name of the value.
            value: The value as JSON text.
            expires_at: Time at which all values of the key expire.
            now: The present time.
            max_bytes: Most bytes of all names and values of the key.

        Returns:
            False if the key would have more than `max_bytes`; then nothing is stored.
        """
        ...

    async def load(self, key: str, name: str, *, now: float) -> bytes | None:
        """Return a value as JSON text; None if there is none, or if it has expired."""
        ...

    async def forget(self, key: str, name: str | None = None) -> None:
        """Delete a value; without a name, all values of the key."""
        ...


class _StoredValues(Struct):
    """Values of one key."""

    expires_at: float
    values: dict[str, bytes]
    size_bytes: int = 0


class MemoryStateStore:
    """Stores state in memory.

    Args:
        max_bytes: Most bytes of all keys, names and values. Above it, expired keys are dropped, and
            then those that were used longest ago.
    """

    def __init__(self, *, max_bytes: int = 64 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._keys: OrderedDict[str, _StoredValues] = OrderedDict()
        """Keys by their last use, the one that was used longest ago first."""
        self._size_bytes = 0

    def __len__(self) -> int:
        return len(self._keys)

    async def save(
        self, key: str, name: str, value: bytes, *, expires_at: float, now: float, max_bytes: int
    ) -> bool:
        """Store a value; see `StateStore.save`."""
        held = self._current(key, now)
        before = 0 if held is None else held.size_bytes
        replaced = None if held is None else held.values.get(name)
        size_bytes = before + len(value) - len(replaced or b"")
        size_bytes += len(name.encode()) if replaced is None else 0
        if size_bytes > max_bytes:
            return False
        if held is None:
            held = self._keys[key] = _StoredValues(expires_at, {})
            self._size_bytes += len(key.encode())
        held.values[name] = value
        held.size_bytes, held.expires_at = size_bytes, expires_at
        self._size_bytes += size_bytes - before
        self._keys.move_to_end(key)
        if self._size_bytes > self._max_bytes:
            self._make_room(now)
        return True

    async def load(self, key: str, name: str, *, now: float) -> bytes | None:
        """Return a value; see `StateStore.load`."""
        held = self._current(key, now)
        if held is None:
            return None
        self._keys.move_to_end(key)
        return held.values.get(name)

    async def forget(self, key: str, name: str | None = None) -> None:
        """Delete a value, or all of a key."""
        held = self._keys.get(key)
        if held is None:
            return
        value = None if name is None else held.values.pop(name, None)
        if name is not None and value is not None:
            freed = len(value) + len(name.encode())
            held.size_bytes -= freed
            self._size_bytes -= freed
        if name is None or not held.values:
            self._drop(key)

    def _current(self, key: str, now: float) -> _StoredValues | None:
        held = self._keys.get(key)
        if held is not None and held.expires_at <= now:
            self._drop(key)
            return None
        return held

    def _make_room(self, now: float) -> None:
        for key in [key for key, held in self._keys.items() if held.expires_at <= now]:
            self._drop(key)
        while self._size_bytes > self._max_bytes and self._keys:
            self._drop(next(iter(self._keys)))

    def _drop(self, key: str) -> None:
        held = self._keys.pop(key)
        self._size_bytes -= held.size_bytes + len(key.encode())
