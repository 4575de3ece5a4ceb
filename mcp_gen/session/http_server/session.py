"""A client that has shaken hands over HTTP: who it is, what it is asked, and what it asks."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Raw, json

import mcp_wire
from mcp_gen.core import envelope
from mcp_gen.core.errors import (
    InvalidParams,
    McpError,
    MethodNotFound,
    ProtocolError,
)
from mcp_gen.core.revisions import find_revision
from mcp_gen.core.stores.sessions import StoredSession
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.duplex.connection import DuplexConnection
from mcp_gen.session.http_server.post import PostResponse
from mcp_gen.session.http_server.streams import Streams
from mcp_gen.session.messages.channel import NULL_CHANNEL, ClientDisconnected
from mcp_gen.session.peer.keep_alive import keep_alive
from mcp_gen.session.peer.session import RequestOrigin, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from mcp_gen.core.connection import Batch, Event, NotificationReceived, RequestReceived
    from mcp_gen.core.stores.events import EventStore
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.http_server.persistence import SessionPersistence
    from mcp_gen.session.kernel.call import Call
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.profile import Profile

__all__ = ["HttpSession"]

C = TypeVar("C")

NAMES_PER_MOVE = 1 << 20
"""How far the numbers of streams are apart that two processes give in one session."""


class HttpSession(DuplexConnection, Session):
    """The `session` of its callers, and what session hooks get.

    Its requests come one POST at a time, and each is answered in a task of its own: a client that
    hangs up has not cancelled anything.
    """

    # These stand in few sessions, and each attribute that stands in all makes all of them weigh
    # more: much more from the thirtieth on, where Python stores the names with every object.
    moves = 0
    """How many processes have gone on with it before."""
    resumed = False
    """Whether another process may go on with it when it has ended here."""
    _keeping_alive: asyncio.Task[None] | None = None
    _log = logging.getLogger("mcp_gen.server")

    def __init__(
        self,
        kernel: Kernel[Any],
        events: EventStore | None,
        principal: str | None,
        opened: Callable[[HttpSession], None],
        ended: Callable[[HttpSession], None],
        keeper: SessionPersistence | None = None,
        id: str | None = None,
    ) -> None:
        Session.__init__(self)
        self.kernel = kernel
        if id is not None:
            self.id = id
        self.streams = Streams(self.id, events)
        DuplexConnection.__init__(
            self, self.streams, kernel.notification_receiver(), kernel.hooks.outbound
        )
        self.principal = principal
        """Who may use it."""
        self.began_s = self.heard_s = self.loop.time()
        """When it began, and when the client was last heard, by the clock of its event loop."""
        self._keeper = keeper
        self._opened = opened
        self._ended = ended
        self.over = False
        """Whether it has ended: what is in flight goes on to its answer."""
        self._post: PostResponse | None = None
        """The POST whose messages are being taken."""
        self._carried = 0
        """How many HTTP requests of the client are being answered."""

    @property
    def profile(self) -> Profile | None:
        """What has been agreed on; None before."""
        return self._connection.profile

    @property
    def host(self) -> Kernel[Any]:
        """The server of this session."""
        return self.kernel

    @property
    def channel(self) -> HttpSession:
        """The streams that the client has opened for what belongs to no request."""
        return self

    @property
    def reachable(self) -> bool:
        """Whether the client has a stream open for what belongs to no request."""
        return not self.over and self.streams.has_listener

    @property
    def busy(self) -> bool:
        """Whether anything is open: a request, or what a client reads at its own pace."""
        return bool(self._connection.in_flight) or self._carried > 0

    def silent_s(self) -> float:
        """For how long nothing has been heard of the client; 0 while anything is open."""
        return 0.0 if self.busy else self.loop.time() - self.heard_s

    def age_s(self) -> float:
        """For how long it has been open."""
        return self.loop.time() - self.began_s

    def mark_active(self) -> None:
        """The client has been heard."""
        now_s = self.loop.time()
        if now_s > self.heard_s:
            self.heard_s = now_s

    def check(self, next_in_s: float) -> None:
        """See whether anything is open: silence begins behind it, to be seen at the next look."""
        if self.busy:
            self.heard_s = self.loop.time() + next_in_s

    def agree(self, caller: RequestOrigin, profile: Profile) -> None:
        """Settle the revision of this session, and who the client is."""
        super().agree(caller, profile)
        self._connection.profile = profile
        self.streams.negotiate(profile)
        # What is kept for the session is not to keep its first request.
        caller.channel = self
        caller.headers = None
        self._opened(self)
        limits = self.kernel.limits
        if limits.keep_alive_s is not None and profile.ping is not None:
            # On the stream that the client keeps open for that: without one nobody could answer.
            asks = keep_alive(
                self,
                every_s=limits.keep_alive_s,
                timeout_s=limits.keep_alive_timeout_s,
                reachable=lambda: self.streams.has_listener,
            )
            self._keeping_alive = self.loop.create_task(asks)

    def end(self, *, goes_on: bool = False) -> None:
        """End the session: what is in flight goes on to its answer, nothing new is taken.

        With `goes_on` it has ended in this process alone.
        """
        if not self.over:
            self.over = True
            if goes_on:
                self.resumed = True
            if self._keeping_alive is not None:
                self._keeping_alive.cancel()
            for end in self.kernel.on_connection_end:
                end(self)
            self.streams.end_listening()
            self.streams.stop_storing()
            self._disconnect(ClientDisconnected("the session has ended"))
            self._ended(self)

    def release(self) -> None:
        """Hold on to nothing that holds on to it: it is freed at once, not when garbage is."""
        if self.caller is not None:
            self.caller.session = None
            self.caller.channel = NULL_CHANNEL
        vars(self).pop("client", None)

    # --- one POST ---

    async def answer(
        self, events: Iterable[Event], headers: Headers, reply: Reply
    ) -> Answer | None:
        """Answer what came in one POST; None if a stream has said it all."""
        post = PostResponse(self, headers, reply)
        self.handle_events(events, post)
        self._carried += 1
        try:
            await post.wait(reply)
            if self.unsaved:
                await self._save()
            return post.answer
        finally:
            post.detach(reply)
            self._carried -= 1

    async def listen_on(self, reply: Reply, last_event_id: str = "") -> bool:
        """Carry what belongs to no request, or go on behind an event; whether that is known."""
        self._carried += 1
        try:
            if last_event_id:
                return await self.streams.resume(reply, last_event_id)
            await self.streams.listen(reply)
            return True
        finally:
            self._carried -= 1

    def handle_events(self, events: Iterable[Event], post: PostResponse) -> None:
        """Begin what a POST asks for."""
        self._post = post
        try:
            for event in events:
                self._handle(event)
        finally:
            self._post = None

    def events(self, message: bytes) -> list[Event]:
        """What a message means that may be an array of them."""
        return self._connection.receive(message)

    def event(self, frame: envelope.Envelope) -> Event:
        """What a message means that has been read."""
        return self._connection.classify(frame)

    def _on_request(self, event: RequestReceived) -> None:
        post = self._post
        assert post is not None
        try:
            call = self._prepare(event, post)
        except (McpError, ProtocolError) as error:
            refusal = envelope.failure(event.id, envelope.error_object(error))
            post.refuse(refusal, event.batch, self._status_of(error))
            return
        post.request_started()
        run = self._run(call, post, event.batch)
        self._connection.in_flight[event.id] = self.loop.create_task(run)

    def _prepare(self, event: RequestReceived, post: PostResponse) -> Call[Any]:
        if self.caller is None:
            binding = self.kernel.binding_for_request(None, event.params)
            caller = RequestOrigin(binding.profile, post, self)
        else:
            binding = self.kernel.binding(self.caller.profile.revision)
            caller = self.caller.for_another_request()
            caller.channel = post
        caller.headers = post.headers
        caller.principal = self.principal
        limits, ping = self.kernel.limits, caller.profile.ping
        if limits.max_concurrent_requests and (ping is None or event.method != ping.name):
            limits.make_room(len(self._connection.in_flight))
        return self.kernel.prepare(binding, event.id, event.method, event.params, caller)

    async def _run(self, call: Call[Any], post: PostResponse, batch: Batch | None) -> None:
        handled = False
        try:
            await self.kernel.handle(call)
            handled = True
            if self.unsaved:
                # Before the answer: what the client asks next may come to another process.
                await self._save()
        finally:
            # A cancelled request is answered with nothing, even where its handler goes on.
            post.answered(call if self._finish_request(call.id) and handled else None, batch)

    async def _save(self) -> None:
        if self._keeper is not None:
            self.unsaved = False
            await self._keeper.save(self.snapshot)
        self.unsaved = False

    def _status_of(self, error: McpError | ProtocolError) -> int:
        """The HTTP status of a request that is answered with this error at once."""
        profile = self.profile
        if profile is None:
            return 400
        if isinstance(error, MethodNotFound):
            return profile.unknown_method_status
        return 200 if isinstance(error, InvalidParams) else 400

    # --- a store, where sessions outlive their process ---

    def snapshot(self) -> StoredSession | None:
        """Return what another process needs to go on; None before the handshake and at the end."""
        caller = self.caller
        if caller is None or self.over:
            return None
        profile = caller.profile
        handshake = profile.handshake
        assert handshake is not None
        client = handshake.params(
            protocol_version=profile.revision,
            capabilities=caller.capabilities,
            client_info=caller.client_info,
        )
        return StoredSession(
            id=self.id,
            client=Raw(json.encode(client)),
            revision=profile.revision,
            principal=self.principal,
            began_at=time.time() - self.age_s(),
            ready=self.initialized,
            log_level=self.log_level,
            subscribed=tuple(sorted(self.subscribed)),
            moves=self.moves,
        )

    def restore(self, stored: StoredSession) -> bool:
        """Continue a stored session; False if this server does not offer its revision."""
        handshakes = self.kernel.handshakes
        revision = find_revision(stored.revision, handshakes)
        handshake = mcp_wire.profile(handshakes[-1]).handshake if handshakes else None
        if revision is None or handshake is None:
            return False
        profile = mcp_wire.profile(revision)
        client = self.kernel.binding(revision).routes[handshake.name].decode(stored.client)
        caller = RequestOrigin(profile, self, self, client.capabilities, client.client_info)
        caller.principal = stored.principal
        self.began_s -= max(0.0, time.time() - stored.began_at)
        self.log_level = stored.log_level
        self.subscribed.update(stored.subscribed)
        self.moves = stored.moves + 1
        # What two processes sent in one session is to be told apart by its event ids.
        self.streams.count = self.moves * NAMES_PER_MOVE
        self.agree(caller, profile)
        if stored.ready:
            self.begin()
        return True

    # --- what else came ---

    def _send(self, answer: bytes | None, batch: Batch | None) -> None:
        if self._post is not None:
            self._post.refuse(answer, batch, 400)

    def _on_notification(self, event: NotificationReceived) -> None:
        profile, post = self.profile, self._post
        if profile is None or post is None:
            return
        self.handle_notification(profile, event.method)
        self._notifications.receive(
            event,
            profile,
            partial(self._context_of, post),
            (profile.cancelled, self._cancel),
            (profile.progress, self._report),
        )

    def _context_of(self, post: PostResponse, profile: Profile) -> Any:
        caller = (
            self.caller.for_another_request() if self.caller else RequestOrigin(profile, self, self)
        )
        caller.headers = post.headers
        return self.kernel.context(None, caller, None)

    def _outbound_context(self) -> Any:
        return self

    def _profile_for(self, event: NotificationReceived) -> Profile | None:
        return self.profile

    def _hook_context(self, profile: Profile) -> Any:
        return self.kernel.context(None, self.caller or RequestOrigin(profile, self, self), None)

    def oversized(self, limit_bytes: int) -> None:
        """The HTTP server's business."""

    def closed(self, error: BaseException | None) -> None:
        """No connection is the session's own: it ends when it is ended."""

    # --- hooks, and its end ---

    def listen(self, hooks: Coroutine[Any, Any, None]) -> None:
        """Let hooks run while the session goes on."""
        self._notifications.run(hooks)

    def requests(self) -> list[asyncio.Task[Any]]:
        """The requests that are being answered."""
        return list(self._connection.in_flight.values())

    def hooks(self) -> list[asyncio.Task[Any]]:
        """The hooks that are running."""
        return list(self._notifications.tasks())
