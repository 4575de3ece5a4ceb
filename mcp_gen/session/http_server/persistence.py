"""Saves and restores sessions in a SessionStore."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from msgspec import Raw, json

import mcp_wire
from mcp_gen.core.revisions import find_revision
from mcp_gen.session.peer.session import RequestOrigin

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.stores.sessions import SessionStore, StoredSession
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.peer.session import Session

__all__ = ["SessionPersistence", "restored_origin", "stored_client"]

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


def stored_client(origin: RequestOrigin) -> Raw:
    """Return a client as another process reads it: the params of a handshake."""
    profile = origin.profile
    handshake = profile.handshake
    assert handshake is not None
    client = handshake.params(
        protocol_version=profile.revision,
        capabilities=origin.capabilities,
        client_info=origin.client_info,
    )
    return Raw(json.encode(client))


def restored_origin(
    kernel: Kernel[Any], stored: StoredSession, session: Session
) -> RequestOrigin | None:
    """Return the origin of a stored session; None if its revision is not offered here."""
    handshakes = kernel.handshakes
    revision = find_revision(stored.revision, handshakes)
    handshake = mcp_wire.profile(handshakes[-1]).handshake if handshakes else None
    if revision is None or handshake is None:
        return None
    client = kernel.bindings[revision].routes[handshake.name].decode(stored.client)
    profile, channel = mcp_wire.profile(revision), session.channel
    return RequestOrigin(profile, channel, session, client.capabilities, client.client_info)
