"""Response cache of one session (`ttlMs`, `cacheScope`).

Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mcp_gen.core.peer_values import seconds_within
from mcp_wire import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["ResponseCache"]

_CACHED_FIELDS = ("tools", "prompts", "resources", "resource_templates", "contents")
"""Fields that hold the content of cacheable results."""
_INVALIDATED_FIELDS = {
    # The contents, too: servers often change what is in resources together with these lists.
    "tools_changed": {"tools", "contents"},
    "prompts_changed": {"prompts"},
    "resources_changed": {"resources", "resource_templates", "contents"},
}
"""Cached fields that a list_changed notification invalidates, by its attribute of Profile."""


class _CacheKey(NamedTuple):
    method: str
    params: bytes
    audience: tuple[Hashable, ...]
    """Principal that the result is private to; empty for public results."""


class _CachedResult(NamedTuple):
    result: Any
    expires_at: float
    field: str
    uri: str | None


class Slot(NamedTuple):
    """Cache slot of one request."""

    field: str
    method: str
    params: bytes
    uri: str | None
    changes: int
    """Number of changes notified before the request was sent."""
    principal: Hashable
    """Principal that sends the request; None if it is not known yet."""


class ResponseCache:
    """Results of one session, each cached as long as the server allows.

    A private result is returned only to the principal that requested it. The least recently used
    entry is evicted first.

    Args:
        profile: Profile of the session's revision; without cache hints, nothing is cached.
        max_entries: Maximum number of results; 0 disables the cache.
        clock: Returns the time in seconds.
        principal: Returns the current principal.
    """

    def __init__(
        self,
        profile: Profile,
        max_entries: int,
        *,
        clock: Callable[[], float],
        principal: Callable[[], Hashable],
    ) -> None:
        self._max = max_entries
        self._clock = clock
        self._principal = principal
        self._entries: OrderedDict[_CacheKey, _CachedResult] = OrderedDict()
        self._changes = 0
        self.cached_fields: dict[str, str] = {}
        """Name of the cached field of each cacheable method; empty if the result has none."""
        if profile.cache_hints and max_entries > 0:
            for name, method in profile.methods.items():
                fields: tuple[str, ...] = getattr(_complete(method), "__struct_fields__", ())
                if "ttl_ms" in fields:
                    self.cached_fields[name] = next(
                        (one for one in _CACHED_FIELDS if one in fields), ""
                    )

    def __len__(self) -> int:
        return len(self._entries)

    def slot(self, method: Method[Any, Any], params: Any) -> Slot | None:
        """Return the cache slot of a request; None if it is not cacheable.

        Later round trips of a multi round-trip request are not cacheable.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
        """
        field = self.cached_fields.get(method.name)
        if field is None:
            return None
        if getattr(params, "input_responses", None) or getattr(params, "request_state", None):
            return None
        encoded = encode(msgspec.structs.replace(params, meta={}))
        uri = getattr(params, "uri", None)
        return Slot(field, method.name, encoded, uri, self._changes, self._principal())

    def get(self, slot: Slot) -> Any:
        """Return a fresh cached result; None if there is none."""
        for audience in ((slot.principal,), ()):
            key = _CacheKey(slot.method, slot.params, audience)
            entry = self._entries.get(key)
            if entry is None:
                continue
            if entry.expires_at > self._clock():
                self._entries.move_to_end(key)
                return entry.result
            del self._entries[key]
        return None

    def put(self, slot: Slot, result: Any) -> None:
        """Cache a result if the server allows it and nothing has changed since the request."""
        ttl_ms: int = getattr(result, "ttl_ms", None) or 0
        if ttl_ms <= 0 or slot.changes < self._changes:
            return
        audience: tuple[Hashable, ...] = ()
        if getattr(result, "cache_scope", None) != "public":
            audience = (self._principal(),)
            if slot.principal is not None and audience != (slot.principal,):
                # Another user has logged in meanwhile: it is not known whose result it is.
                return
        key = _CacheKey(slot.method, slot.params, audience)
        expires_at = self._clock() + seconds_within(ttl_ms)
        self._entries[key] = _CachedResult(result, expires_at, slot.field, slot.uri)
        self._entries.move_to_end(key)
        while len(self._entries) > self._max:
            self._entries.popitem(last=False)

    def clear(self) -> None:
        """Remove all entries."""
        self._changes += 1
        self._entries.clear()

    def forget(self, method: str) -> None:
        """Remove the results of a method; a rejected cursor makes its pages invalid."""
        self._drop(lambda key, entry: key.method == method)

    def on_notification(self, news: str, uri: str | None) -> None:
        """Remove the results that a change notification invalidates.

        Args:
            news: The notification, named as its attribute of Profile.
            uri: URI of the updated resource, if a resource was updated.
        """
        invalidated = _INVALIDATED_FIELDS.get(news)
        if invalidated:
            self._drop(lambda key, entry: entry.field in invalidated)
        elif uri is not None:
            # The cached resource may contain the updated one, or be a part of it.
            self._drop(lambda key, entry: entry.uri is not None and _overlap(entry.uri, uri))

    def _drop(self, is_invalid: Callable[[_CacheKey, _CachedResult], bool]) -> None:
        self._changes += 1
        for key in [key for key, entry in self._entries.items() if is_invalid(key, entry)]:
            del self._entries[key]


def _complete(method: Method[Any, Any]) -> Any:
    return method.results[0] if method.results else None


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
