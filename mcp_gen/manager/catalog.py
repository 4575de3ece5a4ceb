"""What one server offers, listed when it is asked for and kept until the server has something else.

A list that cannot be had is the one that is known, and is tried again later: no server keeps the
others from being used.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from mcp_gen.client.session.session import ClientSession
from mcp_gen.core.errors import McpGenError, MethodNotFound, RequestTimeout, TransportError
from mcp_gen.manager.names import names_for

__all__ = ["Catalog", "CatalogList", "What"]

What: TypeAlias = Literal["tools", "prompts", "resources", "resource_templates"]


class _Source(NamedTuple):
    walk: str
    """The iterator of a session."""
    capability: str


_SOURCES: Mapping[What, _Source] = {
    "tools": _Source(ClientSession.tools.__name__, "tools"),
    "prompts": _Source(ClientSession.prompts.__name__, "prompts"),
    "resources": _Source(ClientSession.resources.__name__, "resources"),
    "resource_templates": _Source(ClientSession.resource_templates.__name__, "resources"),
}
_REACH: Mapping[str, tuple[What, ...]] = {
    "tools": ("tools",),
    "prompts": ("prompts",),
    "resources": ("resources", "resource_templates"),
}
"""The lists that a change of each kind is about."""


class CatalogList:
    """One list, as it was when it was last asked for."""

    def __init__(self) -> None:
        self.items: Sequence[Any] = ()
        self.by_name: Mapping[str, Any] = {}
        """Tools and prompts by their names among all servers."""
        self.known = False
        """Whether it has been had at all."""
        self.good_until = 0.0
        self.paused_until = 0.0
        self.lock = asyncio.Lock()
        self._changes = 1
        self._seen = 0

    @property
    def changes(self) -> int:
        """How often the server has told that there is another one."""
        return self._changes

    @property
    def stale(self) -> bool:
        """Whether there is another one by now."""
        return self._seen < self._changes

    def invalidate(self) -> None:
        """There is another one."""
        self._changes += 1
        self.paused_until = 0.0

    def update(self, changes: int) -> None:
        """It was had when the server had told of so many changes."""
        self._seen = changes
        self.known = True


class Catalog:
    """The lists of one server; `part` stands for it in names.

    A list that the server would not tell the change of is good for `ttl_s`; asking for one may take
    `timeout_s`, and after a failure it is not asked for again for `pause_s`.
    """

    def __init__(self, part: str, *, ttl_s: float, timeout_s: float, pause_s: float) -> None:
        self._part = part
        self._ttl_s = ttl_s
        self._timeout_s = timeout_s
        self._pause_s = pause_s
        self._lists: dict[What, CatalogList] = {what: CatalogList() for what in _SOURCES}

    def __getitem__(self, what: What) -> CatalogList:
        return self._lists[what]

    def invalidate(self, kind: str) -> None:
        """There are others of a kind now."""
        for what in _REACH[kind]:
            self._lists[what].invalidate()

    def invalidate_all(self) -> None:
        """It may be another server now."""
        for kind in _REACH:
            self.invalidate(kind)

    async def get(
        self, what: What, session: ClientSession, *, tells: bool
    ) -> tuple[CatalogList, McpGenError | None]:
        """The list, asked for if it is not known to be good; and why it could not be had.

        `tells` says whether the server tells of changes.
        """
        now = asyncio.get_running_loop().time
        found = self._lists[what]
        if self._is_good(found, now(), tells=tells):
            return found, None
        async with found.lock:
            if self._is_good(found, now(), tells=tells):
                return found, None
            # What changes while the pages come may be in them or not.
            changes = found.changes
            try:
                items = await self._ask(what, session)
            except McpGenError as error:
                if not isinstance(error, TransportError):
                    # A lost connection is another's to mend; the list can be had right after it.
                    found.invalidate()
                    found.paused_until = now() + self._pause_s
                return found, error
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
            # After a failure it is left alone for a while.
            return now < found.paused_until
        return tells or now < found.good_until

    async def _ask(self, what: What, session: ClientSession) -> list[Any]:
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
                return []  # servers with resources need have no templates
            raise
