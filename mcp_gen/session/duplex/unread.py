"""Notifications that wait until a peer reads again."""

from __future__ import annotations

import logging
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import UNSET

import mcp_wire
from mcp_wire.base import encode

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from mcp_gen.core.transport.protocols import Lines
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["Notice", "UnreadNotifications"]

_log = logging.getLogger("mcp_gen.wire")

MAX_BYTES = 1024 * 1024
"""Bytes of log messages, and of custom notifications, that wait for one peer."""
ENTRY_BYTES = 256
"""Bytes that each of them takes beside its text."""

_SAME: dict[str, Callable[[Any], Hashable]] = {
    "progress": attrgetter("progress_token"),
    "resource_updated": attrgetter("uri"),
    "task_status": attrgetter("task_id"),
    "tools_changed": lambda params: None,
    "prompts_changed": lambda params: None,
    "resources_changed": lambda params: None,
    "roots_changed": lambda params: None,
}
"""Keys of notifications by Profile attribute: of two with one key, the newer one says all."""


_Key: TypeAlias = "tuple[Hashable, ...]"
"""Method of a notification, and what makes two of them say the same."""


class Notice(NamedTuple):
    """An encoded notification.

    Args:
        message: The notification.
        headers: HTTP headers of its POST; empty elsewhere.
    """

    message: bytes
    headers: Lines = ()


class UnreadNotifications:
    """Notifications for one peer that reads too slowly, in the order in which they are sent.

    * Of those that say the same, such as progress of one request or changes of one list, the newest
      waits. None is lost.
    * Of log messages the newest wait, up to 1 MiB. The others are dropped and counted.
    * Custom notifications wait up to 1 MiB; further ones are dropped.
    * All others, which are few, wait.
    """

    __slots__ = ("_custom_bytes", "_dropped", "_log_bytes", "_logs", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[_Key, Notice] = {}
        self._logs: dict[_Key, int] = {}
        """Keys of the log messages, oldest first, and their sizes in bytes."""
        self._log_bytes = 0
        self._custom_bytes = 0
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(
        self, profile: Profile | None, method: Method[Any, Any], params: Any, notice: Notice
    ) -> None:
        """Let a notification wait, or drop it.

        Args:
            profile: Profile of the negotiated revision; None before.
            method: Its method.
            params: Its params; UNSET for none.
            notice: The encoded notification.
        """
        size = len(notice.message) + ENTRY_BYTES
        same = None if profile is None else _kinds(profile.revision).get(method.name)
        key: _Key = (method.name, object())
        if same is not None:
            meta = getattr(params, "meta", None)
            key = (method.name, None if params is UNSET else same(params), meta and encode(meta))
            # The newest goes last: other notifications may tell of what was before it.
            self._waiting.pop(key, None)
        elif profile is not None and profile.log is not None and method.name == profile.log.name:
            self._make_room(size)
            self._logs[key] = size
            self._log_bytes += size
        elif profile is None or method.name not in profile.methods:
            if self._custom_bytes + size > MAX_BYTES:
                _log.debug("dropped %s: the peer does not read", method.name)
                return
            self._custom_bytes += size
        self._waiting[key] = notice

    def _make_room(self, size: int) -> None:
        """Drop the oldest log messages until another one of this size fits."""
        while self._logs and self._log_bytes + size > MAX_BYTES:
            oldest = next(iter(self._logs))
            self._log_bytes -= self._logs.pop(oldest)
            del self._waiting[oldest]
            self._dropped += 1

    def take(self, name: str | None = None) -> Iterator[Notice]:
        """Remove and yield notifications, oldest first.

        Args:
            name: Method of those that are wanted; None for all.
        """
        for key in list(self._waiting):
            if name is None or key[0] == name:
                notice = self._waiting.pop(key)
                self._log_bytes -= self._logs.pop(key, 0)
                yield notice
        if not self._waiting:
            self._custom_bytes = 0

    def take_dropped(self) -> int:
        """Return the number of log messages that were dropped, and count anew."""
        dropped, self._dropped = self._dropped, 0
        return dropped


@cache
def _kinds(revision: str) -> dict[str, Callable[[Any], Hashable]]:
    """Return the functions for the keys of the notifications of a revision, by method."""
    profile = mcp_wire.profile(revision)
    rows = ((getattr(profile, place), same) for place, same in _SAME.items())
    return {row.name: same for row, same in rows if row is not None}
