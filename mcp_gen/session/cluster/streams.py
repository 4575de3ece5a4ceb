"""Streams of a session that several nodes serve."""

from __future__ import annotations

import asyncio
import logging
from asyncio import gather
from typing import TYPE_CHECKING

from mcp_gen.core.stores.failures import BusError, StoreDown
from mcp_gen.core.transport import sse
from mcp_gen.session.cluster import bodies
from mcp_gen.session.cluster.bodies import About
from mcp_gen.session.cluster.claims import Claims
from mcp_gen.session.cluster.following import Following
from mcp_gen.session.cluster.forwarding import MessageForwarder
from mcp_gen.session.cluster.outbox import StreamOutbox
from mcp_gen.session.cluster.resumed import ResumedStreams
from mcp_gen.session.http_server.streams import (
    EVENT_ID,
    MAX_LISTENING,
    MAX_PENDING,
    Stream,
    Streams,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_gen.core.stores.events import EventStore, SharedEventStore, StoredEvent
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.cluster.link import ClusterLink
    from mcp_wire.profile import Profile

__all__ = ["NUMBERS_PER_MOVE", "ClusteredStreams"]

_log = logging.getLogger("mcp_gen.server")

NUMBERS_PER_MOVE = 1 << 20
"""Distance between the numbers of streams, and of requests, of two nodes in one session."""
MAX_FORMER = 16
"""Number of nodes, before and after this one, that are asked if they have sent what they had to."""


class ClusteredStreams(Streams):
    """Streams of one session at one node.

    Args:
        session_id: Id of the session.
        kept_in: Store of sent events.
        node: This node.
        fence: Called with a stream of requests that another node has ended.
    """

    __slots__ = (
        "_boxes",
        "_carriers",
        "_fence",
        "_followers",
        "_forwarder",
        "_heard",
        "_node",
        "_shared",
        "claims",
        "following",
        "missed",
        "owes_all",
        "resumed",
        "told",
    )

    acknowledges = True

    def __init__(
        self,
        session_id: str,
        kept_in: EventStore | None,
        node: ClusterLink,
        fence: Callable[[Stream], None],
    ) -> None:
        super().__init__(session_id, kept_in)
        self._node = node
        self._shared: SharedEventStore = node.cluster.events
        self._fence = fence
        self._boxes: dict[str, StreamOutbox] = {}
        """Outboxes of the streams that have not ended, by name."""
        self._followers: dict[str, str] = {}
        """Node at which the client continues a stream, by name."""
        self.following: dict[str, Following] = {}
        """Streams of other nodes that the client continues here, by name."""
        self.claims = Claims()
        self._carriers: dict[str, int] = {}
        """Number of the response that carries each stream for messages of no request, by name."""
        self.resumed = ResumedStreams(session_id, self._shared, node.cluster.lease_s)
        self._forwarder = MessageForwarder(node, session_id, self)
        self._heard: dict[str, int] = {}
        """Number of the last message that another node had sent here, by node."""
        self.missed: dict[bytes, None] = {}
        """Changes that no stream has carried."""
        self.owes_all = False
        """True if every change may have been missed, and none was sent again yet."""
        self.told: set[bytes] = set()
        """Missed changes that were sent since the last claim."""

    # --- the store acknowledges, then bytes leave ---

    @property
    def node_id(self) -> str:
        """Id of this node."""
        return self._node.cluster.node

    async def wait_up(self) -> None:
        """Wait until the stores can be used."""
        await self._node.wait_up()

    def negotiate(self, profile: Profile) -> None:
        """Do nothing: streams can be resumed once the session is stored; see `activate`."""

    def activate(self, profile: Profile, move: int) -> None:
        """Begin to store events: the session is known to all nodes.

        Args:
            profile: Profile of the negotiated revision.
            move: Number of this node in the session.
        """
        self.count = move * NUMBERS_PER_MOVE
        super().negotiate(profile)

    def opening(self, stream: Stream) -> bytes:
        """Return the events before the first message of a stream.

        Those of a stream that answers requests follow once all nodes can know the stream.
        """
        if self.store is None:
            return b""
        first = super().opening(stream)
        if not stream.asked:
            return first
        self._box(stream, first)
        return b""

    def _box(self, stream: Stream, first: bytes = b"") -> StreamOutbox:
        box = self._boxes.get(stream.name)
        if box is None:
            box = self._boxes[stream.name] = StreamOutbox(self._shared, self, stream, first)
        return box

    def put_acknowledged(self, stream: Stream, message: bytes) -> None:
        """Store a message, and send it once it is stored."""
        if not self._is_open(stream):
            return
        stream.said += 1
        event = sse.event(message, stream.event_id(stream.said))
        self._box(stream).put(stream.said, message, event)

    def end_acknowledged(self, stream: Stream, last: bytes | None) -> None:
        """Store the end of a stream, with its last message if it has one; send it once stored."""
        if stream.over:
            return
        if last is None and not stream.begun:
            # The answer is JSON.
            stream.finish()
            return
        if not stream.name.startswith("g") and self._is_open(stream):
            stream.over = True
            number = stream.said + 1
            event = b"" if last is None else sse.event(last, stream.event_id(number))
            self._box(stream).end(number, last, event)
        else:
            self._boxes.pop(stream.name, None)
            stream.finish()

    def close_acknowledged(self, stream: Stream, hint: bytes) -> None:
        """Close the response that carries a stream, after what is still being stored."""
        self._box(stream).close(hint)

    def _is_open(self, stream: Stream) -> bool:
        """Begin a stream with its first message; return False if there is nobody to send to."""
        if not stream.begun and stream.reply is not None:
            # Its head leaves with what the store acknowledges first.
            stream.reply.announce()
        return stream.begun

    def stored(self, stream: Stream) -> None:
        """Handle that the store has more messages of a stream, or its end."""
        follower = self._followers.get(stream.name)
        box = self._boxes.get(stream.name)
        if box is not None and box.is_over:
            del self._boxes[stream.name]
            self._followers.pop(stream.name, None)
        if follower is not None:
            self._tell(follower, bodies.MORE, stream.name)

    def refused(self, stream: Stream, unsent: list[bytes]) -> None:
        """Handle that others have ended a stream, or that one of them carries it."""
        self._boxes.pop(stream.name, None)
        if stream.asked:
            self._tell(self._followers.pop(stream.name, None), bodies.MORE, stream.name)
            self._fence(stream)
            return
        for message in unsent:
            self.send(message)

    def sending(self) -> list[asyncio.Future[bool]]:
        """Return what the store has not acknowledged yet."""
        found = [box.write_now() for box in list(self._boxes.values())]
        return [one for one in found if one is not None]

    # --- messages that belong to no request ---

    @property
    def owns(self) -> bool:
        """True if this node sends the messages of no request."""
        return bool(self._listening) and self.claims.owner == self._node.cluster.node

    @property
    def has_listener(self) -> bool:
        """True if a stream of this node sends the messages of no request."""
        return self.owns

    @property
    def has_listeners_here(self) -> bool:
        """True if a stream for messages of no request is open at this node."""
        return bool(self._listening)

    def send(self, message: bytes) -> None:
        """Send a message on one stream of the session, at whatever node, or queue it."""
        if self.owns:
            super().send(message)
            return
        self._forwarder.send(message)

    def send_here(self, message: bytes) -> None:
        """Send a message on one stream of this node, or queue it for the next one here."""
        super().send(message)

    def take(self, node: str, number: int, message: bytes) -> bool:
        """Send a message of another node; return False if no stream of this node can."""
        if number <= self._heard.get(node, 0):
            return True
        if not self._listening:
            return False
        self._heard[node] = number
        super().send(message)
        return True

    def defers(self, topic: bytes) -> bool:
        """Return True if a change must not be sent here; it is kept if no node sends it."""
        if self.owns:
            return False
        # This node owns the messages without a stream until it hears that it has left.
        is_unsent = self.claims.owner in (None, self._node.id)
        if is_unsent and len(self.missed) < MAX_PENDING:
            self.missed[topic] = None
        return True

    def on_claim(self, node: str, name: str, number: int) -> None:
        """Handle that a node has opened a stream.

        Args:
            node: The node.
            name: Name of the stream.
            number: Number of the response of that node that carries it.
        """
        had_owner = self.claims.owner is not None
        self.claims.claim(node, name, number)
        self._forwarder.is_seeking = False
        self._recover()
        if not had_owner:
            self.told.clear()
        if node != self._node.id:
            for stream in [one for one in self._listening if one.name == name]:
                # The client continues it there.
                self._stop_listening(stream)
                stream.end()
        missed, self.missed = list(self.missed), {}
        if missed:
            self._node.tell_missed(self.session_id, node, missed)
        self._flush()

    def on_leave(self, node: str, name: str, number: int) -> None:
        """Handle that a response of a node that carried a stream has ended."""
        self.claims.leave(node, name, number)
        self._flush()

    def on_gone(self, node: str) -> bool:
        """Handle that a node is gone; return True if this one sends messages in its place."""
        owned = self.owns
        self.claims.drop(node)
        self._flush()
        return self.owns and not owned

    def claim_again(self) -> None:
        """Claim the messages of the session again, if a stream is open here."""
        if self._listening:
            name = self._listening[-1].name
            about = About(self.session_id, name, self._carriers[name])
            self._node.publish_soon(bodies.LISTENS, about)

    def _flush(self) -> None:
        if self.owns or self.claims.owner not in (None, self._node.id):
            pending, self._pending = self._pending, None
            for message in pending or ():
                self.send(message)
        self._forwarder.run_soon()

    async def _carry(self, stream: Stream, reply: Reply) -> None:
        if len(self._listening) >= MAX_LISTENING:
            # The client may have lost it without notice.
            self._listening.pop(0).end()
        former = self.claims.owner
        if former not in (None, self._node.id):
            self._node.run(self._check_former([str(former)]))
        if stream.reply is not reply:
            # The client has come back twice at once.
            self._release_carrier(stream)
            self._stop_listening(stream)
        self._listening.append(stream)
        stream.reply = reply
        # What was missed from now on is another change, even if one of its name was told before.
        self.told.clear()
        number = self._carriers[stream.name] = next(self._node.carriers)
        about = About(self.session_id, stream.name, number)
        try:
            await self._node.publish(bodies.LISTENS, about)
            if stream.over:
                raise StoreDown("the session has ended here in the meantime")
            reply.begin()
            self._flush()
            await reply.attach_stream()
        finally:
            # Unless another response of this node carries it now.
            if stream.reply is reply:
                self._stop_listening(stream)
                stream.reply = None
                self.open.pop(stream.name, None)
                self._boxes.pop(stream.name, None)
                self._carriers.pop(stream.name, None)
                self.resumed.discard(stream)
                # A node that seems to send what it does not keeps others from noting it.
                self._node.publish_surely(bodies.LEAVES, about)

    async def _check_former(self, nodes: Iterable[str]) -> None:
        """Send every change again if a node that sent them before may have sent none of late."""
        about = About(self.session_id)
        asked = (self._node.ask(node, bodies.TAKEN, about) for node in nodes)
        answers = await gather(*asked, return_exceptions=True)
        if any(isinstance(one, BusError) or one == bodies.NO for one in answers):
            self.owes_all = True
            self._recover()

    def _recover(self) -> None:
        """Send every change again, once all nodes know that this one sends them."""
        if self.owes_all and self.owns:
            self.owes_all = False
            self._node.recover_soon(self.session_id)

    async def _check_all_former(self, moves: int) -> None:
        """Check the nodes that have had the session: this one does not know who sent last."""
        sessions = self._node.cluster.sessions
        around = range(max(1, moves - MAX_FORMER), moves + MAX_FORMER)
        found = await gather(*(sessions.node_of(self.session_id, move) for move in around))
        await self._check_former({node for node in found if node} - {self._node.id})

    def _stop_listening(self, stream: Stream) -> None:
        if stream in self._listening:
            self._listening.remove(stream)

    # --- resuming ---

    async def resume(self, reply: Reply, last_event_id: str) -> bool:
        """Resume a stream after an event, at whatever node it began; see `Streams.resume`."""
        found = EVENT_ID.fullmatch(last_event_id)
        if self.store is None or found is None:
            return False
        name, number = found["name"], int(found["number"])
        stream = self.open.get(name)
        if name.startswith("g"):
            return await self._resume_listening(reply, stream, name, number, int(found["stream"]))
        if stream is not None:
            await self._resume_here(reply, stream, number)
            return True
        status = await self._shared.status(self.session_id, name)
        if status is None:
            return False
        following = self.following[name] = Following(self._node, self.session_id, name, reply)
        try:
            await following.run(number)
        finally:
            if self.following.get(name) is following:
                del self.following[name]
        return True

    async def _resume_here(self, reply: Reply, stream: Stream, number: int) -> None:
        """Continue a stream that this node runs."""
        self._release_carrier(stream)
        follower = self._followers.pop(stream.name, None)
        if follower is not None:
            self._tell(follower, bodies.TAKEN, stream.name)
        events = await self._missed_of(stream, number)
        is_over = stream.name not in self.open
        if not is_over:
            stream.reply = reply
        reply.begin()
        for event in events:
            reply.send(sse.event(event.message, stream.event_id(event.number)))
        if not is_over:
            try:
                await reply.attach_stream()
            finally:
                stream.detach(reply)

    async def _missed_of(self, stream: Stream, number: int) -> list[StoredEvent]:
        """Return the events of a stream of this node after an event."""
        events: list[StoredEvent] = []
        while True:
            box = self._boxes.get(stream.name)
            stored = 0 if box is None else box.acknowledged
            found = await self._shared.after(self.session_id, stream.name, number)
            events += found or ()
            number = found[-1].number if found else number
            # More messages may have been stored in the meantime.
            if box is None or box.acknowledged == stored:
                return events

    async def _resume_listening(
        self, reply: Reply, stream: Stream | None, name: str, number: int, counted: int
    ) -> bool:
        """Continue a stream for messages of no request; its events may be all gone."""
        move, moves = counted // NUMBERS_PER_MOVE, self.count // NUMBERS_PER_MOVE
        if move != moves:
            before = await self._node.cluster.sessions.node_of(self.session_id, move)
            if before is None:
                return False
            if self.claims.owner is not None:
                self._node.run(self._check_former([before]))
        elif counted > self.count:
            return False
        if self.claims.owner is None:
            self._node.run(self._check_all_former(moves))
        events: Sequence[StoredEvent] = ()
        if stream is None:
            events = await self._shared.after(self.session_id, name, number) or ()
            # The client may have come back twice.
            stream = self.open.get(name)
        if stream is None:
            stream = Stream(self, reply, name)
            stream.said = events[-1].number if events else number
            stream.begun = True
        else:
            self._release_carrier(stream)
            self._stop_listening(stream)
            events = await self._missed_of(stream, number)
        self.open[name] = stream
        self.resumed.add(stream)
        reply.begin()
        for event in events:
            reply.send(sse.event(event.message, stream.event_id(event.number)))
        await self._carry(stream, reply)
        return True

    def follow(self, name: str, node: str, *, again: bool) -> bytes:
        """Let the client continue a stream at another node.

        Args:
            name: Name of the stream.
            node: The other node.
            again: True if that node has asked before.

        Returns:
            Whether it does; `GONE` if the client continues the stream elsewhere.
        """
        stream = self.open.get(name)
        if stream is None:
            return bodies.NO
        if again:
            return bodies.YES if self._followers.get(name) == node else bodies.GONE
        self._release_carrier(stream)
        before = self._followers.get(name)
        if before not in (None, node):
            self._tell(before, bodies.TAKEN, name)
        self._followers[name] = node
        return bodies.YES

    def _release_carrier(self, stream: Stream) -> None:
        """End the response that carries a stream: the client may not know that it is lost."""
        reply, stream.reply = stream.reply, None
        if reply is not None:
            reply.end()

    def _tell(self, node: str | None, topic: str, name: str) -> None:
        if node is not None:
            self._node.ask_soon(node, topic, About(self.session_id, name))
