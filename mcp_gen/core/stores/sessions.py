"""HTTP session store: Protocol and in-memory implementation."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from msgspec import Raw, Struct

__all__ = ["MemorySessionStore", "SessionStore", "StoredSession"]


class StoredSession(Struct, frozen=True, kw_only=True):
    """A session in a form that any store can keep: `msgspec.json` encodes and decodes it.

    State that only a process can have is not part of it: requests in progress, streams, and the
    program's own values in `session.state`.
    """

    id: str
    """The session id."""
    client: Raw
    """Params of the `initialize` request as JSON: client info and capabilities."""
    revision: str
    """The negotiated revision."""
    principal: str | None = None
    """The user that the session belongs to; None where users are not authenticated."""
    began_at: float
    """Start of the session, in seconds since the epoch."""
    ready: bool = False
    """True if the client has sent `notifications/initialized`."""
    log_level: str | None = None
    """The level set by `logging/setLevel`; None if it was not set."""
    subscribed: tuple[str, ...] = ()
    """URIs of the resources that the client has subscribed to."""
    moves: int = 0
    """Number of processes that have resumed the session."""


class SessionStore(Protocol):
    """Stores HTTP sessions, so that another process can resume them.

    Its methods are awaited on the server's event loop.

    A process loads a session when a client sends an id that is not open in this process. While the
    process that has the session open is running, route the session's requests to it: no other
    process knows its requests in progress. An error of a store is logged; the session continues.
    """

    async def save(self, session: StoredSession) -> None:
        """Store a session that is new or has changed."""
        ...

    async def load(self, id: str) -> StoredSession | None:
        """Return the session with that id; None if it is unknown or has expired."""
        ...

    async def forget(self, id: str) -> None:
        """Delete a session that has ended.

        Not called for sessions that are still open when a process ends.
        """
        ...


class MemorySessionStore:
    """Stores sessions in memory, for several apps in one process.

    Args:
        max_sessions: Maximum number of sessions; the ones saved longest ago are dropped.
    """

    def __init__(self, *, max_sessions: int = 10_000) -> None:
        self._max_sessions = max_sessions
        self._sessions: OrderedDict[str, StoredSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    async def save(self, session: StoredSession) -> None:
        """Store a session."""
        self._sessions[session.id] = session
        self._sessions.move_to_end(session.id)
        while len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)

    async def load(self, id: str) -> StoredSession | None:
        """Return the session with that id; None if it is unknown."""
        return self._sessions.get(id)

    async def forget(self, id: str) -> None:
        """Delete a session."""
        self._sessions.pop(id, None)
