"""Event store for SSE resumption: Protocol and in-memory implementation."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol

__all__ = ["EventStore", "MemoryEventStore", "StoredEvent"]


class StoredEvent(NamedTuple):
    """A stored message.

    Args:
        number: Number of the message in its stream; 1 for the first.
        message: The JSON text.
    """

    number: int
    message: bytes


class EventStore(Protocol):
    """Stores the messages of SSE streams, so that a client can resume after a disconnect.

    Called on the event loop; no method may block it. A stream belongs to one session, and its
    messages come in the order of their numbers.
    """

    def append(self, session: str, stream: str, number: int, message: bytes) -> None:
        """Store a message that is being sent. A remote store queues it here and returns.

        Args:
            session: The session id.
            stream: The stream's id within the session.
            number: Number of the message in its stream; 1 for the first.
            message: The JSON text.
        """
        ...

    async def after(self, session: str, stream: str, number: int) -> Sequence[StoredEvent] | None:
        """Return the messages of a stream that follow a message, in order.

        Args:
            session: The session id.
            stream: The stream's id within the session.
            number: Number of the last message that the client has received.

        Returns:
            The stored messages with higher numbers; None if the stream is unknown.
        """
        ...

    def forget(self, session: str) -> None:
        """Delete the messages of a session that has ended."""
        ...


class _SessionEvents:
    """The messages of one session."""

    __slots__ = ("events", "size_bytes")

    def __init__(self) -> None:
        self.events: deque[tuple[str, int, bytes]] = deque()
        self.size_bytes = 0

    def drop_oldest(self) -> int:
        size = len(self.events.popleft()[2])
        self.size_bytes -= size
        return size


class MemoryEventStore:
    """Stores the last messages of each session in memory; the newest always, whatever its size.

    Args:
        session_events: Maximum number of messages per session; the oldest are dropped.
        session_bytes: Maximum size of one session's messages, in bytes; the oldest are dropped.
        total_bytes: Maximum size of all sessions' messages, in bytes. Beyond it, all messages of
            the sessions are dropped that have sent nothing for the longest time.
    """

    def __init__(
        self,
        *,
        session_events: int = 1000,
        session_bytes: int = 4 * 1024 * 1024,
        total_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        self._session_events = session_events
        self._session_bytes = session_bytes
        self._total_bytes = total_bytes
        self._sessions: OrderedDict[str, _SessionEvents] = OrderedDict()
        self._size_bytes = 0

    def append(self, session: str, stream: str, number: int, message: bytes) -> None:
        """Store a message and drop old ones beyond the limits; see `EventStore.append`."""
        session_events = self._sessions.get(session)
        if session_events is None:
            session_events = self._sessions[session] = _SessionEvents()
        else:
            self._sessions.move_to_end(session)
        session_events.events.append((stream, number, message))
        session_events.size_bytes += len(message)
        self._size_bytes += len(message)
        while len(session_events.events) > 1 and (
            session_events.size_bytes > self._session_bytes
            or len(session_events.events) > self._session_events
        ):
            self._size_bytes -= session_events.drop_oldest()
        while self._size_bytes > self._total_bytes and len(self._sessions) > 1:
            _, dropped = self._sessions.popitem(last=False)
            self._size_bytes -= dropped.size_bytes

    async def after(self, session: str, stream: str, number: int) -> Sequence[StoredEvent] | None:
        """Return the messages of a stream that follow a message; see `EventStore.after`."""
        session_events = self._sessions.get(session)
        if session_events is None:
            return None
        of_stream = [
            StoredEvent(n, message) for s, n, message in session_events.events if s == stream
        ]
        return [event for event in of_stream if event.number > number] if of_stream else None

    def forget(self, session: str) -> None:
        """Delete the messages of a session."""
        session_events = self._sessions.pop(session, None)
        if session_events is not None:
            self._size_bytes -= session_events.size_bytes
