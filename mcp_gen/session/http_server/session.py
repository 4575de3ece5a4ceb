"""One HTTP session, at revisions with a handshake."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.core import envelope
from mcp_gen.core.envelope import Envelope
from mcp_gen.core.errors import McpError, ProtocolError
from mcp_gen.core.protocol_state import RequestReceived
from mcp_gen.core.stores.sessions import StoredSession
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.duplex.connection import DuplexConnection
from mcp_gen.session.http_server.persistence import restored_origin, stored_client
from mcp_gen.session.http_server.post import PostResponse
from mcp_gen.session.http_server.refusals import status_of
from mcp_gen.session.http_server.streams import Streams
from mcp_gen.session.kernel.errors import cut_off, is_cancelled, token_expired
from mcp_gen.session.messages.channel import NULL_CHANNEL, ClientDisconnected
from mcp_gen.session.messages.current import CURRENT
from mcp_gen.session.peer.keep_alive import keep_alive
from mcp_gen.session.peer.session import RequestOrigin, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from mcp_gen.core.envelope import RequestId, TooComplex
    from mcp_gen.core.protocol_state import Batch, NotificationReceived
    from mcp_gen.core.stores.events import EventStore
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.http_server.first_steps import FirstSteps
    from mcp_gen.session.http_server.persistence import SessionPersistence
    from mcp_gen.session.kernel.call import Call
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.profile import Profile

__all__ = ["HttpSession"]

C = TypeVar("C")

NAMES_PER_MOVE = 1 << 20
"""Distance between the stream numbers that two processes use in one session."""


class HttpSession(DuplexConnection, Session):
    """HTTP session of one client; session hooks get it, and it is the `session` of its requests.

    Each request runs in a task of its own: a disconnect cancels nothing.

    Args:
        kernel: Server that answers the requests.
        events: Store of sent events, for resumable streams; None keeps none.
        principal: Client that may use the session; None without authentication.
        opened: Called after the handshake.
        ended: Called once when the session has ended.
        keeper: Saves the session in a store; None does not.
        id: Id of a restored session; None makes a new one.
    """

    # Class attributes, because few sessions set them and each instance attribute costs memory:
    # from the thirtieth on much more, because Python then stores the names in each object.
    moves = 0
    """Number of processes that had the session before."""
    key_thumbprint: str | None = None
    """Thumbprint of the key that tokens for this session must be bound to; None for any."""
    resumed = False
    """True if another process may continue the session after its end here."""
    _keep_alive_task: asyncio.Task[None] | None = None
    _saving: asyncio.Lock | None = None
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
        self.streams = self._new_streams(events)
        notices, outbound = kernel.notification_receiver(), kernel.hooks.outbound
        most = kernel.limits.peer.max_values
        DuplexConnection.__init__(self, self.streams, notices, outbound, most)
        self.principal = principal
        """Client that may use the session; None without authentication."""
        self.began_s = self.heard_s = self.loop.time()
        """Start of the session and last activity of the client, by the event loop's clock."""
        self._persistence = keeper
        self._on_opened = opened
        self._on_ended = ended
        self.over = False
        """True once the session has ended; requests in flight are still answered."""
        self._post: PostResponse | None = None
        """POST whose messages are being handled."""
        self._open_exchanges = 0
        """Number of the client's HTTP requests that are being answered."""

    def _new_streams(self, events: EventStore | None) -> Streams:
        return Streams(self.id, events)

    @property
    def profile(self) -> Profile | None:
        """Profile of the negotiated revision; None before the handshake."""
        return self._connection.profile

    @property
    def host(self) -> Kernel[Any]:
        """Server of this session."""
        return self.kernel

    @property
    def channel(self) -> HttpSession:
        """The session itself: it sends on the streams that the client has opened by GET."""
        return self

    @property
    def reachable(self) -> bool:
        """True if the client has a stream open for messages that belong to no request."""
        return not self.over and self.streams.has_listener

    @property
    def busy(self) -> bool:
        """True if a request or an HTTP exchange is open."""
        return bool(self._connection.in_flight) or self._open_exchanges > 0

    def silent_s(self) -> float:
        """Return the seconds since the client's last activity; 0 while anything is open."""
        return 0.0 if self.busy else self.loop.time() - self.heard_s

    def age_s(self) -> float:
        """Return the seconds since the session began, in any process."""
        return self.loop.time() - self.began_s

    def check(self, next_in_s: float) -> None:
        """Count a busy session as active until the next check, in `next_in_s` seconds."""
        if self.busy:
            self.heard_s = self.loop.time() + next_in_s

    def agree(self, caller: RequestOrigin, profile: Profile) -> None:
        """Complete the handshake: set the revision and the client, and start keep-alive."""
        super().agree(caller, profile)
        self._connection.profile = profile
        self.streams.negotiate(profile)
        # The session must not keep its first request in memory.
        caller.channel = self
        caller.headers = None
        self._on_opened(self)
        limits = self.kernel.limits
        if limits.keep_alive_s is not None and profile.ping is not None:
            # Pings go out on a stream of a GET: without one the client cannot answer.
            pings = keep_alive(
                self,
                every_s=limits.keep_alive_s,
                timeout_s=limits.keep_alive_timeout_s,
                reachable=lambda: self.streams.has_listener,
            )
            self._keep_alive_task = self.loop.create_task(pings)

    def end(self, *, goes_on: bool = False) -> None:
        """End the session: requests in flight are still answered, new ones are refused.

        Args:
            goes_on: True if the session ends in this process only, so that another may continue it.
        """
        if not self.over:
            self.over = True
            if goes_on:
                self.resumed = True
            if self._keep_alive_task is not None:
                self._keep_alive_task.cancel()
            for end in self.kernel.on_connection_end:
                end(self)
            self.streams.end_listening()
            self.streams.stop_storing()
            self._disconnect(ClientDisconnected("the session has ended"))
            self._on_ended(self)

    def expire(self) -> None:
        """End the session: its client was silent for too long, or its time is over."""
        self.end()

    def release(self) -> None:
        """Break reference cycles, so that the session is freed without garbage collection."""
        assert self.origin is not None
        self.origin.session = None
        self.origin.channel = NULL_CHANNEL
        vars(self).pop("client", None)

    # --- one POST ---

    async def answer(
        self,
        message: Envelope | bytes,
        headers: Headers,
        reply: Reply,
        steps: FirstSteps | None = None,
    ) -> Answer | None:
        """Answer the messages of one POST.

        Args:
            message: The decoded message, or the bytes of a JSON-RPC batch.
            headers: HTTP headers of the POST.
            reply: HTTP response.
            steps: Runs the first step of a handler; None gives each handler a new task. So it is
                where an event carries the answer: that was measured to be cheaper.

        Returns:
            The answer; None if an SSE stream on `reply` has carried it.
        """
        post = PostResponse(self.streams, reply, session=self, headers=headers)
        post.admission, post.steps = reply.admission, None if reply.only_stream else steps
        reply.opening = post.begin
        reply.attached = True
        if reply.admission.token is not None:
            id = message.id if isinstance(message, Envelope) else None
            reply.on_expiry = partial(self._end_expired, post, id)
        self._post = post
        try:
            if isinstance(message, bytes):
                self._handle_batch(message, post)
            else:
                event = self._connection.classify(message)
                if type(event) is RequestReceived:
                    self._on_request(event)
                else:
                    self._handle(event)
        finally:
            self._post = None
        self._open_exchanges += 1
        try:
            if post.running or post.begun:
                # Until all requests are answered or the client has disconnected.
                try:
                    await reply.attach_stream()
                except asyncio.CancelledError:
                    id = message.id if isinstance(message, Envelope) else None
                    self._break_off(post, id, cut_off)
                    return post.answer
            if self._persistence is not None and self.has_changed():
                await self._save(self._persistence)
            return post.answer
        finally:
            if post.reply is reply:  # the client may have come back on another one
                post.reply = None
            self._open_exchanges -= 1

    async def listen_on(self, reply: Reply, last_event_id: str = "") -> bool:
        """Carry an SSE stream for messages that belong to no request, or resume a stream.

        Args:
            reply: HTTP response of the GET.
            last_event_id: Event to resume after; empty opens a new stream.

        Returns:
            False if the event is not known.
        """
        self._open_exchanges += 1
        try:
            if last_event_id:
                return await self.streams.resume(reply, last_event_id)
            await self.streams.listen(reply)
            return True
        finally:
            self._open_exchanges -= 1

    def _handle_batch(self, message: bytes, post: PostResponse) -> None:
        """Handle the messages of a batch; requests start in tasks of their own."""
        events = self._connection.receive(message)
        requests = (one for one in events if type(one) is RequestReceived)
        post.batch = next((one.batch for one in requests), None)
        for event in events:
            self._handle(event)

    def refuse_response(self, error: TooComplex) -> None:
        """Fail the request to the client that a response that is too complex belongs to."""
        self._handle(self._connection.refuse(error))

    def _on_request(self, event: RequestReceived) -> None:
        post = self._post
        assert post is not None
        try:
            call = self._prepare(event, post)
        except (McpError, ProtocolError) as error:
            refusal = envelope.failure(event.id, envelope.error_object(error))
            post.refuse(refusal, event.batch, status_of(self.profile, error))
            return
        post.running += 1
        run = self._run(call, post, event.batch)
        steps = post.steps
        if steps is not None and event.batch is None and steps.loop is self.loop:
            waiting = steps.ready
            if waiting is not None:
                self._connection.in_flight[event.id] = waiting.task
                steps.step(run, waiting)
                if call.cancelled:
                    steps.drop(waiting.task)
                return
            steps.prepare()
        self._connection.in_flight[event.id] = self.loop.create_task(run)

    def _prepare(self, event: RequestReceived, post: PostResponse) -> Call[Any]:
        if self.origin is None:
            binding = self.kernel.binding_for_request(None, event.params)
            origin = RequestOrigin(binding.profile, post, self)
        else:
            binding = self.kernel.bindings[self.origin.profile.revision]
            origin = self.origin.for_another_request()
            origin.channel = post
        origin.headers = post.headers
        origin.principal, origin.admission = self.principal, post.admission
        limits, ping = self.kernel.limits, origin.profile.ping
        if limits.max_concurrent_requests and (ping is None or event.method != ping.name):
            limits.make_room(len(self._connection.in_flight))
        try:
            return self.kernel.prepare(binding, event.id, event.method, event.params, origin)
        except (McpError, ProtocolError) as error:
            asked = event.id, event.method, event.params, origin
            self.kernel.report_refusal(self._notifications, *asked, error)
            raise

    async def _run(self, call: Call[Any], post: PostResponse, batch: Batch | None) -> None:
        handled = False
        try:
            # The context of this coroutine is of the request alone.
            CURRENT.set(call.ctx)
            try:
                call.result = await call.route.call(call.ctx, call.params)
                if call.origin.agreed is not None:
                    # A handshake: later requests need what it has agreed on.
                    call.written = self.kernel.answer(call, call.result)
            except BaseException as error:
                call.written = self.kernel.failure(call, error, cancelled=is_cancelled())
            handled = True
            if self._persistence is not None and self.has_changed():
                # Before the response: the next request may arrive at another process.
                await self._save(self._persistence)
                self._check_saved(call)
        finally:
            if not handled:
                call.written = cut_off(call.id)
            # A cancelled request gets no response, even if its handler continues.
            call.cancelled = not self._finish_request(call.id)
            post.answered(None if call.cancelled else call, batch)

    def _end_expired(self, post: PostResponse, id: Any) -> None:
        """End the stream of a POST whose access token has expired.

        The handlers go on where the client can reconnect for the rest, with a new token.
        """
        reply = post.reply
        if reply is not None and post.is_resumable:
            reply.end()
            post.detach(reply)
        else:
            self._break_off(post, id, token_expired)

    def _break_off(
        self, post: PostResponse, id: Any, failure: Callable[[RequestId], bytes]
    ) -> None:
        """Cancel the requests of a POST, and answer them with an error.

        A disconnect cancels no POST of a session, so it is the HTTP server that ends, or the token.
        """
        batch_ids = post.batch.ids if post.batch is not None else ()
        ids: Iterable[Any] = batch_ids if id is None else [id]
        broken: list[Any] = []
        for id in ids:
            # Its handler may take the cancellation badly: nothing is waited for.
            if self._stop_answering(self.task(id)):
                broken.append(id)
        post.break_off(broken, failure)

    def has_changed(self) -> bool:
        """Return True if the session differs from its copy in the session store."""
        return self.unsaved

    async def _save(self, persistence: SessionPersistence) -> None:
        """Save the session; one save at a time: an older state must not replace a newer one."""
        async with self._use_store():
            if not self.unsaved:
                return
            # Before the store is called: a change in the meantime needs a save of its own.
            self.unsaved = False
            try:
                await persistence.save(self.snapshot)
            except asyncio.CancelledError:
                self.unsaved = True
                raise

    def _check_saved(self, call: Call[Any]) -> None:
        """Replace the response to a request that must not be answered without a stored session."""

    async def forget_stored(self) -> None:
        """Remove the session from the store, after a save in progress: that would restore it."""
        if self._persistence is not None:
            async with self._use_store():
                await self._persistence.forget(self.id)

    def _use_store(self) -> asyncio.Lock:
        """Return the lock that is held while the store is called."""
        if self._saving is None:
            self._saving = asyncio.Lock()
        return self._saving

    # --- sessions that outlive their process ---

    def snapshot(self) -> StoredSession | None:
        """Return the state for another process; None before the handshake and after the end."""
        origin = self.origin
        if origin is None or self.over:
            return None
        profile = origin.profile
        return StoredSession(
            id=self.id,
            client=stored_client(origin),
            revision=profile.revision,
            principal=self.principal,
            key_thumbprint=self.key_thumbprint,
            began_at=time.time() - self.age_s(),
            ready=self.initialized,
            log_level=self.log_level,
            subscribed=tuple(sorted(self.subscribed)),
            moves=self.moves,
        )

    def restore(self, stored: StoredSession) -> bool:
        """Continue a stored session; return False if its revision is not offered here."""
        origin = restored_origin(self.kernel, stored, self)
        if origin is None:
            return False
        origin.principal = stored.principal
        if stored.key_thumbprint is not None:
            self.key_thumbprint = stored.key_thumbprint
        self.began_s -= max(0.0, time.time() - stored.began_at)
        self.log_level = stored.log_level
        self.subscribed.update(stored.subscribed)
        self.moves = stored.moves + 1
        # Event ids of two processes in one session must not clash.
        self.streams.count = self.moves * NAMES_PER_MOVE
        self.agree(origin, origin.profile)
        if stored.ready:
            self.begin()
        return True

    # --- other messages ---

    def _send(self, answer: bytes | None, batch: Batch | None) -> None:
        if self._post is not None:
            self._post.refuse(answer, batch, 400)

    def _on_notification(self, event: NotificationReceived) -> None:
        assert self.profile is not None
        self.handle_notification(self.profile, event.method)
        super()._on_notification(event)

    def _outbound_context(self) -> Any:
        return self

    def _profile_for(self, event: NotificationReceived) -> Profile | None:
        return self.profile

    def _hook_context(self, profile: Profile) -> Any:
        assert self.origin is not None
        assert self._post is not None
        origin = self.origin.for_another_request()
        origin.headers, origin.admission = self._post.headers, self._post.admission
        return self.kernel.context(None, origin, None)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        """Do nothing: the HTTP server limits the size of bodies."""

    def closed(self, error: BaseException | None) -> None:
        """Do nothing: a session over HTTP has no connection that can be lost."""

    # --- hooks and open requests ---

    def listen(self, hooks: Coroutine[Any, Any, None]) -> None:
        """Run session hooks in a task of their own."""
        self._notifications.run(hooks)

    def requests(self) -> list[asyncio.Task[Any]]:
        """Return the tasks of requests that are being answered."""
        return list(self._connection.in_flight.values())

    def hooks(self) -> list[asyncio.Task[Any]]:
        """Return the tasks of hooks that are running."""
        return list(self._notifications.tasks())
