"""The server's side of a duplex transport: one connection, and what comes over it."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mcp_gen.core import envelope
from mcp_gen.core.connection import RequestReceived
from mcp_gen.core.errors import InvalidRequest, McpError, ProtocolError
from mcp_gen.core.transport.protocols import PostedMessage
from mcp_gen.session.duplex.connection import DuplexConnection
from mcp_gen.session.duplex.worker import HandlerRunner
from mcp_gen.session.messages.channel import ClientDisconnected
from mcp_gen.session.messages.gather import wait_or_cancel
from mcp_gen.session.peer.keep_alive import keep_alive
from mcp_gen.session.peer.session import RequestOrigin, Session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_gen.core.connection import NotificationReceived
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.session.kernel.call import Call
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.profile import Profile

__all__ = ["ServerConnection"]

C = TypeVar("C")
_log = logging.getLogger("mcp_gen.server")

GRACE_S = 5.0
"""How long requests in flight may still run when the client has gone."""


class ServerConnection(DuplexConnection, Session, Generic[C]):
    """Drives one client's connection."""

    _log = _log

    def __init__(self, kernel: Kernel[C], transport: Duplex) -> None:
        DuplexConnection.__init__(
            self, transport, kernel.notification_receiver(), kernel.hooks.outbound
        )
        Session.__init__(self)
        self.kernel = kernel
        self._ended: asyncio.Future[None] = self.loop.create_future()
        self._posted = transport if isinstance(transport, PostedMessage) else None
        self._headers: Headers | None = None
        """Those of the message that is being read."""
        self._held: list[tuple[bytes, Headers | None]] | None = None
        """Messages that wait for the handshake before them; None while no handshake is on."""
        self._opened = False
        self._max_concurrent = kernel.limits.max_concurrent_requests or sys.maxsize
        """How many requests may be open; none more once the session is about to end."""
        self._worker = HandlerRunner(kernel, self._finish)
        self._keeping_alive: asyncio.Task[None] | None = None
        self._named: Profile | None = None
        """What the last request named for itself, where there is no handshake."""

    @property
    def profile(self) -> Profile | None:
        """What has been agreed on; None before, and where nothing is agreed on."""
        return self._connection.profile

    @property
    def host(self) -> Kernel[C]:
        """The server of this session."""
        return self.kernel

    @property
    def channel(self) -> ServerConnection[C]:
        """The connection itself."""
        return self

    @property
    def reachable(self) -> bool:
        """Whether the client has not hung up, as far as is known."""
        return not self._ended.done()

    def agree(self, caller: RequestOrigin, profile: Profile) -> None:
        """Settle the revision of this connection, and who the client is."""
        super().agree(caller, profile)
        self._connection.profile = profile
        self._open()

    def end(self) -> None:
        """End the session: what is in flight gets a moment, then the connection is closed."""
        self._max_concurrent = 0
        self._end()

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    async def wait_ended(self) -> None:
        """Wait until the client has hung up, or the session is being ended."""
        await asyncio.shield(self._ended)

    async def start(self) -> None:
        """Begin to answer; to be followed by `finish`."""
        await self._transport.start(self)

    async def serve(self) -> None:
        """Answer until the client hangs up, then let what is in flight end."""
        await self.start()
        await self.finish()

    async def finish(self) -> None:
        """Wait until the session is to end, and let what is in flight end."""
        try:
            await self._ended
            for end in self.kernel.on_connection_end:
                end(self)
            await wait_or_cancel(self._tasks, GRACE_S, self._give_up)
        finally:
            await self._dismiss()
            await wait_or_cancel(self._tasks, 0, self._give_up)
            try:
                await self._transport.aclose()
            finally:
                self.kernel.sessions.discard(self)
                if self._opened:
                    await self.kernel.hooks.tell_closed(self)

    async def _dismiss(self) -> None:
        """End what belongs to no request."""
        self._max_concurrent = 0
        await self._worker.drop()
        if self._keeping_alive:
            self._keeping_alive.cancel()
            await asyncio.wait([self._keeping_alive])

    def _open(self) -> None:
        """The session has begun: tell whoever listens, once."""
        if not self._opened:
            self._opened = True
            self.kernel.sessions.add(self)
            if self.kernel.hooks.opened:
                self._notifications.run(self.kernel.hooks.tell_opened(self))
            self._keep_alive()

    def _keep_alive(self) -> None:
        limits, profile = self.kernel.limits, self.profile
        if limits.keep_alive_s is not None and profile is not None and profile.ping is not None:
            asks = keep_alive(
                self, every_s=limits.keep_alive_s, timeout_s=limits.keep_alive_timeout_s
            )
            self._keeping_alive = self.loop.create_task(asks)

    # --- what the transport calls ---

    def receive(self, message: bytes) -> None:
        """One message came: start what it asks for."""
        if self._posted:
            self._headers = self._posted.headers
        if self._held is not None:
            self._held.append((message, self._headers))
        elif message.startswith(b"{"):
            event = self._connection.read(message)
            if type(event) is RequestReceived:
                self._on_request(event)
            else:
                self._handle(event)
        else:
            super().receive(message)

    def oversized(self, limit_bytes: int) -> None:
        """A message was too long to be read."""
        error = InvalidRequest(f"a message may have at most {limit_bytes} bytes")
        self._transport.send(envelope.failure(None, envelope.error_object(error)))

    def closed(self, error: BaseException | None) -> None:
        """The client hung up."""
        if error:
            _log.warning("the connection broke: %s", error)
        self._disconnect(ClientDisconnected("the client hung up"))
        # What has come is still answered, though it may have to wait for the handshake.
        self._end()

    # --- what came ---

    def _on_request(self, event: RequestReceived) -> None:
        try:
            call = self._prepare(event)
        except (McpError, ProtocolError) as error:
            refusal = envelope.failure(event.id, envelope.error_object(error))
            self._send(refusal, event.batch)
            return
        if event.batch:
            call.batch = event.batch
        if call.route.method is call.binding.profile.handshake:
            # What it agrees on decides how everything behind it is read.
            self._held = []
        self._connection.in_flight[event.id] = call
        self._worker.add(call)

    def _finish(self, call: Call[C], answer: bytes | None) -> None:
        del self._connection.in_flight[call.id]
        # A cancelled request is answered with nothing, even where its handler goes on.
        if call.batch is not None or call.cancelled:
            self._send(None if call.cancelled else answer, call.batch)
        elif answer is not None:
            self._transport.send(answer)
        if self._held is not None and call.route.method is call.binding.profile.handshake:
            held, self._held = self._held, None
            self._resume(held)

    def _resume(self, held: list[tuple[bytes, Headers | None]]) -> None:
        for message, headers in held:
            if self._held is None:
                self._headers = headers
                super().receive(message)
            else:  # a message in front was another handshake
                self._held.append((message, headers))

    def _cancel(self, params: Any) -> None:
        call = self._call(params.request_id)
        if call is None or call.cancelled:
            return
        _log.debug("request %r is cancelled: %r", params.request_id, params.reason)
        call.cancelled = True
        if call.task is None:
            self._finish(call, None)
        else:
            # In the next turn: hooks hear of the cancellation before they hear what it does.
            self.loop.call_soon(call.task.cancel)

    def answers(self, id: RequestId | None) -> bool:
        """Whether this request is still being answered."""
        call = self._call(id)
        return call is not None and not call.cancelled

    def task(self, id: RequestId | None) -> asyncio.Task[None] | None:
        """The task in which this request is being answered; None before it is."""
        call = self._call(id)
        return call.task if call else None

    def _call(self, id: RequestId | None) -> Call[C] | None:
        return None if id is None else self._connection.in_flight.get(id)

    def _give_up(self) -> None:
        for call in self._calls():
            call.cancelled = True

    def _tasks(self) -> list[asyncio.Task[None]]:
        tasks = [call.task for call in self._calls() if call.task]
        if self._worker.busy:
            tasks.append(self._worker.busy)
        return [*tasks, *self._notifications.tasks()]

    def _calls(self) -> Iterable[Call[C]]:
        return self._connection.in_flight.values()

    def _prepare(self, event: RequestReceived) -> Call[C]:
        agreed = self._connection.profile
        # Who has named a revision, and shaken no hands, goes on to do so.
        sure = agreed is None and self._named is not None
        binding = self.kernel.binding_for_request(agreed, event.params, sure=sure)
        if len(self._connection.in_flight) >= self._max_concurrent:
            self._make_room(event, binding.profile)
        # The handshake's client is the caller only at the revision that was agreed on with it.
        known = self.caller if binding.profile is agreed else None
        caller = known or self._caller(binding.profile)
        if self._posted:
            caller = self._posting(caller, self._posted)
        call = self.kernel.prepare(binding, event.id, event.method, event.params, caller)
        if binding.profile.handshake is None:
            self._named = binding.profile
            self._open()
        return call

    def _make_room(self, event: RequestReceived, profile: Profile) -> None:
        if self._max_concurrent == 0:
            raise InvalidRequest("this server is about to end, and takes no more requests")
        if profile.ping is None or event.method != profile.ping.name:
            self.kernel.limits.make_room(len(self._connection.in_flight))

    def _caller(self, profile: Profile) -> RequestOrigin:
        return RequestOrigin(profile, self, self if profile.session_state else None)

    def _posting(self, caller: RequestOrigin, posted: PostedMessage) -> RequestOrigin:
        """The same client, with the headers of the message that is being read."""
        same = caller.for_another_request()
        same.headers, same.principal = self._headers, posted.principal
        return same

    def _on_notification(self, event: NotificationReceived) -> None:
        if self.profile:
            self.handle_notification(self.profile, event.method)
        super()._on_notification(event)

    def _profile_for(self, event: NotificationReceived) -> Profile | None:
        # Notifications name nothing: where nothing was agreed on, they follow the requests.
        return (
            self.profile
            or self._named
            or self.kernel.binding_for_request(None, event.params).profile
        )

    def _hook_context(self, profile: Profile) -> Any:
        known = self.caller if profile is self.profile else None
        caller = known or self._caller(profile)
        if self._posted:
            caller = self._posting(caller, self._posted)
        return self.kernel.context(None, caller, None)

    def _outbound_context(self) -> Any:
        return self
