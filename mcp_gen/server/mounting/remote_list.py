"""Cached list of a remote server, with its time to live."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.core.errors import McpGenError, ProtocolError, UsageError
from mcp_gen.core.peer_values import seconds_within
from mcp_gen.core.projection.project import restate
from mcp_gen.core.transport.header_params import marked_params
from mcp_gen.server.listing.registry import next_number
from mcp_gen.server.mounting.kinds import TOOLS, FeatureKind
from mcp_gen.server.mounting.mount import ListItem
from mcp_gen.server.relaying.methods import row

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.relay import Relay

__all__ = ["RemoteList"]

TIMEOUT_S = 10.0
"""Timeout of a list in seconds; merged lists wait for it."""
RETRY_S = 5.0
"""Seconds between a failed fetch and the next try."""
MAX_PAGES = 1000
"""Limit of pages per list."""

_log = logging.getLogger("mcp_gen.server")


class RemoteList:
    """Cache of one list of a remote server.

    Args:
        kind: The kind of list.
        relay: Relay to the remote server.
        title: Name of the mount in log messages.
        rename_outward: Returns an item with its outer name, or None to leave it out.
        warn: Logs a problem, given a name and a text.
    """

    def __init__(
        self,
        kind: FeatureKind,
        relay: Relay,
        title: str,
        rename_outward: Callable[[FeatureKind, Any], Any],
        warn: Callable[[str, str], None],
    ) -> None:
        self.items: dict[str, ListItem] = {}
        """Items by inner name or URI."""
        self.is_known = False
        """True once the list has been fetched."""
        self.private = False
        """True if the list has `cacheScope: "private"`."""
        self.has_wrong_marks = False
        """True if clients drop tools of the list where headers repeat arguments."""
        self._kind = kind
        self._relay = relay
        self._title = title
        self._rename_outward = rename_outward
        self._warn = warn
        self._changes = 0
        self._fetched_changes = -1
        self._until = 0.0
        self._retry_at = 0.0
        self._fetching: asyncio.Task[None] | None = None

    def is_fresh(self, has_notifications: bool) -> bool:
        """Return True if the cached list is valid.

        Args:
            has_notifications: True if list_changed notifications arrive. Then the list is valid
                until one does; otherwise until its time to live ends.
        """
        if self._fetched_changes != self._changes:
            return False
        return has_notifications or asyncio.get_running_loop().time() < self._until

    def outdate(self) -> None:
        """Mark the cached list as outdated."""
        self._changes += 1
        self._retry_at = 0.0

    async def refresh(self, has_notifications: bool) -> None:
        """Fetch the list, unless it is fresh; concurrent calls share a fetch. Errors are logged."""
        loop = asyncio.get_running_loop()
        if self.is_fresh(has_notifications) or loop.time() < self._retry_at:
            return
        fetching = self._fetching
        if fetching is None or fetching.done() or fetching.get_loop() is not loop:
            fetching = self._fetching = loop.create_task(self._fetch())
        # Shielded: other callers wait for the same fetch.
        await asyncio.shield(fetching)

    async def _fetch(self) -> None:
        loop = asyncio.get_running_loop()
        changes = self._changes
        try:
            async with asyncio.timeout(TIMEOUT_S):
                items, ttl_ms = await self._pages()
        except (McpGenError, TimeoutError) as error:
            self._retry_at = loop.time() + RETRY_S
            reason = error if isinstance(error, McpGenError) else f"no answer in {TIMEOUT_S:g} s"
            _log.warning(
                "mount %s: its %s are not listed: %s", self._title, self._kind.feature, reason
            )
            return
        self.items = items
        self.has_wrong_marks = any(item.wrong_marks for item in items.values())
        self.is_known = True
        self._fetched_changes = changes
        self._until = loop.time() + seconds_within(ttl_ms)

    async def _pages(self) -> tuple[dict[str, ListItem], int]:
        relay, kind = self._relay, self._kind
        await relay.ready()
        revision = relay.profile.revision
        method = row(kind.lists, revision)
        if method is None or getattr(relay.capabilities, kind.feature, None) is None:
            return {}, 0
        found: dict[str, ListItem] = {}
        ttl_ms: list[int] = []
        cursors: set[str | None] = set()
        cursor: str | None = None
        while cursor not in cursors and len(cursors) < MAX_PAGES:
            cursors.add(cursor)
            raw = await relay.request(
                method, _params(method, cursor), again=True, timeout_s=TIMEOUT_S
            )
            try:
                page = method.decode_result(raw)
            except ValueError as error:
                raise ProtocolError(f"{method.name}: the server's result: {error}") from None
            for item in getattr(page, _field(kind)):
                self._add(found, item)
            ttl_ms.append(getattr(page, "ttl_ms", None) or 0)
            self.private = getattr(page, "cache_scope", None) == "private" and bool(ttl_ms[-1])
            cursor = page.next_cursor
            if cursor is None:
                return found, min(ttl_ms)
        raise ProtocolError(f"{method.name}: no end of pages")

    def _add(self, found: dict[str, ListItem], item: Any) -> None:
        key = self._kind.key
        if self._kind is TOOLS and _needs_task(item):
            self._warn(item.name, "can only be called as a task, which does not pass: left out")
            return
        inner_name = getattr(item, key)
        described = self._rename_outward(self._kind, restate(item, mcp_wire.LATEST).value)
        if described is None or inner_name in found:
            return
        previous = self.items.get(inner_name)
        number = previous.number if previous else next_number()
        wrong_marks = _wrong_marks(described) if self._kind is TOOLS else ""
        found[inner_name] = ListItem(
            number, getattr(described, key), described, wrong_marks=wrong_marks
        )


def _params(method: Any, cursor: str | None) -> Any:
    return method.params(meta={}, cursor=cursor)


def _field(kind: FeatureKind) -> str:
    return "resource_templates" if kind.listing == "templates" else kind.feature


def _wrong_marks(tool: Any) -> str:
    try:
        marked_params(tool.input_schema)
    except UsageError as error:
        return str(error)
    return ""


def _needs_task(tool: Any) -> bool:
    execution = getattr(tool, "execution", None)
    return getattr(execution, "task_support", None) == "required"
