"""State of one HTTP session that all nodes of a cluster share: read, changed and written here."""

from __future__ import annotations

import logging
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from msgspec import Raw
from msgspec.structs import replace

from mcp_gen.core import envelope
from mcp_gen.core.envelope import ErrorObject
from mcp_gen.core.errors import ProtocolError, UsageError
from mcp_gen.core.stores.failures import StoreDown
from mcp_gen.session.cluster import bodies
from mcp_gen.session.cluster.bodies import About
from mcp_gen.session.cluster.state import JsonState
from mcp_gen.session.cluster.stored_fields import changed_fields
from mcp_gen.session.cluster.streams import NUMBERS_PER_MOVE, ClusteredStreams
from mcp_gen.session.http_server.session import HttpSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.protocol_state import RequestReceived
    from mcp_gen.core.stores.events import EventStore
    from mcp_gen.core.stores.sessions import StoredSession
    from mcp_gen.session.cluster.link import ClusterLink
    from mcp_gen.session.http_server.persistence import SessionPersistence
    from mcp_gen.session.http_server.post import PostResponse
    from mcp_gen.session.http_server.streams import Stream
    from mcp_gen.session.kernel.call import Call
    from mcp_gen.session.kernel.kernel import Kernel

__all__ = ["SharedSession"]

_log = logging.getLogger("mcp_gen.server")

FRESH_S = 30.0
"""Seconds after its last use in which a session is not looked up: the bus tells of its changes."""
TRIES = 8
"""Times that a change or a new session is written while other nodes write as well."""
MAX_EARLY = 100
"""Number of changes heard while a session is read from which on the client is told of all."""


class SharedSession(HttpSession):
    """Session whose state is in the store of a cluster; see `HttpSession`.

    Args:
        kernel: Server that answers the requests.
        node: This node.
        keeper: Saves nothing here; the store of the cluster does.
        principal: Client that may use the session; None without authentication.
        opened: Called after the handshake.
        ended: Called once when the session has ended here.
        id: Id of a session that other nodes have; None makes a new one.
    """

    streams: ClusteredStreams

    is_stale = False
    """True if the store has a newer state."""
    touched_s = float("-inf")
    """Event loop time of the last activity that the store was told of."""
    refusal: ErrorObject | None = None
    """Why the session cannot begin; None if it can."""
    _is_being_read = False
    """True if what the store has is on its way here."""
    _stored: StoredSession | None = None
    """The session as this node has last read or written it."""

    def __init__(
        self,
        kernel: Kernel[Any],
        node: ClusterLink,
        keeper: SessionPersistence,
        principal: str | None,
        opened: Callable[[HttpSession], None],
        ended: Callable[[HttpSession], None],
        id: str | None = None,
    ) -> None:
        self._node = node
        super().__init__(kernel, node.cluster.events, principal, opened, ended, keeper, id)
        self.checked_s = self.loop.time()
        """Event loop time of the last request, or of the last look into the store."""
        self._heard_early: set[bytes] = set()
        """Changes of resources that were heard when subscriptions to them may not be known here."""
        self._posts: dict[RequestId, PostResponse] = {}
        """POSTs of the requests that are being answered, by id."""

    def _new_streams(self, events: EventStore | None) -> ClusteredStreams:
        return ClusteredStreams(self.id, events, self._node, self._fence)

    @property
    def is_stored(self) -> bool:
        """True if other nodes can know the session."""
        return self._stored is not None

    @property
    def reachable(self) -> bool:
        """True if the client has a stream open for messages of no request, at whatever node."""
        return not self.over and self.streams.claims.owner is not None

    @cached_property
    def state(self) -> dict[str, Any]:
        """Data that the program keeps for this session: JSON values, for all nodes."""
        kept = JsonState()
        if self._stored is not None:
            kept.replace(self._stored.state)
        return kept

    @cached_property
    def local(self) -> dict[Any, Any]:
        """Registries of features for this session alone: a cluster refuses them."""
        raise UsageError(NO_SESSION_FEATURES)

    def defers(self, topic: bytes, *, is_wanted: bool) -> bool:
        """Return True if another node sends a change to the session; see `Session.defers`."""
        if is_wanted:
            return self.streams.defers(topic)
        is_unsure = self.is_stale or self._is_being_read
        if is_unsure and len(self._heard_early) < MAX_EARLY:
            self._heard_early.add(topic)
        return True

    # --- the store ---

    def activate(self) -> None:
        """Begin to store events: the client has the answer to its handshake."""
        profile = self.profile
        if profile is not None and self._stored is not None and self.streams.store is None:
            self.streams.activate(profile, self.moves)

    def open_copy(self, stored: StoredSession, move: int) -> bool:
        """Continue a session of other nodes; return False if its revision is not offered here."""
        self._stored = stored
        if not self.restore(replace(stored, moves=move - 1)):
            return False
        self._connection.number_from(move * NUMBERS_PER_MOVE)
        self.unsaved = False
        self.activate()
        return True

    def has_changed(self) -> bool:
        """Return True if the session differs from the stored one."""
        if self.unsaved or self._stored is None:
            return self.unsaved
        return "state" in self.__dict__ and self._encoded_state() != self._stored.state

    def _encoded_state(self) -> dict[str, Raw]:
        state = self.__dict__.get("state")
        if isinstance(state, JsonState):
            return state.encoded()
        return {} if self._stored is None else self._stored.state

    def snapshot(self) -> StoredSession | None:
        """Return the state for other nodes; None before the handshake and after the end."""
        found = super().snapshot()
        return None if found is None else replace(found, state=self._encoded_state())

    async def save(self) -> None:
        """Write what has changed to the store."""
        if self._persistence is not None:
            await self._save(self._persistence)

    def _check_saved(self, call: Call[Any]) -> None:
        if self.refusal is not None:
            # The response may be a stream already, which has no other status.
            call.written = envelope.failure(call.id, self.refusal)

    async def _save(self, persistence: SessionPersistence) -> None:
        async with self._use_store():
            mine = self.snapshot()
            self.unsaved = False
            if mine is None:
                return
            try:
                if self._stored is None:
                    await self._create(mine)
                else:
                    await self._update(self._stored, mine)
            except StoreDown as error:
                self.unsaved = True
                if self._stored is None:
                    self.refusal = NOT_STORED
                else:
                    _log.warning("a change of a session could not be stored yet: %s", error)
                    self._node.unsaved.add(self)
                return
            self._node.unsaved.discard(self)

    async def _create(self, mine: StoredSession) -> None:
        """Store a new session, unless there are too many on all nodes."""
        node = self._node
        create = partial(
            node.cluster.sessions.create,
            mine,
            limit=node.limits.max_sessions,
            keep_s=node.limits.idle_s,
        )
        created = await create()
        for _ in range(TRIES):
            # Another node may take the room that is made.
            if created or not await node.make_room():
                break
            created = await create()
        move = await node.cluster.sessions.enter(self.id, node.id) if created else None
        if move is None:
            self.refusal = TOO_MANY
            return
        self._stored = mine
        self.moves = move
        self.touched_s = self.loop.time()
        self._connection.number_from(move * NUMBERS_PER_MOVE)

    async def _update(self, base: StoredSession, mine: StoredSession) -> None:
        sessions = self._node.cluster.sessions
        stored: StoredSession | None = base
        for _ in range(TRIES):
            fields = changed_fields(base, mine, stored) if stored is not None else {}
            if stored is None or not fields:
                break
            changes = await sessions.update(self.id, fields, stored.changes)
            if changes is not None:
                self._stored = replace(stored, **fields, changes=changes)
                if stored is not base:
                    self._adopt(self._stored)
                await self._node.publish(bodies.CHANGED, About(self.id))
                return
            stored = await sessions.load(self.id)
        else:
            _log.warning("a change of a session was not stored: other nodes change it, too")
        if stored is None:
            self.end(goes_on=True)

    def is_fresh(self) -> bool:
        """Return True if the store need not be asked: the bus has told of no change since."""
        return not self.is_stale and self.loop.time() - self.checked_s < FRESH_S

    async def refresh(self) -> None:
        """Read the session from the store if it may have changed; end it if it is gone there.

        Raises:
            StoreDown: The store cannot be reached.
        """
        async with self._use_store():
            if self.is_fresh():
                # Another request has looked while this one waited.
                return
            self.is_stale, self._is_being_read = False, True
            try:
                stored = await self._node.cluster.sessions.load(self.id)
            except BaseException:
                self.is_stale = True
                raise
            finally:
                self._is_being_read = False
            self._tell_soon()
            if stored is None:
                self.end(goes_on=True)
                return
            base, self.checked_s = self._stored, self.loop.time()
            if base is None or stored.changes == base.changes:
                return
            mine = self.snapshot()
            self._stored = stored
            # What this node has changed and not yet written stays.
            kept = {} if mine is None else changed_fields(base, mine, stored)
            self._adopt(replace(stored, **kept))

    def _tell_soon(self) -> None:
        """Tell the client of changes that were heard before its subscriptions were known."""
        # The session may have changed again while it was read: the next read tells.
        if self._heard_early and not self.is_stale:
            topics, self._heard_early = self._heard_early, set()
            if len(topics) < MAX_EARLY:
                self.loop.call_soon(self._node.tell, self.id, topics)
            else:
                self.loop.call_soon(self._node.recover_soon, self.id)

    def _adopt(self, now: StoredSession) -> None:
        """Take over what other nodes have changed."""
        self.log_level = now.log_level
        for uri in self.subscribed - set(now.subscribed):
            self.subscribed.discard(uri)
        self.subscribed.update(now.subscribed)
        state = self.__dict__.get("state")
        if isinstance(state, JsonState):
            state.replace(now.state)
        if now.ready and not self.initialized:
            unsaved = self.unsaved
            self.begin()
            self.unsaved = unsaved

    async def forget_stored(self) -> None:
        """Remove the session from the stores, and end its copies."""
        try:
            async with self._use_store():
                await self._node.end_everywhere(self.id)
        except StoreDown as error:
            _log.warning("a session that has ended could not be removed yet: %s", error)

    def expire(self) -> None:
        """End this copy: its client is silent here; end the session if its time is over."""
        self.end(goes_on=self.age_s() < self._node.limits.lifetime_s)

    # --- requests that this node answers ---

    def give_up(self, error: ErrorObject, status: int = 200) -> None:
        """End this copy, its streams and its requests: other nodes may go on with them.

        Args:
            error: Response to requests that no other node can know: no stream of theirs has begun.
            status: HTTP status of such a response.
        """
        self._give_up()
        alone = {id: post for id, post in self._posts.items() if not post.begun}
        for post in set(alone.values()):
            ids = [id for id, one in alone.items() if one is post]
            post.break_off(ids, partial(envelope.failure, error=error), status)
        for task in self.requests():
            task.cancel()
        for stream in list(self.streams.open.values()):
            stream.finish()
        self.end(goes_on=True)

    def _prepare(self, event: RequestReceived, post: PostResponse) -> Call[Any]:
        call = super()._prepare(event, post)
        # All nodes know what a stream answers, so that any can end it.
        post.asked = (*post.asked, event.id)
        self._posts[event.id] = post
        return call

    def _finish_request(self, id: RequestId) -> bool:
        self._posts.pop(id, None)
        return super()._finish_request(id)

    def _fence(self, stream: Stream) -> None:
        """Cancel the requests of a stream that another node has ended."""
        _log.warning("a stream was ended by another node: what this one would send is dropped")
        for id in stream.asked:
            self._stop_answering(self.task(id))


NOT_STORED = ErrorObject(
    ProtocolError.code,
    "the sessions cannot be stored now; try again later",
    {"reason": "store_down"},
)
TOO_MANY = ErrorObject(ProtocolError.code, "there are too many sessions; try again later")

NO_SESSION_FEATURES = (
    "tools, resources and prompts of one session are not possible with `cluster=`: other nodes do "
    "not know them; add them for all sessions, and let `ctx.principal` or `session.state` decide"
)
