"""Bounded store of tool results: TTL, most entries, most bytes."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, NamedTuple

__all__ = ["CachedResults", "ResultKey"]


class ResultKey(NamedTuple):
    """Key of a result: equal calls that get equal results."""

    tool: str
    """Name that clients call the tool by."""
    arguments: bytes
    """Arguments as JSON, with sorted keys."""
    rest: Hashable
    """Server, tool, revision and client."""


class _Cached(NamedTuple):
    result: Any
    until_s: float
    size_bytes: int


class CachedResults:
    """LRU store of results, safe to use from any thread.

    Args:
        ttl_s: Seconds that a result is fresh.
        max_entries: Most results; the least recently used is dropped first.
        max_bytes: Most bytes of all results and arguments.
    """

    def __init__(self, ttl_s: float, max_entries: int, max_bytes: int) -> None:
        self._ttl_s = ttl_s
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._entries: OrderedDict[ResultKey, _Cached] = OrderedDict()
        self._lock = Lock()
        self.size_bytes = 0
        """Bytes of all results and arguments."""
        self.changes = 0
        """Number of `drop` calls; pass it to `put`, as it was before the call of the tool."""

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: ResultKey) -> Any:
        """Return a fresh result, or None."""
        with self._lock:
            cached = self._entries.get(key)
            if cached is None:
                return None
            if cached.until_s <= time.monotonic():
                self._remove(key)
                return None
            self._entries.move_to_end(key)
            return cached.result

    def put(self, key: ResultKey, result: Any, size_bytes: int, changes: int) -> None:
        """Store a result, unless it is too large or `drop` was called since `changes` was taken."""
        size_bytes += len(key.arguments)
        with self._lock:
            if changes != self.changes or size_bytes > self._max_bytes:
                return
            self._remove(key)
            until_s = time.monotonic() + self._ttl_s
            self._entries[key] = _Cached(result, until_s, size_bytes)
            self.size_bytes += size_bytes
            while len(self._entries) > self._max_entries or self.size_bytes > self._max_bytes:
                self._remove(next(iter(self._entries)))

    def drop(self, is_dropped: Callable[[ResultKey], bool]) -> None:
        """Remove the results of these keys; results of calls in progress are not stored."""
        with self._lock:
            self.changes += 1
            for key in list(filter(is_dropped, self._entries)):
                self._remove(key)

    def _remove(self, key: ResultKey) -> None:
        cached = self._entries.pop(key, None)
        if cached is not None:
            self.size_bytes -= cached.size_bytes
