"""SSE streams of a session and their replay.

A stream outlives the connection that carries it, so that a client can reconnect for the rest.

Source:
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import logging
import re
from collections import deque
from typing import TYPE_CHECKING

from msgspec import Struct

from mcp_gen.core.transport import sse

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.stores.events import EventStore, StoredEvent
    from mcp_gen.core.transport.protocols import Receiver, Reply
    from mcp_wire.profile import Profile

__all__ = ["EVENT_ID", "MAX_LISTENING", "MAX_PENDING", "Stream", "Streams"]

_log = logging.getLogger("mcp_gen.server")

# A bounded number of digits: a client must not make the server parse a huge number.
EVENT_ID = re.compile(r"(?P<name>[gr](?P<stream>[0-9]{1,15}))-(?P<number>[0-9]{1,15})")

MAX_LISTENING = 32
"""Streams of one session for messages that belong to no request; a further one ends the oldest."""
MAX_PENDING = 100
"""Number of messages that wait for a stream to carry them; the oldest are dropped first."""


class Stream(Struct, eq=False):
    """One SSE stream, with the HTTP response that carries it now, if any.

    Args:
        streams: Streams of the session.
        reply: HTTP response that carries the stream.
        name: Prefix of its event ids; empty gives it one when it begins.
    """

    streams: Streams
    reply: Reply | None
    name: str = ""
    """Prefix of its event ids; empty until the stream begins."""
    said: int = 0
    """Number of the last message."""
    begun: bool = False
    """True if the client knows the stream and may reconnect to it."""
    over: bool = False
    """True if no more messages will follow."""
    asked: tuple[RequestId, ...] = ()
    """Ids of the requests that it answers, where other processes must know them."""

    def put(self, message: bytes) -> None:
        """Send a message, or store it until the client reconnects."""
        streams, reply = self.streams, self.reply
        if not self.name:
            self.name = streams.next_name("r")
        if streams.store is None:
            if reply is not None:
                reply.send(sse.event(message))
            return
        if streams.acknowledges:
            streams.put_acknowledged(self, message)
            return
        self.said += 1
        streams.store.append(streams.session_id, self.name, self.said, message)
        if reply is not None:
            reply.send(sse.event(message, self.event_id(self.said)))

    def event_id(self, number: int) -> str:
        """Return the id of an event, which names the stream."""
        return f"{self.name}-{number}"

    def detach(self, reply: Reply) -> None:
        """Detach the HTTP response that carried the stream, if it still does."""
        if self.reply is reply:
            self.reply = None

    def end(self, last: bytes | None = None) -> None:
        """End the stream: no more messages will follow.

        Args:
            last: The last message; None for none.
        """
        streams = self.streams
        if streams.acknowledges and streams.store is not None:
            streams.end_acknowledged(self, last)
            return
        if last is not None:
            self.put(last)
        # The same as `finish`, inlined to save a call on the hot path.
        self.over = True
        if self.begun:
            streams.open.pop(self.name, None)
        if self.reply is not None:
            self.reply.end()

    def finish(self) -> None:
        """Mark the stream as ended, and end the HTTP response that carries it."""
        self.over = True
        if self.begun:
            self.streams.open.pop(self.name, None)
        if self.reply is not None:
            self.reply.end()

    def begin(self) -> bytes:
        """Begin the stream and return the bytes before its first message; see `Reply.opening`."""
        self.begun = True
        if not self.name:
            self.name = self.streams.next_name("r")
        self.streams.open[self.name] = self
        return self.streams.opening(self)


class Streams:
    """Streams of one session; also its transport for messages that belong to no request.

    Args:
        session_id: Id of the session.
        kept_in: Store of sent events; None makes streams that cannot be resumed.
    """

    __slots__ = (
        "_event_store",
        "_listening",
        "_pending",
        "count",
        "open",
        "primes",
        "session_id",
        "store",
    )

    def __init__(self, session_id: str, kept_in: EventStore | None) -> None:
        self.session_id = session_id
        self._event_store = kept_in
        self.store: EventStore | None = None
        """Store of sent events, if streams can be resumed at the negotiated revision."""
        self.primes = False
        """True if a stream begins with an event that has an id but no message."""
        self.open: dict[str, Stream] = {}
        """Streams that the client knows and that have not ended, by name."""
        self.count = 0
        """Number of streams that have a name."""
        self._listening: list[Stream] = []
        self._pending: deque[bytes] | None = None

    acknowledges = False
    """True if messages are sent only once the store has acknowledged them; see `put_acknowledged`.

    Then this and the next two methods are a subclass's.
    """

    def put_acknowledged(self, stream: Stream, message: bytes) -> None:
        """Store a message, and send it once it is stored."""
        raise NotImplementedError

    def end_acknowledged(self, stream: Stream, last: bytes | None) -> None:
        """Store the end of a stream, with its last message if it has one; send it once stored."""
        raise NotImplementedError

    def close_acknowledged(self, stream: Stream, hint: bytes) -> None:
        """Close the response that carries a stream, after what is still being stored."""
        raise NotImplementedError

    def opening(self, stream: Stream) -> bytes:
        """Return the events before the first message of a stream."""
        return sse.resume_point(stream.event_id(0)) if self.primes else b""

    def negotiate(self, profile: Profile) -> None:
        """Apply the negotiated revision: whether streams can be resumed."""
        if profile.resumes_streams:
            self.store = self._event_store
            self.primes = profile.primes_streams and self.store is not None

    def stop_storing(self) -> None:
        """Stop storing messages: the session has ended, so no client can resume a stream."""
        self.store = None

    def next_name(self, kind: str) -> str:
        """Return a name for a new stream: `g` (GET) or `r` (request), and a number."""
        self.count += 1
        return f"{kind}{self.count}"

    # --- messages that belong to no request ---

    def send(self, message: bytes) -> None:
        """Send a message on one stream that the client has opened, or queue it for the next one.

        If the client does not read, its stream is closed: it notices, and reconnects for the rest.
        """
        for stream in reversed(self._listening):
            reply = stream.reply
            if reply is None or reply.over:
                continue
            if reply.full:
                reply.close_stream()
                continue
            stream.put(message)
            return
        if self._pending is None:
            self._pending = deque(maxlen=MAX_PENDING)
        elif len(self._pending) == MAX_PENDING:
            _log.debug("dropped a message: no stream to the client is open")
        self._pending.append(message)

    async def drain(self) -> None:
        """Wait while the client reads slower than messages are sent (back-pressure)."""
        for stream in reversed(self._listening):
            if stream.reply is not None:
                await stream.reply.drain()
                return

    @property
    def has_listener(self) -> bool:
        """True if a stream for messages that belong to no request is open."""
        return bool(self._listening)

    async def listen(self, reply: Reply) -> None:
        """Carry messages that belong to no request until a disconnect or the session's end."""
        stream = Stream(self, reply, self.next_name("g"))
        reply.opening = stream.begin
        await self._carry(stream, reply)

    async def _carry(self, stream: Stream, reply: Reply) -> None:
        if len(self._listening) >= MAX_LISTENING:
            # The client may have lost it without notice.
            self._listening.pop(0).end()
        self._listening.append(stream)
        reply.begin()
        pending, self._pending = self._pending, None
        for message in pending or ():
            stream.put(message)
        try:
            await reply.attach_stream()
        finally:
            if stream in self._listening:
                self._listening.remove(stream)
            stream.detach(reply)
            self.open.pop(stream.name, None)

    # --- resuming ---

    async def resume(self, reply: Reply, last_event_id: str) -> bool:
        """Resume a stream after an event; return False if the event is not known.

        The stream of a request ends with its response. A stream of a GET continues.

        Args:
            reply: HTTP response that carries the stream from now on.
            last_event_id: Id of the last event that the client has received.
        """
        found = EVENT_ID.fullmatch(last_event_id)
        if self.store is None or found is None or int(found["stream"]) > self.count:
            return False
        name, number = found["name"], int(found["number"])
        stream = self.open.get(name)
        events, known = await self._missed_events(self.store, stream, name, number)
        if stream is None:
            if not known and not name.startswith("g"):
                return False
            stream = Stream(self, reply, name)
            stream.over = not name.startswith("g")
            stream.said = events[-1].number if events else number
        else:
            if stream.reply is not None:
                # The client may not have noticed yet that the old connection is lost.
                stream.reply.end()
            stream.reply = reply
        reply.begin()
        for event in events:
            reply.send(sse.event(event.message, stream.event_id(event.number)))
        await self._resume_stream(stream, reply)
        return True

    async def _missed_events(
        self, store: EventStore, stream: Stream | None, name: str, number: int
    ) -> tuple[list[StoredEvent], bool]:
        """Return the events after an event, and True if the store knows the stream."""
        events: list[StoredEvent] = []
        while True:
            found = await store.after(self.session_id, name, number)
            events += found or ()
            # More messages may have been stored in the meantime.
            if not found or stream is None or found[-1].number >= stream.said:
                return events, found is not None
            number = found[-1].number

    async def _resume_stream(self, stream: Stream, reply: Reply) -> None:
        if stream.name.startswith("g"):
            await self._carry(stream, reply)
        elif not stream.over:
            try:
                await reply.attach_stream()
            finally:
                stream.detach(reply)

    def end_listening(self, retry_ms: int | None = None) -> None:
        """End the streams for messages that belong to no request.

        Args:
            retry_ms: Milliseconds after which clients should open another; None leaves it to them.
        """
        for stream in list(self._listening):
            # Clients of earlier revisions take an event without data for a broken message.
            if retry_ms is not None and self.primes and stream.reply is not None:
                stream.reply.send(sse.retry(retry_ms))
            stream.end()

    # --- the rest of a duplex transport ---

    async def start(self, receiver: Receiver) -> None:
        """Do nothing: messages of the client arrive in POSTs."""

    async def aclose(self) -> None:
        """End the streams that carry messages now."""
        self.end_listening()
