"""Saves and restores sessions in a SessionStore."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.stores.sessions import SessionStore, StoredSession

__all__ = ["SessionPersistence"]

_log = logging.getLogger("mcp_gen.server")


class SessionPersistence:
    """Keeps sessions in a store. One that fails costs a session its next process, nothing now."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    async def save(self, snapshot: Callable[[], StoredSession | None]) -> None:
        """Save what is known of a session; nothing if its snapshot is None."""
        try:
            stored = snapshot()
            if stored is not None:
                await self._store.save(stored)
        except Exception:
            _log.exception("a session could not be saved")

    async def load(self, id: str) -> StoredSession | None:
        """What is known of a session; None if nothing is."""
        try:
            return await self._store.load(id)
        except Exception:
            _log.exception("a session could not be loaded")
            return None

    async def forget(self, id: str) -> None:
        """The session has ended."""
        try:
            await self._store.forget(id)
        except Exception:
            _log.exception("a session that has ended could not be taken out of its store")
