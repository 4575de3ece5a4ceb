"""Event stores for SSE resumption: Protocols and in-memory implementation."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Awaitable, Generator, Sequence
from typing import NamedTuple, Protocol

__all__ = [
    "EventStore",
    "MemoryEventStore",
    "SharedEventStore",
    "StoredEvent",
    "StreamBeginning",
    "StreamStatus",
]


class StoredEvent(NamedTuple):
    """A stored message.

    Args:
        number: Number of the message in its stream; 1 for the first.
        message: The JSON text.
    """

    number: int
    message: bytes


class StreamBeginning(NamedTuple):
    """Beginning of a stream.

    Args:
        node: Id of the node that runs it.
        request_ids: Ids of the requests that it answers; empty for a stream of no request.
    """

    node: str
    request_ids: Sequence[int | str]


class StreamStatus(NamedTuple):
    """State of a stream that several nodes know.

    Args:
        node: Id of the node that has begun it.
        request_ids: Ids of the requests that it answers; empty for a stream of no request.
        last: Number of its last message; 0 before the first.
        is_over: True if it has ended: no message will follow.
    """

    node: str
    request_ids: tuple[int | str, ...]
    last: int
    is_over: bool


class EventStore(Protocol):
    """Stores the messages of SSE streams, so that a client can resume after a disconnect.

    Called on the event loop; no method may block it. A stream belongs to one session, and its
    messages come in the order of their numbers.
    """

    def append(
        self, session: str, stream: str, number: int, message: bytes
    ) -> Awaitable[bool] | None:
        """Store a message that is being sent.

        Args:
            session: The session id.
            stream: The stream's id within the session.
            number: Number of the message in its stream; 1 for the first.
            message: The JSON text.

        Returns:
            None if the message is stored, or if it does not matter when it is. Otherwise an
            awaitable, which need not be awaited: True once the message is stored; False if it is
            refused, because the stream has ended or has a message with this number or a higher one.
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

    def forget(self, session: str) -> Awaitable[None] | None:
        """Delete the messages of a session that has ended.

        Returns:
            None, or an awaitable, which need not be awaited, of the end of the deletion.
        """
        ...


class SharedEventStore(EventStore, Protocol):
    """Event store of a cluster: any node can follow a stream, and end it for a node that is gone.

    A stream is begun before its first message; messages of a stream that is not known are refused.
    Where a store cannot be reached, awaitables raise StoreDown: it is not known if the operation
    took place, and `after` and `status` tell, once the store can be reached again.
    """

    def begin(
        self, session: str, stream: str, node: str, request_ids: Sequence[int | str]
    ) -> Awaitable[bool] | None:
        """Make a stream known, and who runs it.

        Args:
            session: The session id.
            stream: The stream's id within the session.
            node: Id of the node that runs it.
            request_ids: Ids of the requests that it answers; empty for a stream of no request,
                which is forgotten with its last stored message.

        Returns:
            None, or an awaitable, which need not be awaited: True once the stream is known; False
            if it was known before.
        """
        ...

    async def status(self, session: str, stream: str) -> StreamStatus | None:
        """Return the state of a stream; None if it is unknown.

        Args:
            session: The session id.
            stream: The stream's id within the session.
        """
        ...

    def end(
        self, session: str, stream: str, number: int, message: bytes | None
    ) -> Awaitable[bool] | None:
        """End a stream, unless it has ended: of several nodes that try, only the first succeeds.

        Args:
            session: The session id.
            stream: The stream's id within the session.
            number: Number of the last message.
            message: The last message as JSON text; None for none, whatever the number.

        Returns:
            None if the stream has ended with this message. Otherwise an awaitable, which need not
            be awaited: True if it has, False if it had ended before, is not known, or has a message
            with this number or a higher one.
        """
        ...

    def write(
        self,
        session: str,
        stream: str,
        messages: Sequence[StoredEvent],
        beginning: StreamBeginning | None = None,
        *,
        is_end: bool = False,
    ) -> Awaitable[bool] | None:
        """Begin a stream, append messages and end it, or some of that: all in one step, or nothing.

        The same as `begin`, `append` and `end`, but that the beginning of a stream of no request
        is accepted if the stream is known already.

        Args:
            session: The session id.
            stream: The stream's id within the session.
            messages: Messages to append, in the order of their numbers.
            beginning: How the stream begins; None if it has begun.
            is_end: True to end the stream after the messages.

        Returns:
            None if all of it is stored. Otherwise an awaitable, which need not be awaited: True
            once all of it is stored, False if something is refused, and nothing is stored.
        """
        ...


class _StreamRecord:
    """State of a stream that was begun."""

    __slots__ = ("is_over", "last", "node", "request_ids")

    def __init__(self, node: str, request_ids: tuple[int | str, ...]) -> None:
        self.node = node
        self.request_ids = request_ids
        self.last = 0
        self.is_over = False


class _SessionEvents:
    """The messages of one session, and its streams that were begun.

    An event without a message stands for a stream that began without a request, or has ended.
    """

    __slots__ = ("events", "size_bytes", "streams")

    def __init__(self) -> None:
        self.events: deque[tuple[str, int, bytes | None]] = deque()
        self.size_bytes = 0
        self.streams: dict[str, _StreamRecord] = {}

    def drop_oldest(self) -> int:
        stream, number, message = self.events.popleft()
        record = self.streams.get(stream)
        # A call that is still running is not forgotten: its answer would be refused.
        if (
            record is not None
            and record.last == number
            and (record.is_over or not record.request_ids)
        ):
            del self.streams[stream]
        size = len(message or b"")
        self.size_bytes -= size
        return size


class _NotStored:
    """Awaitable of False that needs no event loop."""

    def __await__(self) -> Generator[None, None, bool]:
        yield from ()
        return False


_NOT_STORED = _NotStored()


class MemoryEventStore:
    """Stores the last messages of each session in memory; the newest always, whatever its size.

    Messages of streams that were not begun are not checked: in one process none come twice.

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

    def append(
        self, session: str, stream: str, number: int, message: bytes
    ) -> Awaitable[bool] | None:
        """Store a message and drop old ones beyond the limits; see `EventStore.append`."""
        session_events = self._sessions.get(session)
        if session_events is None:
            session_events = self._sessions[session] = _SessionEvents()
        else:
            self._sessions.move_to_end(session)
            if session_events.streams:
                record = session_events.streams.get(stream)
                if record is not None:
                    if record.is_over or number <= record.last:
                        return _NOT_STORED
                    record.last = number
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
        return None

    async def after(self, session: str, stream: str, number: int) -> Sequence[StoredEvent] | None:
        """Return the messages of a stream that follow a message; see `EventStore.after`."""
        session_events = self._sessions.get(session)
        if session_events is None:
            return None
        of_stream = [
            StoredEvent(n, message)
            for s, n, message in session_events.events
            if s == stream and message is not None
        ]
        if not of_stream and stream not in session_events.streams:
            return None
        return [event for event in of_stream if event.number > number]

    def forget(self, session: str) -> None:
        """Delete the messages of a session."""
        session_events = self._sessions.pop(session, None)
        if session_events is not None:
            self._size_bytes -= session_events.size_bytes

    # --- streams that several nodes know ---

    def begin(
        self, session: str, stream: str, node: str, request_ids: Sequence[int | str]
    ) -> Awaitable[bool] | None:
        """Make a stream known; see `SharedEventStore.begin`."""
        session_events = self._sessions.setdefault(session, _SessionEvents())
        if stream in session_events.streams:
            return _NOT_STORED
        record = session_events.streams[stream] = _StreamRecord(node, tuple(request_ids))
        if not record.request_ids:
            self._mark(session_events, stream, 0)
        return None

    def write(
        self,
        session: str,
        stream: str,
        messages: Sequence[StoredEvent],
        beginning: StreamBeginning | None = None,
        *,
        is_end: bool = False,
    ) -> Awaitable[bool] | None:
        """Begin a stream, append messages and end it; see `SharedEventStore.write`."""
        session_events = self._sessions.get(session)
        record = None if session_events is None else session_events.streams.get(stream)
        if record is not None:
            last = record.last
            if record.is_over or (beginning is not None and beginning.request_ids):
                return _NOT_STORED
        elif beginning is not None:
            last = 0
        else:
            return _NOT_STORED
        for number, _ in messages:
            if number <= last:
                return _NOT_STORED
            last = number
        if record is None and beginning is not None:
            self.begin(session, stream, *beginning)
        for number, message in messages:
            self.append(session, stream, number, message)
        if is_end and messages:
            self._sessions[session].streams[stream].is_over = True
        elif is_end:
            self.end(session, stream, last, None)
        return None

    async def status(self, session: str, stream: str) -> StreamStatus | None:
        """Return the state of a stream; see `SharedEventStore.status`."""
        session_events = self._sessions.get(session)
        record = None if session_events is None else session_events.streams.get(stream)
        if record is None:
            return None
        return StreamStatus(record.node, record.request_ids, record.last, record.is_over)

    def end(
        self, session: str, stream: str, number: int, message: bytes | None
    ) -> Awaitable[bool] | None:
        """End a stream, unless it has ended; see `SharedEventStore.end`."""
        session_events = self._sessions.get(session)
        record = None if session_events is None else session_events.streams.get(stream)
        if session_events is None or record is None or record.is_over:
            return _NOT_STORED
        if message is None:
            self._mark(session_events, stream, record.last)
        elif (refused := self.append(session, stream, number, message)) is not None:
            return refused
        record.is_over = True
        return None

    def _mark(self, session_events: _SessionEvents, stream: str, number: int) -> None:
        session_events.events.append((stream, number, None))
        if len(session_events.events) > self._session_events:
            self._size_bytes -= session_events.drop_oldest()
