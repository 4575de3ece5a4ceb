"""Lists of one server: fetched on demand, cached until `list_changed` or a TTL.

A list that cannot be fetched keeps its last known items, and is fetched again after a pause.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from mcp_gen.client.session.session import ClientSession
from mcp_gen.core.errors import McpGenError, MethodNotFound, RequestTimeout, TransportError
from mcp_gen.manager.names import names_for

if TYPE_CHECKING:
    from mcp_gen.contracts.approval import ToolApproval

__all__ = ["Catalog", "CatalogList", "ListName"]

ListName: TypeAlias = Literal["tools", "prompts", "resources", "resource_templates"]


class _Source(NamedTuple):
    walk: str
    """Name of the iterator method of ClientSession."""
    capability: str


_SOURCES: Mapping[ListName, _Source] = {
    "tools": _Source(ClientSession.tools.__name__, "tools"),
    "prompts": _Source(ClientSession.prompts.__name__, "prompts"),
    "resources": _Source(ClientSession.resources.__name__, "resources"),
    "resource_templates": _Source(ClientSession.resource_templates.__name__, "resources"),
}
_LISTS_OF_KIND: Mapping[str, tuple[ListName, ...]] = {
    "tools": ("tools",),
    "prompts": ("prompts",),
    "resources": ("resources", "resource_templates"),
}
"""Lists that a `list_changed` notification of each kind invalidates."""


class CatalogList:
    """One cached list."""

    def __init__(self) -> None:
        self.items: Sequence[Any] = ()
        self.by_name: Mapping[str, Any] = {}
        """Tools and prompts by qualified name."""
        self.known = False
        """True if the list has been fetched at least once."""
        self.good_until = 0.0
        self.paused_until = 0.0
        self.lock = asyncio.Lock()
        self._changes = 1
        self._seen = 0

    @property
    def changes(self) -> int:
        """Number of invalidations."""
        return self._changes

    @property
    def stale(self) -> bool:
        """True if the list was invalidated since it was fetched."""
        return self._seen < self._changes

    def invalidate(self) -> None:
        """Mark the list as changed, and end its pause."""
        self._changes += 1
        self.paused_until = 0.0

    def update(self, changes: int) -> None:
        """Mark the list as fetched when it had this number of invalidations."""
        self._seen = changes
        self.known = True


class Catalog:
    """Cached lists of one server.

    Args:
        part: The server's part of qualified names.
        ttl_s: Seconds that a list is fresh, if the server sends no `list_changed` for it.
        timeout_s: Seconds that fetching all pages of a list may take.
        pause_s: Seconds after a failure before a list is fetched again.
    """

    def __init__(self, part: str, *, ttl_s: float, timeout_s: float, pause_s: float) -> None:
        self._part = part
        self._ttl_s = ttl_s
        self._timeout_s = timeout_s
        self._pause_s = pause_s
        self.approval: ToolApproval | None = None
        """Decides which tools may be used; None: all."""
        self._lists: dict[ListName, CatalogList] = {what: CatalogList() for what in _SOURCES}

    def __getitem__(self, what: ListName) -> CatalogList:
        return self._lists[what]

    def invalidate(self, kind: str) -> None:
        """Invalidate the lists of a kind: `tools`, `prompts` or `resources`."""
        for what in _LISTS_OF_KIND[kind]:
            self._lists[what].invalidate()

    def invalidate_all(self) -> None:
        """Invalidate all lists, after a reconnect: the server may have changed."""
        for kind in _LISTS_OF_KIND:
            self.invalidate(kind)

    async def get(
        self, what: ListName, session: ClientSession, *, tells: bool
    ) -> tuple[CatalogList, McpGenError | None]:
        """Return a list, fetched first unless it is fresh.

        Args:
            what: The list.
            session: The session to fetch it with.
            tells: True if the server sends `list_changed` for it; it is then fresh until one comes.

        Returns:
            The list, and the error if it could not be fetched.
        """
        now = asyncio.get_running_loop().time
        found = self._lists[what]
        if self._is_good(found, now(), tells=tells):
            return found, None
        async with found.lock:
            if self._is_good(found, now(), tells=tells):
                return found, None
            # A change while the pages are fetched may be in them or not: count from before.
            changes = found.changes
            try:
                items = await self._fetch(what, session)
            except McpGenError as error:
                if not isinstance(error, TransportError):
                    # Pause, but not after a lost connection: the supervisor reconnects.
                    found.invalidate()
                    found.paused_until = now() + self._pause_s
                return found, error
            if what == "tools" and self.approval is not None:
                items = self.approval.admit(items, session.revision)
            found.items = items
            found.update(changes)
            found.good_until = now() + self._ttl_s
            if what in ("tools", "prompts"):
                by_own = {item.name: item for item in items}
                names = names_for(self._part, by_own)
                found.by_name = {name: by_own[own] for name, own in names.items()}
            return found, None

    def _is_good(self, found: CatalogList, now: float, *, tells: bool) -> bool:
        if found.stale:
            # After a failure: serve the known items until the pause is over.
            return now < found.paused_until
        return tells or now < found.good_until

    async def _fetch(self, what: ListName, session: ClientSession) -> list[Any]:
        source = _SOURCES[what]
        if getattr(session.server_capabilities, source.capability, None) is None:
            return []
        try:
            async with asyncio.timeout(self._timeout_s):
                walk: Callable[[], AsyncIterator[Any]] = getattr(session, source.walk)
                return [item async for item in walk()]
        except TimeoutError:
            raise RequestTimeout(f"{what}: no whole list in {self._timeout_s:g} s") from None
        except McpGenError as error:
            if getattr(error, "code", None) == MethodNotFound.code:
                return []  # a server with resources may lack templates
            raise
