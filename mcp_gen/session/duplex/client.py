"""Client end of a duplex connection."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import DecodeError

from mcp_gen.core import envelope
from mcp_gen.core.bounds import check_bounds
from mcp_gen.core.checks.finite import check_finite
from mcp_gen.core.errors import (
    InvalidParams,
    InvalidRequest,
    McpError,
    McpGenError,
    MethodNotFound,
    ProtocolError,
    RequestTimeout,
    SessionLost,
    TransportError,
)
from mcp_gen.core.peer_values import shortened
from mcp_gen.core.projection.closed import ClosedViolation, violations
from mcp_gen.core.projection.project import restate
from mcp_gen.core.protocol_state import ErrorReceived, MessageRejected, ResponseReceived
from mcp_gen.session.duplex.connection import DuplexConnection
from mcp_gen.session.duplex.held_messages import HeldMessages
from mcp_gen.session.duplex.listen_channel import ListenChannel
from mcp_gen.session.duplex.oversized import fail_oversized
from mcp_gen.session.kernel.errors import internal_error
from mcp_gen.session.kernel.hook_results import check_result, restate_result
from mcp_gen.session.messages.gather import wait_or_cancel
from mcp_gen.session.messages.middleware import wrap
from mcp_gen.session.messages.notifications import NotificationReceiver
from mcp_wire.method import Route

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping

    from msgspec import Raw

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.extensions.extensions import Extensions
    from mcp_gen.core.protocol_state import Batch, Event, NotificationReceived, RequestReceived
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.session.duplex.client_parts import ClientParts
    from mcp_gen.session.messages.channel import Channel
    from mcp_gen.session.messages.notifications import Act
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = ["ClientConnection"]

P = TypeVar("P")
R = TypeVar("R")

MAX_OPEN_REQUESTS = 1_000
"""Requests of a server that may be open at the same time."""
_CHANGES = (
    "tools_changed",
    "prompts_changed",
    "resources_changed",
    "resource_updated",
    "subscription_acknowledged",
    "elicitation_complete",
    "log",
    "task_status",
)
"""Notifications that client sessions act on, by their attributes of Profile."""

_log = logging.getLogger("mcp_gen.client")

MAX_UNASKED_VALUES = 20_000
"""The most keys and items of a notification or request of a server.

Nobody waits for these: a server must not hold up the sessions with other servers by them.
"""


class ClientConnection(DuplexConnection):
    """Client end of a connection to one server.

    Args:
        transport: Transport of the connection; not started yet.
        parts: Parts that it shares with the other connections of the client.
    """

    _log = _log
    answers_noise = False  # A program that prints to stdout reads no answers to its prints.
    tells_calls_apart = False
    """True if a server request comes in the context of the client request that it belongs to."""

    def __init__(self, transport: Duplex, parts: ClientParts) -> None:
        hooks, max_values = parts.hooks, parts.max_values
        self._rows: dict[str, Callable[[Profile], Method[Any, None] | None]] = {}
        """Method rows of extensions, with protocol ones that they change, and custom ones."""
        notices = NotificationReceiver(
            hooks, _log, parts.middleware.incoming, self._rows, unknown=parts.unknown
        )
        unasked = min(max_values, MAX_UNASKED_VALUES)
        super().__init__(transport, notices, hooks.outbound, unasked, max_values)
        self.hooks = hooks
        self.middleware = parts.middleware
        self._parts = parts
        hooks.accept, hooks.outbound.accept = check_result, restate_result
        self._make_routes: Callable[[], Mapping[str, Route[Any]]] = dict
        self._routes: Mapping[str, Route[Any]] | None = None
        self._closed_hooks: asyncio.Task[None] | None = None
        self._held: HeldMessages | None = None
        """Messages right after the handshake response, which decides how they are decoded."""
        self.reopen_session: Callable[[], Awaitable[Callable[[], Awaitable[None]]]] | None = None
        """Opens a new session after the server ended one; returns what to run first in it."""
        self.session: Any = None
        """Public session once it is open; it is the context of hooks."""
        self.on_notification: Callable[[str, Any], None] | None = None
        """Called with a notification's attribute of Profile and its params."""
        self.on_disconnect: Callable[[SessionLost], None] | None = None
        """Called once when the connection has ended."""
        self.on_violation: Callable[[str, ClosedViolation], None] | None = None
        """Called with a method (may be empty) and its protocol violation; None skips the checks."""
        self.extensions: Extensions | None = None
        """Extensions of the client, once a revision is negotiated."""
        self._acts: tuple[Act, ...] = ()
        self._closed = self._closed_here = False
        self._end: asyncio.Event | None = None
        self._keep_alive_task: asyncio.Task[None] | None = None

    @property
    def is_lost(self) -> bool:
        """True if the connection has ended, so that no request can be sent."""
        return self._lost is not None

    @property
    def is_closed(self) -> bool:
        """True if this side closed the connection."""
        return self._closed

    @property
    def principal(self) -> Hashable:
        """Current principal of the transport's credentials; None if it has none."""
        principal: Hashable = getattr(self._transport, "principal", None)
        return principal

    def agree(
        self,
        profile: Profile,
        routes: Callable[[], Mapping[str, Route[Any]]],
        extensions: Extensions | None = None,
    ) -> None:
        """Set the negotiated revision, the routes of server requests, and the extensions.

        Args:
            profile: Profile of the negotiated revision.
            routes: Makes the routes; called again after `changed`.
            extensions: Extensions of the client.
        """
        self.extensions = extensions
        rows: Mapping[str, Method[Any, Any]] = extensions.rows(profile) if extensions else {}
        self._rows.clear()
        self._rows.update(self._parts.notifications)
        self._rows.update({name: _always(row) for name, row in rows.items()})
        self._connection.profile = profile
        self._make_routes = routes
        self._routes = None
        changes = (
            (rows.get(method.name, method), partial(self._on_change_notification, place))
            for place in _CHANGES
            if (method := getattr(profile, place)) is not None
        )
        # A server that sends no requests can only cancel a listen request of this client.
        live = profile.asks_client == "server_request"
        self._acts = (
            (
                profile.cancelled,
                self._cancel if live else partial(self._on_change_notification, "cancelled"),
            ),
            (profile.progress, self._report),
            *changes,
        )

    def act_on(self, method: Method[Any, Any], act: Callable[[Any], None]) -> None:
        """Call `act` with the params of an extension's notification, in addition to hooks."""
        self._acts = (*self._acts, (method, act))

    def attempt(self, profile: Profile) -> None:
        """Send messages at this revision until one is negotiated."""

    def changed(self) -> None:
        """Drop the cached routes after hooks, middleware or notifications were added."""
        self._routes = None
        for name, row in self._parts.notifications.items():
            self._rows.setdefault(name, row)

    @property
    def routes(self) -> Mapping[str, Route[Any]]:
        """Routes of requests that the server may send, at the negotiated revision."""
        if self._routes is None:
            self._routes = self._make_routes()
            if self.middleware.incoming:
                self._routes = {name: self._wrapped(one) for name, one in self._routes.items()}
        return self._routes

    def _wrapped(self, route: Route[Any]) -> Route[Any]:
        method = route.method
        call = wrap(self.middleware.incoming, method.name, route.call, answered=True)
        return Route(method, call)

    async def open(self) -> None:
        """Start the transport."""
        await self._transport.start(self)

    async def opened(self, session: Any) -> None:
        """Set the public session, handle held messages, and run the session hooks."""
        self.session = session
        self._release_held()
        await self.hooks.tell_opened(session)

    async def aclose(self) -> None:
        """Close the transport; open requests fail with SessionLost."""
        self._closed = True
        if self._lost is None:
            self._closed_here = True
        self._disconnect(SessionLost("the session was closed"))
        if self._keep_alive_task is not None:
            self._keep_alive_task.cancel()
            await asyncio.wait([self._keep_alive_task])
        await wait_or_cancel(self._tasks, 0, self._give_up)
        self._send_all_waiting()
        try:
            await self._transport.aclose()
        finally:
            self._session_closed()
            if self._closed_hooks:
                await self._closed_hooks

    def _session_closed(self) -> None:
        if self.session is not None and self._closed_hooks is None:
            self._closed_hooks = self.loop.create_task(self.hooks.tell_closed(self.session))

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Coroutine[Any, Any, Raw]:
        """Send a request; see `DuplexConnection.request`."""
        # Not async, like the overridden method: each call saves one coroutine.
        if self._held is not None:
            self._release_held()
        return self.request_via(self._transport, method, params, timeout_s, progress)

    def listening(self, opened: Callable[[RequestId], None]) -> Channel:
        """Return a channel for a request without timeout; `opened` gets the request id."""
        return ListenChannel(self, partial(self.listen, opened=opened))

    async def listen(
        self, method: Method[P, R], params: P, opened: Callable[[RequestId], None]
    ) -> Raw:
        """Send a request without a timeout; `opened` gets the request id before it is sent."""
        self._release_held()
        return await self.request_via(self._transport, method, params, None, None, opened)

    def keep_alive(
        self, ask: Callable[..., Awaitable[Any]], every_s: float, timeout_s: float
    ) -> None:
        """Ping the server every `every_s` seconds from now on.

        The connection is closed if a response takes longer than `timeout_s` seconds.
        """
        pings = self._keep_pinging(ask, every_s, timeout_s)
        self._keep_alive_task = self.loop.create_task(pings)

    async def _keep_pinging(
        self, ask: Callable[..., Awaitable[Any]], every_s: float, timeout_s: float
    ) -> None:
        while not self._lost:
            await asyncio.sleep(every_s)
            if self._lost:
                return
            try:
                await ask(timeout_s=timeout_s)
            except RequestTimeout:
                reason = f"the server was silent for {timeout_s:g} s, so it was given up"
                self._disconnect(SessionLost(reason))
                self._session_closed()
                await self._transport.aclose()
            except TransportError:
                return
            except McpGenError as error:
                _log.debug("a strange answer, but one: %s", error)

    def receive(self, message: bytes) -> None:
        """Handle one message of the server."""
        if self._held is not None:
            self._held.add(message)
        elif message.startswith(b"{"):
            event = self._connection.read(message)
            if type(event) is ResponseReceived and self._connection.profile is not None:
                # Fast path for most messages.
                if not event.waiter.done():
                    event.waiter.set_result(event.result)
            else:
                self._handle(event)
        else:
            super().receive(message)

    def _handle(self, event: Event) -> None:
        if self.profile is None and isinstance(event, ResponseReceived):
            self._held = HeldMessages()
        if isinstance(event, MessageRejected):
            if self._closed:
                return  # for example the response to a listen request
            self.report_violation("", "$", str(event.error))
        elif isinstance(event, ErrorReceived) and isinstance(event.error, envelope.TooComplex):
            event.error.name_option("Client(max_values=)")
        super()._handle(event)

    def _release_held(self) -> None:
        held, self._held = self._held, None
        for message in held.messages if held else ():
            self.receive(message)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> bool:
        """Fail the request that an oversized message answers, and log the message.

        It is known by its id, before or after the result, or if no other request is open.
        """
        if beginning or not end:
            _log.error("skipped a message of more than %d bytes", limit_bytes)
        return not fail_oversized(self._connection, limit_bytes, beginning, end)

    def closed(self, error: BaseException | None) -> None:
        """Handle a disconnect of the server."""
        lost = SessionLost(f"the server hung up: {error}" if error else "the server hung up")
        lost.__cause__ = error
        self._disconnect(lost)
        self._session_closed()

    def _disconnect(self, lost: SessionLost) -> None:
        first = self._lost is None
        super()._disconnect(lost)
        if first and self._end is not None:
            self._end.set()
        if first and self.on_disconnect is not None:
            self.on_disconnect(self.lost_error())

    async def wait_lost(self) -> SessionLost | None:
        """Wait until the connection has ended; return why, or None if this side closed it."""
        if self._lost is None:
            if self._end is None:
                self._end = asyncio.Event()
            await self._end.wait()
        return None if self._closed_here else self.lost_error()

    def _on_notification(self, event: NotificationReceived) -> None:
        profile = self.profile
        if profile is None:
            _log.debug("ignored %s: no revision has been agreed on", event.method)
            return
        if self.on_violation is not None:
            self._check_conformance(event.method, event.params, profile)
        self._notifications.receive(event, profile, self._hook_context, *self._acts)

    def _check_conformance(self, name: str, params: Raw, profile: Profile) -> None:
        if name in self._parts.notifications:
            return
        row = self._rows.get(name)
        method = profile.methods.get(name) if row is None else row(profile)
        if method is None or not method.from_server:
            self.report_violation(
                name, "$.method", f"not for a server to send at {profile.revision}"
            )
        elif params:
            for violation in violations(method.params, params, profile.revision, "$.params"):
                self.report_violation(name, *violation)

    def report_violation(self, method: str, path: str, what: str) -> None:
        """Report a violation of the server, unless the client is lenient.

        Args:
            method: Method of the message; empty if there is none.
            path: JSON path of the violation in the message.
            what: Description of the violation.
        """
        if self.on_violation is not None:
            self.on_violation(method, ClosedViolation(path, what))

    def run(self, what: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in a task that ends with the session at the latest."""
        self._notifications.run(what)

    def _on_change_notification(self, place: str, params: Any) -> None:
        if self.on_notification is not None:
            self.on_notification(place, params)

    def _profile_for(self, event: NotificationReceived) -> Profile | None:
        return self.profile

    def _hook_context(self, profile: Profile) -> Any:
        return self.session

    def _outbound_context(self) -> Any:
        return self.session

    def _on_request(self, event: RequestReceived) -> None:
        route = self.routes.get(event.method)
        # Requests that a server may only embed in a result have a route, too.
        if route is None or not route.method.from_server:
            self._refuse(event)
            return
        if len(self._connection.in_flight) >= MAX_OPEN_REQUESTS:
            error = InvalidRequest(f"{MAX_OPEN_REQUESTS} requests are open; wait for an answer")
            self._send(envelope.failure(event.id, envelope.error_object(error)), event.batch)
            return
        if self.on_violation is not None and self.profile is not None:
            self._check_conformance(event.method, event.params, self.profile)
        run = self._run(route, event)
        self._connection.in_flight[event.id] = self.loop.create_task(run)

    def _refuse(self, event: RequestReceived) -> None:
        _log.warning("the server asks for `%s`, which is not offered", event.method)
        self.report_violation(event.method, "$.method", "not for a server to ask this client")
        error = MethodNotFound(f"this client does not offer `{shortened(event.method)}`")
        self.report_refusal(event.method, error)
        self._send(envelope.failure(event.id, envelope.error_object(error)), event.batch)

    def report_refusal(self, method: str, error: ProtocolError) -> None:
        """Start the `on_error` hooks for a request that is refused before its handler.

        Args:
            method: Name of the method.
            error: Reason of the refusal.
        """
        if self.hooks.error_every:
            self._notifications.run_limited(
                self.hooks.tell_error(self.session, method, None, error)
            )

    def _send(self, answer: bytes | None, batch: Batch | None) -> None:
        # Where servers embed requests in results, clients send no responses at all:
        # https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio
        if self.profile is None or self.profile.asks_client == "server_request":
            super()._send(answer, batch)

    async def _run(self, route: Route[Any], event: RequestReceived) -> None:
        answer: bytes | None = None
        try:
            answer = await self._answer(route, event)
        finally:
            self._send(answer if self._finish_request(event.id) else None, event.batch)

    async def _answer(self, route: Route[Any], event: RequestReceived) -> bytes:
        try:
            params = route.decode(event.params)
        except DecodeError as error:
            bad = InvalidParams(f"{event.method}: {error}")
            self.report_refusal(event.method, bad)
            return envelope.failure(event.id, envelope.error_object(bad))
        try:
            result = await route.call(self.session, params)
            if self.profile is not None:
                result = restate(result, self.profile.revision).value
            check_bounds(result)
            answer = envelope.response(event.id, result)
            check_finite(result, answer, event.method)
            return answer
        except (McpError, ProtocolError) as error:
            return envelope.failure(event.id, envelope.error_object(error))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and not self.answers(event.id):
                raise
            # Details are logged only: they may hold data that no peer should see.
            _log.exception("%s failed", event.method)
            return internal_error(event.id)


def _always(row: Method[Any, Any]) -> Callable[[Profile], Method[Any, None] | None]:
    return lambda profile: row
