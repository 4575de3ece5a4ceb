"""One node of a cluster: its copies of sessions, and what other nodes say about them."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Protocol

from mcp_gen.core.envelope import ErrorObject
from mcp_gen.core.errors import InvalidRequest
from mcp_gen.session.cluster import bodies
from mcp_gen.session.cluster.bodies import About, Missed
from mcp_gen.session.cluster.following import NODE_LOST
from mcp_gen.session.cluster.link import ClusterLink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_gen.core.stores.bus import BusMessage
    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.session.cluster.session import ClusteredSession
    from mcp_gen.session.http_server.sessions import SessionLimits
    from mcp_gen.session.peer.session import Session

__all__ = ["ClusterNode", "SessionChanges"]

_log = logging.getLogger("mcp_gen.server")

SESSION_LOST = ErrorObject(
    InvalidRequest.code, "the session was lost with its data; the request may have taken effect"
)
EXPIRES_EVERY_S = 5.0
"""Seconds between two searches for sessions whose clients were silent for too long."""


class SessionChanges(Protocol):
    """Changes of lists and resources, as the sessions of a cluster use them."""

    def tell(self, session: Session, topic: bytes) -> None:
        """Send a change to one session."""
        ...

    def recover(self, session: Session) -> None:
        """Send every change that may have been missed to one session."""
        ...


class ClusterNode(ClusterLink):
    """Node of a cluster, as its HTTP sessions use it.

    Args:
        cluster: The cluster.
        limits: Limits on the sessions of all nodes.
        changes: Changes of lists and resources.
    """

    def __init__(self, cluster: Cluster, limits: SessionLimits, changes: SessionChanges) -> None:
        super().__init__(cluster, limits)
        self._changes = changes
        self.copies: dict[str, ClusteredSession] = {}
        """Sessions that are open at this node, by id."""
        self.opening: dict[str, bool] = {}
        """Sessions that are being loaded, by id: True if they have changed since."""
        self._ends: list[Callable[[], None]] = []
        self._expires_s = 0.0

    # --- start and stop ---

    async def start(self) -> None:
        """Become a node of the cluster.

        Raises:
            UsageError: The cluster cannot be used.
        """
        if self._ends:
            return
        await self.cluster.start()
        bus = self.cluster.bus
        self._ends = [
            bus.on(bodies.CHANGED, self._on_changed),
            bus.on(bodies.ENDED, self._on_ended),
            bus.on(bodies.LISTENS, self._on_listens),
            bus.on(bodies.LEAVES, self._on_leaves),
            bus.on(bodies.SEEKS, self._on_seeks),
            bus.on(bodies.NOTICE, self._on_notice),
            bus.answer(bodies.RESPONSE, self._take_response),
            bus.answer(bodies.SEND, self._take_message),
            bus.answer(bodies.MISSED, self._take_missed),
            bus.answer(bodies.FOLLOW, self._let_follow),
            bus.answer(bodies.MORE, self._wake_follower),
            bus.answer(bodies.TAKEN, self._end_follower),
            bus.on_gap(self._on_gap),
            self.cluster.on_lost(self._on_lost),
            self.cluster.on_emptied(self._on_emptied),
            self.cluster.on_heartbeat(self._beat),
        ]

    async def aclose(self) -> None:
        """Cease to be a node."""
        await self.finish()
        for end in self._ends:
            end()
        self._ends = []
        await self.cluster.aclose()

    def tell_missed(self, session_id: str, node: str, topics: Iterable[bytes]) -> None:
        """Hand changes that no stream has carried to the node that has one now."""
        if node == self.id:
            self._send_missed(session_id, topics)
        else:
            texts = [topic.decode() for topic in topics]
            self.ask_soon(node, bodies.MISSED, Missed(session_id, texts))

    def _send_missed(self, session_id: str, topics: Iterable[bytes]) -> None:
        copy = self.copies.get(session_id)
        if copy is not None:
            for topic in topics:
                if topic not in copy.streams.told:
                    copy.streams.told.add(topic)
                    self._changes.tell(copy, topic)

    def tell(self, session_id: str, topics: Iterable[bytes]) -> None:
        """Send changes to a session of this node, if its client has subscribed to them."""
        copy = self.copies.get(session_id)
        if copy is not None:
            for topic in topics:
                self._changes.tell(copy, topic)

    def recover_soon(self, session_id: str) -> None:
        """Send every change that may have been missed, once a stream to the client is open."""
        copy = self.copies.get(session_id)
        if copy is not None:
            self._changes.recover(copy)

    # --- what all nodes are told ---

    def _copy(self, body: bytes) -> tuple[About, ClusteredSession | None]:
        about = bodies.decode(body, About)
        return about, self.copies.get(about.session)

    def _on_changed(self, message: BusMessage) -> None:
        about, copy = self._copy(message.body)
        if message.node == self.id:
            return
        if about.session in self.opening:
            self.opening[about.session] = True
        if copy is not None:
            copy.is_stale = True
            # What waits for the change, such as the first change of a list, must not wait longer.
            self.run(self._refresh(copy))

    async def _refresh(self, copy: ClusteredSession) -> None:
        """Read a session that has changed, again until the store answers."""
        await self.retry(copy.refresh, lambda: copy.is_stale and not copy.over)

    def _on_ended(self, message: BusMessage) -> None:
        about, copy = self._copy(message.body)
        if about.session in self.opening:
            self.opening[about.session] = True
        if copy is not None:
            copy.end(goes_on=True)

    def _on_listens(self, message: BusMessage) -> None:
        about, copy = self._copy(message.body)
        if copy is not None:
            copy.streams.on_claim(message.node, about.stream, about.number)

    def _on_leaves(self, message: BusMessage) -> None:
        about, copy = self._copy(message.body)
        if copy is not None:
            copy.streams.on_leave(message.node, about.stream, about.number)

    def _on_seeks(self, message: BusMessage) -> None:
        _, copy = self._copy(message.body)
        if copy is not None:
            copy.streams.claim_again()

    def _on_notice(self, message: BusMessage) -> None:
        about, copy = self._copy(message.body)
        if copy is not None and message.node != self.id:
            copy.take_notice(bytes(about.message))

    def _on_gap(self) -> None:
        self.opening = dict.fromkeys(self.opening, True)
        for copy in self.copies.values():
            copy.is_stale = True
            if copy.streams.has_listeners_here:
                self.run(self._catch_up(copy))
            copy.streams.claims.clear()
            copy.streams.claim_again()

    async def _catch_up(self, copy: ClusteredSession) -> None:
        """Read a session again, and tell it of resources that it has subscribed to meanwhile."""
        before = set(copy.subscribed)
        await self._refresh(copy)
        if copy.subscribed - before:
            self._changes.recover(copy)

    def _on_lost(self, old: str) -> None:
        if self.copies:
            _log.warning("this node was silent for too long: its sessions go on at others")
        for copy in list(self.copies.values()):
            copy.give_up(NODE_LOST)

    def _on_emptied(self) -> None:
        if self.copies:
            _log.warning("the store of the cluster is empty: its sessions have ended")
        for copy in list(self.copies.values()):
            copy.give_up(SESSION_LOST, status=404)

    # --- what this node is asked ---

    async def _take_response(self, _asking: str, body: bytes) -> bytes:
        about, copy = self._copy(body)
        taken = copy is not None and copy.take_message(bytes(about.message))
        return bodies.YES if taken else bodies.NO

    async def _take_message(self, asking: str, body: bytes) -> bytes:
        about, copy = self._copy(body)
        taken = copy is not None and copy.streams.take(asking, about.number, bytes(about.message))
        return bodies.YES if taken else bodies.NO

    async def _take_missed(self, _asking: str, body: bytes) -> bytes:
        missed = bodies.decode(body, Missed)
        self._send_missed(missed.session, [topic.encode() for topic in missed.topics])
        return bodies.YES

    async def _let_follow(self, asking: str, body: bytes) -> bytes:
        about, copy = self._copy(body)
        if copy is None:
            return bodies.NO
        return copy.streams.follow(about.stream, asking, again=bool(about.number))

    async def _wake_follower(self, _asking: str, body: bytes) -> bytes:
        about, copy = self._copy(body)
        following = None if copy is None else copy.streams.following.get(about.stream)
        if following is not None:
            following.wake()
        return bodies.NO if following is None else bodies.YES

    async def _end_follower(self, _asking: str, body: bytes) -> bytes:
        about, copy = self._copy(body)
        following = None if copy is None else copy.streams.following.get(about.stream)
        if following is not None:
            following.end()
        # Without a stream it is the question if this node has sent what it had to.
        owes = copy is not None and not about.stream and copy.streams.owes_all
        return bodies.NO if owes else bodies.YES

    # --- the heartbeat ---

    async def _beat(self) -> None:
        await self._touch()
        for copy in list(self.unsaved):
            await copy.save()
        for copy in [one for one in self.copies.values() if one.streams.resumed]:
            await copy.streams.resumed.look_behind()
        await self._drop_dead_owners()
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._expires_s:
            self._expires_s = now_s + min(EXPIRES_EVERY_S, self.limits.idle_s / 2)
            for id in await self.cluster.sessions.expired(time.time() - self.limits.idle_s):
                await self.end_everywhere(id)

    async def _touch(self) -> None:
        loop_s, now = asyncio.get_running_loop().time(), time.time()
        heard: dict[str, float] = {}
        for copy in self.copies.values():
            last_s = loop_s if copy.busy else copy.heard_s
            if copy.is_stored and last_s - copy.touched_s >= self.touch_s:
                heard[copy.id] = now - (loop_s - last_s)
                copy.touched_s = last_s
        if heard:
            for id in await self.cluster.sessions.touch(heard):
                gone = self.copies.get(id)
                if gone is not None:
                    gone.end(goes_on=True)

    async def _drop_dead_owners(self) -> None:
        """Take over the messages of sessions whose other node is gone."""
        owners: dict[str, list[ClusteredSession]] = {}
        for copy in self.copies.values():
            owner = copy.streams.claims.owner
            if copy.streams.has_listeners_here and owner not in (None, self.id):
                owners.setdefault(str(owner), []).append(copy)
        for owner, copies in owners.items():
            if not await self.cluster.is_alive(owner):
                for copy in copies:
                    if copy.streams.on_gone(owner):
                        self._changes.recover(copy)
