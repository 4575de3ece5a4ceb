"""One server being used: the same calls whatever revision it speaks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

import mcp_wire
from mcp_gen.session.asking import Asking, AtRevision
from mcp_wire.callers import ServerCaller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_gen.session.client import ClientLink
    from mcp_wire import latest
    from mcp_wire.profile import Profile

__all__ = ["ClientSession"]


class ClientSession(AtRevision, ServerCaller):
    """A server, and what was agreed with it. Made by `Client.connect`.

    Results come as the newest types, or as those of the revision that was pinned.
    """

    def __init__(
        self,
        link: ClientLink,
        profile: Profile,
        *,
        results_at: str,
        meta: dict[str, Any] | None,
        opening: Any,
    ) -> None:
        asking = Asking(link, mcp_wire.profile(results_at), link.hooks.outbound, self)
        requests = import_module(f"{profile.module}.requests")
        super().__init__(profile, requests.ToServer(asking), meta)
        self._link = link
        self.opening = opening
        """The server's answer to the handshake, or to the question what it speaks."""

    @property
    def server_info(self) -> Any:
        """The server's Implementation; None where it does not say."""
        key = self.profile.server_info_key
        if key is None:
            return self.opening.server_info
        meta: dict[str, Any] = self.opening.meta or {}
        info = meta.get(key)
        return info and msgspec.convert(info, mcp_wire.types(self.revision).Implementation)

    @property
    def server_capabilities(self) -> Any:
        """What the server declared."""
        return self.opening.capabilities

    @property
    def instructions(self) -> str | None:
        """How the server wants to be used."""
        instructions: str | None = self.opening.instructions
        return instructions

    async def tools(self) -> AsyncIterator[latest.Tool]:
        """All of the server's tools, page after page."""
        cursor: str | None = None
        while True:
            page = await self.list_tools(cursor)
            for tool in page.tools:
                yield tool
            cursor = page.next_cursor
            if cursor is None:
                return

    async def close(self) -> None:
        """End the session."""
        await self._link.close()
