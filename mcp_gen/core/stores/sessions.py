"""What is known of sessions, kept for another process that is to go on with them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from msgspec import Raw, Struct

__all__ = ["MemorySessionStore", "SessionStore", "StoredSession"]


class StoredSession(Struct, frozen=True, kw_only=True):
    """A session as it can be kept anywhere: `msgspec.json` writes it and reads it.

    What only a process can have is not in it: requests that are being answered, streams, and what
    the program keeps in `session.state`.
    """

    id: str
    client: Raw
    """The params of its handshake, as JSON: who the client is, and what it declared."""
    revision: str
    """What was agreed on."""
    principal: str | None = None
    """Who may use it; None where nobody asks."""
    began_at: float
    """When it began, in seconds since the epoch."""
    ready: bool = False
    """Whether the client has said, after the handshake, that it is ready."""
    log_level: str | None = None
    subscribed: tuple[str, ...] = ()
    """The URIs of the resources whose updates it asked for."""
    moves: int = 0
    """How many processes went on with it."""


class SessionStore(Protocol):
    """Keeps sessions for whoever goes on with them. Awaited on the event loop of the server.

    A process asks for a session when its client comes with an id that is not open there. While the
    process is there that has it open, a session's requests should come to that one: what it is
    answering is known nowhere else. An error of a store is logged; the session goes on.
    """

    async def save(self, session: StoredSession) -> None:
        """Keep a session that has begun, or of which something is different now."""
        ...

    async def load(self, id: str) -> StoredSession | None:
        """The session of that id; None if there is none, or its time is over."""
        ...

    async def forget(self, id: str) -> None:
        """The session has ended. Not called for those that are open when a process ends."""
        ...


class MemorySessionStore:
    """Keeps sessions in memory, for several apps in one process; the oldest go first."""

    def __init__(self, *, max_sessions: int = 10_000) -> None:
        self._max_sessions = max_sessions
        self._kept: OrderedDict[str, StoredSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    async def save(self, session: StoredSession) -> None:
        """Keep a session."""
        self._kept[session.id] = session
        self._kept.move_to_end(session.id)
        while len(self._kept) > self._max_sessions:
            self._kept.popitem(last=False)

    async def load(self, id: str) -> StoredSession | None:
        """The session of that id."""
        return self._kept.get(id)

    async def forget(self, id: str) -> None:
        """The session has ended."""
        self._kept.pop(id, None)
