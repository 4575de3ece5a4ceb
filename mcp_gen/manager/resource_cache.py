"""Resources that were read, kept for a while for servers that do not say for how long."""

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
    """For whom it was read: another may be shown something else."""


class _CachedResource(NamedTuple):
    result: Any
    until: float
    size: int


class ResourceCache:
    """Results of reads by server and URI.

    Each is good for `ttl_s` seconds. At most `max_entries` are kept, and `max_bytes` of contents
    over all; what was not used for the longest time goes first. 0 of anything keeps nothing.
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
        """How much the kept contents hold, in bytes of text and base64."""
        return self._bytes

    @property
    def changes(self) -> int:
        """How often something was forgotten: what was asked for before may be out of date."""
        return self._changes

    def get(self, server: str, uri: str, principal: Hashable) -> Any:
        """What was read, if it is still good; None if there is none."""
        key = _ResourceKey(server, uri, principal)
        kept = self._entries.get(key)
        if kept is None:
            return None
        if kept.until <= self._clock():
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return kept.result

    def put(self, server: str, uri: str, principal: Hashable, result: Any, changes: int) -> None:
        """Keep what was read, unless something was forgotten since it was asked for."""
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
        """Forget a resource with its parts, all of a server, or everything."""
        self._changes += 1
        for key in list(self._entries):
            if server is not None and key.server != server:
                continue
            if uri is None or key.uri.startswith(uri) or uri.startswith(key.uri):
                self._drop(key)

    def _drop(self, key: _ResourceKey) -> None:
        kept = self._entries.pop(key, None)
        if kept is not None:
            self._bytes -= kept.size


def _size(result: Any) -> int:
    parts: list[Any] = getattr(result, "contents", None) or []
    return sum(len(getattr(one, "text", None) or getattr(one, "blob", None) or "") for one in parts)
