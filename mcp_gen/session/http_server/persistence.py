"""Sessions that outlive their process: what of them goes into a store, and comes out of it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from msgspec import Raw, json

import mcp_wire
from mcp_gen.core.revisions import listed
from mcp_gen.core.stores.sessions import StoredSession
from mcp_gen.session.peer.session import Caller

if TYPE_CHECKING:
    from mcp_gen.core.stores.sessions import SessionStore
    from mcp_gen.session.http_server.session import HttpSession

__all__ = ["Keeper"]

_log = logging.getLogger("mcp_gen.server")

NAMES_PER_MOVE = 1 << 20
"""How far the numbers of streams are apart that two processes give in one session."""


class Keeper:
    """Keeps sessions in a store. One that fails costs a session its next process, nothing now."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    async def save(self, session: HttpSession) -> None:
        """Keep what is known of a session."""
        session.unsaved = False
        if session.caller is None or session.over:
            return
        try:
            await self._store.save(_stored(session))
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

    def restore(self, session: HttpSession, stored: StoredSession) -> bool:
        """Go on with a session; whether this server can, at its revision."""
        handshakes = session.kernel.handshakes
        revision = listed(stored.revision, handshakes)
        handshake = mcp_wire.profile(handshakes[-1]).handshake if handshakes else None
        if revision is None or handshake is None:
            return False
        profile = mcp_wire.profile(revision)
        client = session.kernel.binding(revision).routes[handshake.name].decode(stored.client)
        caller = Caller(profile, session, session, client.capabilities, client.client_info)
        caller.principal = stored.principal
        session.began_s -= max(0.0, time.time() - stored.began_at)
        session.log_level = stored.log_level
        session.subscribed.update(stored.subscribed)
        session.moves = stored.moves + 1
        # What two processes sent in one session is to be told apart by its event ids.
        session.streams.count = session.moves * NAMES_PER_MOVE
        session.agree(caller, profile)
        if stored.ready:
            session.begin()
        return True


def _stored(session: HttpSession) -> StoredSession:
    caller = session.caller
    assert caller is not None
    profile = caller.profile
    handshake = profile.handshake
    assert handshake is not None
    client = handshake.params(
        protocol_version=profile.revision,
        capabilities=caller.capabilities,
        client_info=caller.client_info,
    )
    return StoredSession(
        id=session.id,
        client=Raw(json.encode(client)),
        revision=profile.revision,
        principal=session.principal,
        began_at=time.time() - session.age_s(),
        ready=session.begun,
        log_level=session.log_level,
        subscribed=tuple(sorted(session.subscribed)),
        moves=session.moves,
    )
