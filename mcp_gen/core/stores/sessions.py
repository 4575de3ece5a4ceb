"""HTTP session stores: Protocols and in-memory implementation."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Raw, Struct
from msgspec.structs import replace

__all__ = ["MemorySessionStore", "SessionStore", "SharedSessionStore", "StoredSession"]

MAX_MOVES = 256
"""Number of the last moves of a session whose nodes are remembered."""
MAX_EXPIRED = 500
"""Maximum number of sessions that one call of `expired` returns."""


class StoredSession(Struct, frozen=True, kw_only=True):
    """A session in a form that any store can keep: `msgspec.json` encodes and decodes it.

    State that only a process can have is not part of it: requests in progress and streams. The
    program's own values in `session.state` are part of it in a cluster.
    """

    id: str
    """The session id."""
    client: Raw
    """Params of the `initialize` request as JSON: client info and capabilities."""
    revision: str
    """The negotiated revision."""
    principal: str | None = None
    """The user that the session belongs to; None where users are not authenticated."""
    key_thumbprint: str | None = None
    """Thumbprint of the key that the session's tokens must be bound to (DPoP); None for any."""
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
    state: dict[str, Raw] = {}
    """Values of `session.state` as JSON, by key; empty without a cluster."""
    changes: int = 0
    """Number of changes, counted by a shared store."""


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


class SharedSessionStore(SessionStore, Protocol):
    """Session store of a cluster: every node reads and changes the sessions.

    Times are seconds since the epoch. Where the store cannot be reached, methods raise StoreDown.
    """

    async def create(self, session: StoredSession, *, limit: int, keep_s: float) -> bool:
        """Store a new session, which was heard of at its `began_at`.

        Args:
            session: The session; its id is new.
            limit: Maximum number of sessions of all nodes.
            keep_s: Seconds after the last `touch` from which on the store may drop the session.

        Returns:
            False if there are `limit` sessions already, or one with this id.
        """
        ...

    async def update(self, id: str, fields: Mapping[str, Any], expected_changes: int) -> int | None:
        """Replace fields of a session, unless it was changed since it was read.

        Args:
            id: The session id.
            fields: New values of fields of StoredSession, other than `id` and `changes`.
            expected_changes: `changes` of the session as it was read.

        Returns:
            The new number of changes; None if the session has another number, or is gone.
        """
        ...

    async def touch(self, heard: Mapping[str, float]) -> Sequence[str]:
        """Store when sessions were last heard of. A time before the stored one changes nothing.

        Args:
            heard: Times by session id.

        Returns:
            Ids of sessions that are gone.
        """
        ...

    async def count(self) -> int:
        """Return the number of sessions."""
        ...

    async def expired(self, heard_before: float, *, most: int = MAX_EXPIRED) -> Sequence[str]:
        """Return sessions that were not heard of since, each to one caller only, which ends them.

        They do not count any more. A call may return only some of them; the next returns others.

        Args:
            heard_before: Time before which the sessions were last heard of.
            most: Maximum number of sessions; those that were not heard of for longest come first.
        """
        ...

    async def enter(self, id: str, node: str) -> int | None:
        """Return a move number that no other node has, nor the same node before.

        Args:
            id: The session id.
            node: Node that goes on with the session.

        Returns:
            1 or more; None if the session is gone.
        """
        ...

    async def node_of(self, id: str, move: int) -> str | None:
        """Return the node that has a move number.

        Args:
            id: The session id.
            move: A number of `enter`.

        Returns:
            The node; None if the number is unknown, or long past.
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
        self._heard: dict[str, float] = {}
        """When the sessions of `create` were last heard of."""
        self._moves: dict[str, dict[int, str]] = {}
        """Nodes by their move numbers, by session id."""

    def __len__(self) -> int:
        return len(self._sessions)

    async def save(self, session: StoredSession) -> None:
        """Store a session."""
        self._sessions[session.id] = session
        self._sessions.move_to_end(session.id)
        while len(self._sessions) > self._max_sessions:
            await self.forget(next(iter(self._sessions)))

    async def load(self, id: str) -> StoredSession | None:
        """Return the session with that id; None if it is unknown."""
        return self._sessions.get(id)

    async def forget(self, id: str) -> None:
        """Delete a session."""
        self._sessions.pop(id, None)
        self._heard.pop(id, None)
        self._moves.pop(id, None)

    # --- several nodes ---

    async def create(self, session: StoredSession, *, limit: int, keep_s: float) -> bool:
        """Store a new session; see `SharedSessionStore.create`. Nothing is dropped by itself."""
        if len(self._heard) >= limit or session.id in self._sessions:
            return False
        await self.save(session)
        self._heard[session.id] = session.began_at
        return True

    async def update(self, id: str, fields: Mapping[str, Any], expected_changes: int) -> int | None:
        """Replace fields of a session; see `SharedSessionStore.update`."""
        stored = self._sessions.get(id)
        if stored is None or stored.changes != expected_changes:
            return None
        changes = stored.changes + 1
        self._sessions[id] = replace(stored, **fields, changes=changes)
        return changes

    async def touch(self, heard: Mapping[str, float]) -> Sequence[str]:
        """Store when sessions were last heard of; see `SharedSessionStore.touch`."""
        for id, heard_at in heard.items():
            if id in self._heard:
                self._heard[id] = max(heard_at, self._heard[id])
        return [id for id in heard if id not in self._heard]

    async def count(self) -> int:
        """Return the number of sessions of `create`."""
        return len(self._heard)

    async def expired(self, heard_before: float, *, most: int = MAX_EXPIRED) -> Sequence[str]:
        """Return sessions that were not heard of since; see `SharedSessionStore.expired`."""
        silent = [id for id, heard_at in self._heard.items() if heard_at < heard_before]
        found = sorted(silent, key=self._heard.__getitem__)[:most]
        for id in found:
            del self._heard[id]
        return found

    async def enter(self, id: str, node: str) -> int | None:
        """Return a new move number; see `SharedSessionStore.enter`."""
        stored = self._sessions.get(id)
        if stored is None:
            return None
        move = stored.moves + 1
        # Not a change of the session: `changes` stays.
        self._sessions[id] = replace(stored, moves=move)
        moves = self._moves.setdefault(id, {})
        moves[move] = node
        moves.pop(move - MAX_MOVES, None)
        return move

    async def node_of(self, id: str, move: int) -> str | None:
        """Return the node that has a move number; see `SharedSessionStore.node_of`."""
        return self._moves.get(id, {}).get(move)
