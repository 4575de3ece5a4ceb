"""Server end of a duplex connection."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from mcp_gen.core import envelope
from mcp_gen.core.errors import InvalidRequest, McpError, ProtocolError
from mcp_gen.core.protocol_state import MessageRejected, RequestReceived
from mcp_gen.core.transport.protocols import PostedMessage
from mcp_gen.session.duplex.connection import DuplexConnection
from mcp_gen.session.duplex.worker import HandlerRunner
from mcp_gen.session.kernel.errors import cut_off
from mcp_gen.session.messages.channel import ClientDisconnected
from mcp_gen.session.messages.gather import wait_or_cancel
from mcp_gen.session.peer.keep_alive import keep_alive
from mcp_gen.session.peer.session import RequestOrigin, Session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.protocol_state import NotificationReceived
    from mcp_gen.core.transport.authorizing import Admission
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.session.kernel.call import Call
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.profile import Profile

__all__ = ["ServerConnection"]

C = TypeVar("C")
HeldMessage: TypeAlias = "tuple[bytes, Headers | None, Admission | None]"
"""Message that waits for a handshake, with its HTTP headers and credentials."""

_log = logging.getLogger("mcp_gen.server")

MAX_HELD = 1_000
"""Messages that wait for a handshake in progress; more are refused."""
MAX_HELD_BYTES = 16 * 1024 * 1024
"""Bytes of these messages; more are refused."""
GRACE_S = 5.0
"""Seconds that requests in flight may still run after the client disconnected."""


class ServerConnection(DuplexConnection, Session, Generic[C]):
    """Server end of one client's connection, and that client's session.

    Args:
        kernel: Server that answers the requests.
        transport: Transport of the connection; not started yet.
    """

    _log = _log

    def __init__(self, kernel: Kernel[C], transport: Duplex) -> None:
        notices, outbound = kernel.notification_receiver(), kernel.hooks.outbound
        most = kernel.limits.peer.max_values
        DuplexConnection.__init__(self, transport, notices, outbound, most)
        Session.__init__(self)
        self.kernel = kernel
        self._ended: asyncio.Future[None] = self.loop.create_future()
        self._posted = transport if isinstance(transport, PostedMessage) else None
        self._headers: Headers | None = None
        """HTTP headers of the message that is being handled."""
        self._admission: Admission | None = None
        """Verified credentials of that message; None on transports that have none."""
        self._held: list[HeldMessage] | None = None
        """Messages that wait for a handshake in progress; None without one."""
        self._held_bytes = 0
        self._opened = False
        self._max_concurrent = kernel.limits.max_concurrent_requests or sys.maxsize
        """Number of requests that may be open; 0 once the session is ending."""
        soon: Any = getattr(transport, "call_after_read", None)
        self._runner = HandlerRunner(kernel, self._finish, soon)
        self._keep_alive_task: asyncio.Task[None] | None = None
        self._named_profile: Profile | None = None
        """Profile that the last request named in `_meta`, admitted or not; None before one did."""

    @property
    def profile(self) -> Profile | None:
        """Profile of the negotiated revision; None before the handshake or without one."""
        return self._connection.profile

    @property
    def host(self) -> Kernel[C]:
        """Server of this session."""
        return self.kernel

    @property
    def channel(self) -> ServerConnection[C]:
        """The connection itself."""
        return self

    @property
    def reachable(self) -> bool:
        """True if no disconnect of the client is known."""
        return not self._ended.done()

    def agree(self, caller: RequestOrigin, profile: Profile) -> None:
        """Complete the handshake: set the revision and the client, and open the session."""
        super().agree(caller, profile)
        self._connection.profile = profile
        self._open()

    def end(self) -> None:
        """End the session: requests in flight get a grace period, then the connection closes."""
        self._max_concurrent = 0
        self._end()

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    async def wait_ended(self) -> None:
        """Wait until the client has disconnected or the session is being ended."""
        await asyncio.shield(self._ended)

    async def start(self) -> None:
        """Start to answer requests; pair with `finish`."""
        await self._transport.start(self)

    async def serve(self) -> None:
        """Answer requests until the client disconnects and those in flight have ended."""
        await self.start()
        await self.finish()

    async def finish(self) -> None:
        """Wait until the session is to end, then close it.

        Requests in flight get 5 seconds; the ones left are answered with an error and cancelled.
        """
        try:
            await self._ended
            for end in self.kernel.on_connection_end:
                end(self)
            await self._runner.begun()
            await wait_or_cancel(self._tasks, GRACE_S, self._give_up)
        finally:
            await self._stop()
            await wait_or_cancel(self._tasks, 0, self._give_up)
            self._send_all_waiting()
            try:
                await self._transport.aclose()
            finally:
                self.kernel.sessions.discard(self)
                if self._opened:
                    await self.kernel.hooks.tell_closed(self)

    async def _stop(self) -> None:
        """Stop the tasks that belong to no request."""
        self._max_concurrent = 0
        await self._runner.drop()
        if self._keep_alive_task:
            self._keep_alive_task.cancel()
            await asyncio.wait([self._keep_alive_task])

    def _open(self) -> None:
        """Open the session and start its hooks and its keep-alive, once."""
        if not self._opened:
            self._opened = True
            self.kernel.sessions.add(self)
            if self.kernel.hooks.opened:
                self._notifications.run(self.kernel.hooks.tell_opened(self))
            self._keep_alive()

    def _keep_alive(self) -> None:
        limits, profile = self.kernel.limits, self.profile
        if limits.keep_alive_s is not None and profile is not None and profile.ping is not None:
            pings = keep_alive(
                self, every_s=limits.keep_alive_s, timeout_s=limits.keep_alive_timeout_s
            )
            self._keep_alive_task = self.loop.create_task(pings)

    # --- called by the transport ---

    def receive(self, message: bytes) -> None:
        """Handle one message of the client; handlers start in the next turn."""
        if self._posted:
            self._headers, self._admission = self._posted.headers, self._posted.admission
        if self._held is not None:
            self._hold(message, self._held)
        elif message.startswith(b"{"):
            event = self._connection.read(message)
            if type(event) is RequestReceived:
                self._on_request(event)
            else:
                self._handle(event)
        else:
            super().receive(message)

    def _hold(self, message: bytes, held: list[HeldMessage]) -> None:
        """Keep a message until the handshake in progress has ended, if there are not too many."""
        if len(held) < MAX_HELD and self._held_bytes + len(message) <= MAX_HELD_BYTES:
            held.append((message, self._headers, self._admission))
            self._held_bytes += len(message)
            return
        for event in self._connection.receive(message):
            if type(event) is RequestReceived:
                error = InvalidRequest("too many messages came before the handshake was answered")
                refusal = envelope.failure(event.id, envelope.error_object(error))
                self._send(refusal, event.batch)
            elif isinstance(event, MessageRejected):
                self._handle(event)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        """Answer an oversized message with InvalidRequest, without an id."""
        error = InvalidRequest(f"a message may have at most {limit_bytes} bytes")
        self._transport.send(envelope.failure(None, envelope.error_object(error)))

    def closed(self, error: BaseException | None) -> None:
        """Handle a disconnect of the client."""
        if error:
            _log.warning("the connection broke: %s", error)
        self._disconnect(ClientDisconnected("the client hung up"))
        # Requests that have arrived are still answered, even if they wait for the handshake.
        self._end()

    # --- incoming messages ---

    def _on_request(self, event: RequestReceived) -> None:
        kernel, origin, in_flight = self.kernel, self.origin, self._connection.in_flight
        try:
            if (
                origin is None
                or self._posted
                or len(in_flight) >= self._max_concurrent
                or kernel.names_revision(event.params)
            ):
                call = self._prepare(event)
            else:
                # After a handshake, as most requests: `_prepare` has nothing to decide.
                binding = kernel.bindings[origin.profile.revision]
                try:
                    call = kernel.prepare(binding, event.id, event.method, event.params, origin)
                except (McpError, ProtocolError) as error:
                    self._report_refusal(event, origin, error)
                    raise
        except (McpError, ProtocolError) as error:
            refusal = envelope.failure(event.id, envelope.error_object(error))
            self._send(refusal, event.batch)
            return
        if event.batch:
            call.batch = event.batch
        if call.route.method is call.binding.profile.handshake:
            # The revision it agrees on decides how later messages are decoded.
            self._held = []
        in_flight[event.id] = call
        self._runner.add(call)

    def _finish(self, call: Call[C], answer: bytes | None) -> None:
        del self._connection.in_flight[call.id]
        if self._unread:
            self._send_waiting_of_request()
        # A cancelled request gets no response, even if its handler continues.
        if call.batch is not None or call.cancelled:
            self._send(None if call.cancelled else answer, call.batch)
        else:
            # No answer: an interrupt of the process broke off the handler.
            self._transport.send(cut_off(call.id) if answer is None else answer)
        if self._held is not None and call.route.method is call.binding.profile.handshake:
            held, self._held, self._held_bytes = self._held, None, 0
            self._resume(held)

    def _resume(self, held: list[HeldMessage]) -> None:
        for message, headers, admission in held:
            if self._held is None:
                self._headers, self._admission = headers, admission
                super().receive(message)
            else:  # an earlier message was another handshake
                self._held.append((message, headers, admission))

    def _cancel(self, params: Any) -> None:
        call = self._call(params.request_id)
        if call is None or call.cancelled:
            return
        _log.debug("request %r is cancelled: %r", params.request_id, params.reason)
        call.cancelled = True
        if call.task is None:
            self._finish(call, None)
        else:
            # In the next turn: hooks get the cancellation before its effects.
            self.loop.call_soon(call.task.cancel)

    def answers(self, id: RequestId | None) -> bool:
        """Return True if the request with this id is still being answered."""
        call = self._call(id)
        return call is not None and not call.cancelled

    def task(self, id: RequestId | None) -> asyncio.Task[None] | None:
        """Return the task that answers the request with this id; None before it starts."""
        call = self._call(id)
        return call.task if call else None

    def _call(self, id: RequestId | None) -> Call[C] | None:
        return None if id is None else self._connection.in_flight.get(id)

    def _give_up(self) -> None:
        for call in self._calls():
            if not call.cancelled:
                # Now, not when the handler has ended: it may take its cancellation badly.
                batch, call.batch, call.cancelled = call.batch, None, True
                self._send(cut_off(call.id), batch)

    def _tasks(self) -> list[asyncio.Task[None]]:
        tasks = [call.task for call in self._calls() if call.task]
        return [*tasks, *self._notifications.tasks()]

    def _calls(self) -> Iterable[Call[C]]:
        return self._connection.in_flight.values()

    def _prepare(self, event: RequestReceived) -> Call[C]:
        agreed = self._connection.profile
        # A client without a handshake that has named a revision names one in each request.
        named = self._named_profile if agreed is None else None
        binding = self.kernel.binding_for_request(agreed, event.params, sure=named is not None)
        if named is not None:
            handshake = binding.profile.handshake
            if handshake is not None and event.method != handshake.name:
                # Only a handshake may still come without a revision.
                binding = self.kernel.bindings[named.revision]
        profile = binding.profile
        if profile.handshake is None:
            self._named_profile = profile
        if len(self._connection.in_flight) >= self._max_concurrent:
            self._make_room(event, profile)
        # The origin from the handshake is only valid at the revision that it agreed on.
        known = self.origin if profile is agreed else None
        origin = known or self._new_origin(profile)
        if self._posted:
            origin = self._with_headers(origin, self._posted)
        try:
            call = self.kernel.prepare(binding, event.id, event.method, event.params, origin)
        except (McpError, ProtocolError) as error:
            self._report_refusal(event, origin, error)
            raise
        if profile.handshake is None:
            self._open()
        return call

    def _report_refusal(
        self, event: RequestReceived, origin: RequestOrigin, error: McpError | ProtocolError
    ) -> None:
        asked = event.id, event.method, event.params, origin
        self.kernel.report_refusal(self._notifications, *asked, error)

    def _make_room(self, event: RequestReceived, profile: Profile) -> None:
        if self._max_concurrent == 0:
            raise InvalidRequest("this server is about to end, and takes no more requests")
        if profile.ping is None or event.method != profile.ping.name:
            self.kernel.limits.make_room(len(self._connection.in_flight))

    def _new_origin(self, profile: Profile) -> RequestOrigin:
        return RequestOrigin(profile, self, self if profile.session_state else None)

    def _with_headers(self, origin: RequestOrigin, posted: PostedMessage) -> RequestOrigin:
        """Return the same client's origin with the headers of the current message."""
        copy = origin.for_another_request()
        copy.headers, copy.principal = self._headers, posted.principal
        copy.admission = self._admission
        return copy

    def _on_notification(self, event: NotificationReceived) -> None:
        if self.profile:
            self.handle_notification(self.profile, event.method)
        super()._on_notification(event)

    def _profile_for(self, event: NotificationReceived) -> Profile | None:
        # Notifications name no revision: without a handshake they use that of the requests.
        return (
            self.profile
            or self._named_profile
            or self.kernel.binding_for_request(None, event.params).profile
        )

    def _spoken(self) -> Profile | None:
        return self.profile or self._named_profile

    def _hook_context(self, profile: Profile) -> Any:
        known = self.origin if profile is self.profile else None
        origin = known or self._new_origin(profile)
        if self._posted:
            origin = self._with_headers(origin, self._posted)
        return self.kernel.context(None, origin, None)

    def _outbound_context(self) -> Any:
        return self
