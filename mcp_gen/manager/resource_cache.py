"""TTL and LRU cache of read resources, for servers without cache hints."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["ResourceCache"]


class _ResourceKey(NamedTuple):
    server: str
    uri: str
    principal: Hashable
    """Principal it was read for: another one may get other contents."""


class _CachedResource(NamedTuple):
    result: Any
    until: float
    size: int


class ResourceCache:
    """LRU cache of `resources/read` results, by server, URI and principal.

    A limit of 0 caches nothing.

    Args:
        ttl_s: Seconds that a result is fresh.
        max_entries: The most results; the least recently used is dropped first.
        max_bytes: The most bytes of contents over all.
        clock: Returns the time in seconds.
    """

    def __init__(
        self, ttl_s: float, max_entries: int, max_bytes: int, clock: Callable[[], float]
    ) -> None:
        self._ttl_s = ttl_s
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[_ResourceKey, _CachedResource] = OrderedDict()
        self._bytes = 0
        self._changes = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size_bytes(self) -> int:
        """Size of the cached contents, in bytes of text and base64."""
        return self._bytes

    @property
    def changes(self) -> int:
        """Number of `forget` calls; pass it to `put`, as it was before the read."""
        return self._changes

    def get(self, server: str, uri: str, principal: Hashable) -> Any:
        """Return a fresh result, or None."""
        key = _ResourceKey(server, uri, principal)
        cached = self._entries.get(key)
        if cached is None:
            return None
        if cached.until <= self._clock():
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return cached.result

    def put(self, server: str, uri: str, principal: Hashable, result: Any, changes: int) -> None:
        """Cache a result, unless `forget` was called since `changes` was taken."""
        size = _size(result)
        if self._ttl_s <= 0 or changes != self._changes or size > self._max_bytes:
            return
        key = _ResourceKey(server, uri, principal)
        self._drop(key)
        self._entries[key] = _CachedResource(result, self._clock() + self._ttl_s, size)
        self._bytes += size
        while len(self._entries) > self._max_entries or self._bytes > self._max_bytes:
            self._drop(next(iter(self._entries)))

    def forget(self, server: str | None = None, uri: str | None = None) -> None:
        """Drop a resource with its sub-resources, all of a server, or everything."""
        self._changes += 1
        for key in list(self._entries):
            if server is not None and key.server != server:
                continue
            if uri is None or key.uri.startswith(uri) or uri.startswith(key.uri):
                self._drop(key)

    def _drop(self, key: _ResourceKey) -> None:
        cached = self._entries.pop(key, None)
        if cached is not None:
            self._bytes -= cached.size


def _size(result: Any) -> int:
    parts: list[Any] = getattr(result, "contents", None) or []
    return sum(len(getattr(one, "text", None) or getattr(one, "blob", None) or "") for one in parts)
