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
    """Saves sessions in a store and logs errors of the store.

    A session continues when its store fails, but no other process can continue it.

    Args:
        store: Store of the sessions.
    """

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    async def save(self, snapshot: Callable[[], StoredSession | None]) -> None:
        """Save the snapshot of a session; do nothing if it is None."""
        try:
            stored = snapshot()
            if stored is not None:
                await self._store.save(stored)
        except Exception:
            _log.exception("a session could not be saved")

    async def load(self, id: str) -> StoredSession | None:
        """Return a stored session; None if there is none or the store fails."""
        try:
            return await self._store.load(id)
        except Exception:
            _log.exception("a session could not be loaded")
            return None

    async def forget(self, id: str) -> None:
        """Remove a session that has ended from the store."""
        try:
            await self._store.forget(id)
        except Exception:
            _log.exception("a session that has ended could not be taken out of its store")
