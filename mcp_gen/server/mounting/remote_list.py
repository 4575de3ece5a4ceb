"""What a remote server lists, as it was last told, and for how long that holds good."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.core.errors import McpGenError, ProtocolError
from mcp_gen.core.projection.project import project
from mcp_gen.server.listing.registry import next_number
from mcp_gen.server.mounting.kinds import TOOLS, FeatureKind, row
from mcp_gen.server.mounting.mount import Mounted

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.relay import Relay

__all__ = ["RemoteList"]

TIMEOUT_S = 10.0
"""How long a list may take: those of other servers wait for it."""
RETRY_S = 5.0
"""For how long a server that gave no list is not asked for it again."""
MAX_PAGES = 1000

_log = logging.getLogger("mcp_gen.server")


class RemoteList:
    """One list of a remote server: its items by their names there."""

    def __init__(
        self,
        kind: FeatureKind,
        relay: Relay,
        title: str,
        dressed: Callable[[FeatureKind, Any], Any],
        warn: Callable[[str, str], None],
    ) -> None:
        self.items: dict[str, Mounted] = {}
        self.is_known = False
        """Whether the list has ever been fetched."""
        self.private = False
        """Whether the server says that it is for this session alone."""
        self._kind = kind
        self._relay = relay
        self._title = title
        self._dressed = dressed
        self._warn = warn
        self._changes = 0
        self._seen = -1
        self._until = 0.0
        self._retry_at = 0.0
        self._fetching: asyncio.Task[None] | None = None

    def is_fresh(self, told: bool) -> bool:
        """Whether the list still holds good; `told` says whether changes are heard of."""
        if self._seen != self._changes:
            return False
        return told or asyncio.get_running_loop().time() < self._until

    def outdate(self) -> None:
        """The list is another one."""
        self._changes += 1
        self._retry_at = 0.0

    async def refresh(self, told: bool) -> None:
        """Fetch the list, unless it holds good. Where it cannot be had it stays as it is."""
        loop = asyncio.get_running_loop()
        if self.is_fresh(told) or loop.time() < self._retry_at:
            return
        fetching = self._fetching
        if fetching is None or fetching.done() or fetching.get_loop() is not loop:
            fetching = self._fetching = loop.create_task(self._fetch())
        # Several wait for the one fetch, and one of them may give up.
        await asyncio.shield(fetching)

    async def _fetch(self) -> None:
        loop = asyncio.get_running_loop()
        changes = self._changes
        try:
            async with asyncio.timeout(TIMEOUT_S):
                items, ttl_ms = await self._pages()
        except (McpGenError, TimeoutError) as error:
            self._retry_at = loop.time() + RETRY_S
            why = error if isinstance(error, McpGenError) else f"no answer in {TIMEOUT_S:g} s"
            _log.warning(
                "mount %s: its %s are not listed: %s", self._title, self._kind.feature, why
            )
            return
        self.items = items
        self.is_known = True
        self._seen = changes
        self._until = loop.time() + ttl_ms / 1000

    async def _pages(self) -> tuple[dict[str, Mounted], int]:
        relay, kind = self._relay, self._kind
        await relay.ready()
        revision = relay.profile.revision
        method = row(kind.lists, revision)
        if method is None or getattr(relay.capabilities, kind.feature, None) is None:
            return {}, 0
        found: dict[str, Mounted] = {}
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
            for one in getattr(page, _field(kind)):
                self._add(found, one)
            ttl_ms.append(getattr(page, "ttl_ms", None) or 0)
            self.private = getattr(page, "cache_scope", None) == "private" and bool(ttl_ms[-1])
            cursor = page.next_cursor
            if cursor is None:
                return found, min(ttl_ms)
        raise ProtocolError(f"{method.name}: no end of pages")

    def _add(self, found: dict[str, Mounted], one: Any) -> None:
        key = self._kind.key
        if self._kind is TOOLS and _needs_task(one):
            self._warn(one.name, "can only be called as a task, which does not pass: left out")
            return
        inside = getattr(one, key)
        described = self._dressed(self._kind, project(one, mcp_wire.LATEST).value)
        if described is None or inside in found:
            return
        before = self.items.get(inside)
        number = before.number if before else next_number()
        found[inside] = Mounted(number, getattr(described, key), described)


def _params(method: Any, cursor: str | None) -> Any:
    return method.params(meta={}, cursor=cursor)


def _field(kind: FeatureKind) -> str:
    return "resource_templates" if kind.listing == "templates" else kind.feature


def _needs_task(tool: Any) -> bool:
    execution = getattr(tool, "execution", None)
    return getattr(execution, "task_support", None) == "required"
