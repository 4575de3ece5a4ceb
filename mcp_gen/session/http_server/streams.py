"""The streams of one session: those that answer its requests, and those for everything else.

A stream outlives the connection that carries it, so that a client can come back for the rest.

Source:
https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery
"""

from __future__ import annotations

import logging
import re
from collections import deque
from typing import TYPE_CHECKING

from mcp_gen.core.transport import sse

if TYPE_CHECKING:
    from mcp_gen.core.stores.events import EventStore, StoredEvent
    from mcp_gen.core.transport.protocols import Receiver, Reply
    from mcp_wire.profile import Profile

__all__ = ["Stream", "Streams"]

_log = logging.getLogger("mcp_gen.server")

# No more digits than it takes to count: what a client says is not to be a large number.
_EVENT_ID = re.compile(r"(?P<name>[gr](?P<stream>[0-9]{1,15}))-(?P<number>[0-9]{1,15})")

MAX_PENDING = 100
"""How many messages wait for a stream that could carry them; the oldest go first."""


class Stream:
    """One stream: what carries it at the moment, if anything does, and how much has been said."""

    __slots__ = ("begun", "name", "over", "reply", "said", "streams")

    def __init__(self, streams: Streams, reply: Reply, name: str = "") -> None:
        self.streams = streams
        self.name = name
        """What the ids of its events begin with; that of a request gets one when it begins."""
        self.said = 0
        """The number of the last message."""
        self.begun = False
        """Whether its client has heard of it, and may come back for more."""
        self.over = False
        """Whether all has been said."""
        self.reply: Reply | None = reply
        reply.opening = self._open

    def put(self, message: bytes) -> None:
        """Send a message, or keep it for when the client comes back."""
        streams, reply = self.streams, self.reply
        if not self.name:
            self.name = streams.next_name("r")
        if streams.store is None:
            if reply is not None:
                reply.send(sse.event(message))
            return
        self.said += 1
        streams.store.append(streams.session_id, self.name, self.said, message)
        if reply is not None:
            reply.send(sse.event(message, self.event_id(self.said)))

    def event_id(self, number: int) -> str:
        """The id of an event: it says of which stream it is."""
        return f"{self.name}-{number}"

    def detach(self, reply: Reply) -> None:
        """What carried it does so no longer."""
        if self.reply is reply:
            self.reply = None

    def end(self) -> None:
        """All has been said."""
        self.over = True
        if self.begun:
            self.streams.open.pop(self.name, None)
        if self.reply is not None:
            self.reply.end()

    def _open(self) -> bytes:
        """What comes before the first message."""
        self.begun = True
        if not self.name:
            self.name = self.streams.next_name("r")
        self.streams.open[self.name] = self
        return sse.primer(self.event_id(0)) if self.streams.primes else b""


class Streams:
    """The streams of one session; itself the way for what belongs to no request."""

    __slots__ = (
        "_kept_in",
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
        self._kept_in = kept_in
        self.store: EventStore | None = None
        """Where messages are kept, where clients may come back for them."""
        self.primes = False
        """Whether a stream begins with an event that has an id but no message."""
        self.open: dict[str, Stream] = {}
        """The streams that are known to the client and not over, by name."""
        self.count = 0
        """How many streams have been given a name."""
        self._listening: list[Stream] = []
        self._pending: deque[bytes] | None = None

    def negotiate(self, profile: Profile) -> None:
        """The revision has been agreed on."""
        if profile.resumes_streams:
            self.store = self._kept_in
            self.primes = profile.primes_streams and self.store is not None

    def stop_storing(self) -> None:
        """The session has ended: what is still said cannot be come back for."""
        self.store = None

    def next_name(self, kind: str) -> str:
        """A name for a new stream."""
        self.count += 1
        return f"{kind}{self.count}"

    # --- what belongs to no request ---

    def send(self, message: bytes) -> None:
        """Send a message on one stream that the client has opened, or keep it for the next.

        A client that does not read loses its stream: it notices that, and comes back for the rest.
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
        """Wait until the client has read enough for more to be sent."""
        for stream in reversed(self._listening):
            if stream.reply is not None:
                await stream.reply.drain()
                return

    @property
    def has_listener(self) -> bool:
        """Whether a stream is open for what belongs to no request."""
        return bool(self._listening)

    async def listen(self, reply: Reply) -> None:
        """Carry what belongs to no request until the client hangs up, or the session ends."""
        await self._carry(Stream(self, reply, self.next_name("g")), reply)

    async def _carry(self, stream: Stream, reply: Reply) -> None:
        self._listening.append(stream)
        reply.begin()
        pending, self._pending = self._pending, None
        for message in pending or ():
            stream.put(message)
        try:
            await reply.attach_stream()
        finally:
            self._listening.remove(stream)
            stream.detach(reply)
            self.open.pop(stream.name, None)

    # --- coming back ---

    async def resume(self, reply: Reply, last_event_id: str) -> bool:
        """Go on behind an event; whether it is known.

        The stream of a request ends with its answer. One for everything else goes on.
        """
        found = _EVENT_ID.fullmatch(last_event_id)
        if self.store is None or found is None or int(found["stream"]) > self.count:
            return False
        name, number = found["name"], int(found["number"])
        stream = self.open.get(name)
        events, known = await self._missed(self.store, stream, name, number)
        if stream is None:
            if not known and not name.startswith("g"):
                return False
            stream = Stream(self, reply, name)
            stream.over = not name.startswith("g")
            stream.said = events[-1].number if events else number
        else:
            if stream.reply is not None:
                # The client does not know yet that it was heard on two connections.
                stream.reply.end()
            stream.reply = reply
        reply.opening = None
        reply.begin()
        for event in events:
            reply.send(sse.event(event.message, stream.event_id(event.number)))
        await self._resume_stream(stream, reply)
        return True

    async def _missed(
        self, store: EventStore, stream: Stream | None, name: str, number: int
    ) -> tuple[list[StoredEvent], bool]:
        """What came behind an event, and whether anything is known of its stream."""
        events: list[StoredEvent] = []
        while True:
            found = await store.after(self.session_id, name, number)
            events += found or ()
            # While the store was asked there may have come more.
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

    def end_listening(self) -> None:
        """End the streams for what belongs to no request."""
        for stream in list(self._listening):
            stream.end()

    # --- the rest of a duplex transport ---

    async def start(self, receiver: Receiver) -> None:
        """Nothing to start: what comes in comes with POSTs."""

    async def aclose(self) -> None:
        """End what carries messages now."""
        self.end_listening()
