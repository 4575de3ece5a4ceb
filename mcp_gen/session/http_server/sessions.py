"""The HTTP sessions that are open: found by their id, and bounded in number and in time."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from msgspec import Struct

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.session.http_server.session import HttpSession

__all__ = ["SessionLimits", "Sessions"]

_log = logging.getLogger("mcp_gen.server")

LOOKS_AGAIN_AFTER_S = 1.0
SWEEPS_PER_LIMIT = 4
MAX_SWEEP_S = 60.0


class SessionLimits(Struct, frozen=True):
    """How many sessions there may be, and for how long."""

    max_sessions: int = 10_000
    idle_s: float = 1800.0
    """How long a client may be silent, while nothing of its session is open."""
    lifetime_s: float = 86_400.0
    """How long a session lasts, whatever happens in it."""
    makes_room_after_s: float = 60.0
    """How long a client must have been silent before its session makes room for another."""

    def __post_init__(self) -> None:
        for name in ("max_sessions", "idle_s", "lifetime_s"):
            limit: float = getattr(self, name)
            if not limit > 0:
                raise UsageError(f"{name}={limit}: expected more than 0")


class Sessions:
    """Open sessions by id. Those whose time is over are ended."""

    def __init__(self, limits: SessionLimits) -> None:
        self.limits = limits
        shortest = min(limits.idle_s, limits.lifetime_s)
        self._every_s = min(shortest / SWEEPS_PER_LIMIT, MAX_SWEEP_S)
        self._open: dict[str, HttpSession] = {}
        self._full_until_s = 0.0
        """Until when nobody is looked for who could make room, by the clock of the event loop."""
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, id: str) -> bool:
        return id in self._open

    def find(self, id: str, principal: str | None) -> HttpSession | None:
        """The session of that id, if it is this client's."""
        session = self._open.get(id)
        if session is None or session.principal != principal:
            # Whoever is not its client is not even told that there is one.
            return None
        session.mark_active()
        return session

    def has_room(self) -> bool:
        """Whether one more session may begin; the one that is silent for longest may make room."""
        if len(self._open) < self.limits.max_sessions:
            return True
        now_s = asyncio.get_running_loop().time()
        if now_s < self._full_until_s:
            return False
        longest = max(self._open.values(), key=lambda one: one.silent_s())
        if longest.silent_s() < self.limits.makes_room_after_s:
            # To look through all of them is no work to do for each of those who knock.
            self._full_until_s = now_s + LOOKS_AGAIN_AFTER_S
            return False
        longest.end()
        return True

    def add(self, session: HttpSession) -> None:
        """A session has begun."""
        self._open[session.id] = session
        loop = asyncio.get_running_loop()
        if self._timer is None or self._loop is not loop:
            self._loop = loop
            self._sweep_later(loop)

    def remove(self, session: HttpSession) -> None:
        """A session has ended."""
        self._open.pop(session.id, None)
        if not self._open and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def all(self) -> list[HttpSession]:
        """Every session that is open."""
        return list(self._open.values())

    def _sweep_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self._every_s, self._sweep, loop)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        for session in self.all():
            session.check(self._every_s)
            silent_s = session.silent_s()
            if silent_s >= self.limits.idle_s or session.age_s() >= self.limits.lifetime_s:
                _log.debug("a session ends: its client was silent, or its time is over")
                session.end()
        self._timer = None
        if self._open:
            self._sweep_later(loop)
