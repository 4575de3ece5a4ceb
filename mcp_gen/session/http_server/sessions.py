"""Registry of open HTTP sessions, with limits on their number, idle time and lifetime."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from msgspec import Struct

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.http_server.session import HttpSession

__all__ = ["SessionLimits", "Sessions", "key_thumbprint_of"]

_log = logging.getLogger("mcp_gen.server")

LOOKS_AGAIN_AFTER_S = 1.0
"""Seconds between two searches for a session that could make room."""
ENDING_BESIDE = 100
"""Sessions that may be ending beside the most that may be open; beyond that none begins."""
SWEEPS_PER_LIMIT = 4
"""Number of idle checks within the shortest limit."""
MAX_SWEEP_S = 60.0
"""Maximum number of seconds between two idle checks."""


def key_thumbprint_of(reply: Reply) -> str | None:
    """Return the thumbprint of the key that the token of a request is bound to, if it is."""
    token = reply.admission.token
    return None if token is None else token.key_thumbprint


class SessionLimits(Struct, frozen=True):
    """Limits on the number and the duration of HTTP sessions.

    Args:
        max_sessions: Sessions that may be open at the same time.
        idle_s: Seconds without activity of the client after which a session ends; none pass while a
            request or a stream of the session is open.
        lifetime_s: Seconds after which a session ends in any case.
        makes_room_after_s: Seconds without activity after which a session may be ended to make room
            for a new one.

    Raises:
        UsageError: one of the first three is not above 0.
    """

    max_sessions: int = 10_000
    idle_s: float = 1800.0
    lifetime_s: float = 86_400.0
    makes_room_after_s: float = 60.0

    def __post_init__(self) -> None:
        for name in ("max_sessions", "idle_s", "lifetime_s"):
            limit: float = getattr(self, name)
            if not limit > 0:
                raise UsageError(f"{name}={limit}: expected more than 0")


class Sessions:
    """Registry of open sessions by id; ends those whose time is over.

    Args:
        limits: Limits on the sessions.
    """

    def __init__(self, limits: SessionLimits) -> None:
        self.limits = limits
        shortest = min(limits.idle_s, limits.lifetime_s)
        self._every_s = min(shortest / SWEEPS_PER_LIMIT, MAX_SWEEP_S)
        self._open: dict[str, HttpSession] = {}
        self._starting: set[object] = set()
        """Places of sessions that are not open yet."""
        self.ending = 0
        """Number of sessions that have ended, but whose hooks and server have not."""
        self._full_until_s = 0.0
        """Event loop time until which no session is searched for that could make room."""
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, id: str) -> bool:
        return id in self._open

    def get(self, id: str) -> HttpSession | None:
        """Return the open session with an id, whoever may use it."""
        return self._open.get(id)

    def find(self, header: bytes, reply: Reply) -> HttpSession | None:
        """Return the session that a header names if it is this client's, and mark it as active.

        A session whose first token was bound to a key belongs to the holder of that key alone.
        """
        session = self._open.get(header.decode("latin-1").strip())
        if session is None or session.principal != reply.principal:
            # Another client gets the same error as for a session that does not exist.
            return None
        key = session.key_thumbprint
        if key is not None and key_thumbprint_of(reply) != key:
            return None
        now_s = session.loop.time()
        if now_s > session.heard_s:
            session.heard_s = now_s
        return session

    def take_place(self) -> object | None:
        """Take a place for a session that begins; the longest idle one may be ended for it.

        Returns:
            The place, which `add` or `give_back` frees; None if there is none.
        """
        if not self._has_room():
            return None
        place = object()
        self._starting.add(place)
        return place

    def give_back(self, place: object) -> None:
        """Free a place whose session was not opened; do nothing if it was."""
        self._starting.discard(place)

    def _has_room(self) -> bool:
        most = self.limits.max_sessions
        if self.ending >= most + ENDING_BESIDE:
            return False
        if len(self._open) + len(self._starting) < most:
            return True
        if not self._open:
            return False
        now_s = asyncio.get_running_loop().time()
        if now_s < self._full_until_s:
            return False
        longest = max(self._open.values(), key=lambda one: one.silent_s())
        if longest.silent_s() < self.limits.makes_room_after_s:
            # Searching all sessions is too costly for each request while there is no room.
            self._full_until_s = now_s + LOOKS_AGAIN_AFTER_S
            return False
        longest.expire()
        return True

    def add(self, session: HttpSession, place: object) -> None:
        """Open a session in the place that was taken for it, and start the idle timer."""
        self._starting.discard(place)
        self._open[session.id] = session
        loop = asyncio.get_running_loop()
        if self._timer is None or self._loop is not loop:
            self._loop = loop
            self._sweep_later(loop)

    def remove(self, session: HttpSession) -> None:
        """Remove a session that has ended."""
        self._open.pop(session.id, None)
        if not self._open and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def all(self) -> list[HttpSession]:
        """Return all open sessions."""
        return list(self._open.values())

    def _sweep_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self._every_s, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        for session in self.all():
            session.check(self._every_s)
            silent_s = session.silent_s()
            if silent_s >= self.limits.idle_s or session.age_s() >= self.limits.lifetime_s:
                _log.debug("a session ends: its client was silent, or its time is over")
                session.expire()
        self._timer = None
        if self._open:
            self._sweep_later(loop)
