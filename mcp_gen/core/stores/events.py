"""What was sent on the streams of sessions, kept for clients that lost their connection."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol

__all__ = ["EventStore", "MemoryEventStore", "StoredEvent"]


class StoredEvent(NamedTuple):
    """One message, and its number in its stream: 1 for the first."""

    number: int
    message: bytes


class EventStore(Protocol):
    """Keeps the messages of streams. Called on the event loop; nothing here may block it.

    A stream belongs to one session, and its messages come in the order of their numbers.
    """

    def append(self, session: str, stream: str, number: int, message: bytes) -> None:
        """Keep a message that is being sent. What stores elsewhere queues it here."""
        ...

    async def after(self, session: str, stream: str, number: int) -> Sequence[StoredEvent] | None:
        """What came on a stream behind a message, in order; None if nothing is known of it."""
        ...

    def forget(self, session: str) -> None:
        """The session has ended."""
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
    """Keeps the last messages of each session in memory, the newest one whatever its size.

    `session_bytes` is the limit for one session, `total_bytes` that for all: where it is reached,
    the sessions lose theirs that have sent nothing for longest.
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
        self._kept: OrderedDict[str, _SessionEvents] = OrderedDict()
        self._size_bytes = 0

    def append(self, session: str, stream: str, number: int, message: bytes) -> None:
        """Keep a message."""
        kept = self._kept.get(session)
        if kept is None:
            kept = self._kept[session] = _SessionEvents()
        else:
            self._kept.move_to_end(session)
        kept.events.append((stream, number, message))
        kept.size_bytes += len(message)
        self._size_bytes += len(message)
        while len(kept.events) > 1 and (
            kept.size_bytes > self._session_bytes or len(kept.events) > self._session_events
        ):
            self._size_bytes -= kept.drop_oldest()
        while self._size_bytes > self._total_bytes and len(self._kept) > 1:
            _, quiet = self._kept.popitem(last=False)
            self._size_bytes -= quiet.size_bytes

    async def after(self, session: str, stream: str, number: int) -> Sequence[StoredEvent] | None:
        """What came on a stream behind a message."""
        kept = self._kept.get(session)
        if kept is None:
            return None
        of_stream = [StoredEvent(n, message) for s, n, message in kept.events if s == stream]
        return [event for event in of_stream if event.number > number] if of_stream else None

    def forget(self, session: str) -> None:
        """The session has ended."""
        kept = self._kept.pop(session, None)
        if kept is not None:
            self._size_bytes -= kept.size_bytes
