"""Results that a server allowed to be kept for a while.

Source: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mcp_wire import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["ResponseCache"]

_HELD = ("tools", "prompts", "resources", "resource_templates", "contents")
"""What results that may be kept hold, by the field that holds it."""
_STALE = {
    "tools_changed": {"tools"},
    "prompts_changed": {"prompts"},
    "resources_changed": {"resources", "resource_templates"},
}
"""What is out of date once a server has told of a change, by the notification's place."""


class _CacheKey(NamedTuple):
    method: str
    params: bytes
    audience: tuple[Hashable, ...]
    """Who the result is for; empty if it is for everybody."""


class _CachedResult(NamedTuple):
    result: Any
    until: float
    holds: str
    uri: str | None


class Slot(NamedTuple):
    """Where the result of one request goes."""

    holds: str
    method: str
    params: bytes
    uri: str | None
    changes: int
    """How many changes had been told of when it was asked for."""


class ResponseCache:
    """What one session has been told, for as long as the server said it holds good.

    At most `max_entries` results are kept; the one that was not used for the longest time goes
    first. Private results are given to those only for whom they were asked: `principal` tells who
    that is now.
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
        self.holds: dict[str, str] = {}
        """What results hold that may be kept, by method; of other methods none may."""
        if profile.cache_hints and max_entries > 0:
            for name, method in profile.methods.items():
                fields: tuple[str, ...] = getattr(_complete(method), "__struct_fields__", ())
                if "ttl_ms" in fields:
                    self.holds[name] = next((one for one in _HELD if one in fields), "")

    def __len__(self) -> int:
        return len(self._entries)

    def slot(self, method: Method[Any, Any], params: Any) -> Slot | None:
        """Where a result of this request may be kept; None if it may not.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
        """
        holds = self.holds.get(method.name)
        if holds is None:
            return None
        if getattr(params, "input_responses", None) or getattr(params, "request_state", None):
            return None
        asked = encode(msgspec.structs.replace(params, meta={}))
        return Slot(holds, method.name, asked, getattr(params, "uri", None), self._changes)

    def get(self, slot: Slot) -> Any:
        """A result that is still good; None if there is none."""
        for audience in ((self._principal(),), ()):
            key = _CacheKey(slot.method, slot.params, audience)
            kept = self._entries.get(key)
            if kept is None:
                continue
            if kept.until > self._clock():
                self._entries.move_to_end(key)
                return kept.result
            del self._entries[key]
        return None

    def put(self, slot: Slot, result: Any) -> None:
        """Keep a result, if the server allows it and nothing has changed meanwhile."""
        ttl_ms: int = getattr(result, "ttl_ms", None) or 0
        if ttl_ms <= 0 or slot.changes < self._changes:
            return
        public = getattr(result, "cache_scope", None) == "public"
        key = _CacheKey(slot.method, slot.params, () if public else (self._principal(),))
        until = self._clock() + ttl_ms / 1000
        self._entries[key] = _CachedResult(result, until, slot.holds, slot.uri)
        self._entries.move_to_end(key)
        while len(self._entries) > self._max:
            self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._changes += 1
        self._entries.clear()

    def forget(self, method: str) -> None:
        """Forget what was answered to a method: a cursor was refused, so its pages are void."""
        self._drop(lambda key, kept: key.method == method)

    def on_notification(self, news: str, uri: str | None) -> None:
        """The server told of a change: what it is about is out of date.

        `news` is the notification's place on a Profile; `uri` what was updated, if that was it.
        """
        stale = _STALE.get(news)
        if stale:
            self._drop(lambda key, kept: kept.holds in stale)
        elif uri is not None:
            # What was read may hold what was updated, or be a part of it.
            self._drop(lambda key, kept: kept.uri is not None and _related(kept.uri, uri))

    def _drop(self, wrong: Callable[[_CacheKey, _CachedResult], bool]) -> None:
        self._changes += 1
        for key in [key for key, kept in self._entries.items() if wrong(key, kept)]:
            del self._entries[key]


def _complete(method: Method[Any, Any]) -> Any:
    return method.results[0] if method.results else None


def _related(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
