"""The client's side of a duplex transport: requests out, answers matched, the server's answered."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.core import envelope
from mcp_gen.core.connection import MessageRejected, ResponseReceived
from mcp_gen.core.errors import (
    InvalidParams,
    McpError,
    McpGenError,
    MethodNotFound,
    ProtocolError,
    RequestTimeout,
    SessionLost,
    TransportError,
)
from mcp_gen.core.projection.closed import ClosedViolation, violations
from mcp_gen.core.projection.project import project
from mcp_gen.session.duplex.connection import DuplexConnection
from mcp_gen.session.kernel.errors import internal_error
from mcp_gen.session.messages.gather import wait_or_cancel
from mcp_gen.session.messages.notifications import NotificationReceiver

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping

    from msgspec import Raw

    from mcp_gen.core.connection import Batch, Event, NotificationReceived, RequestReceived
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.extensions.extensions import Extensions
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.session.messages.channel import Channel
    from mcp_gen.session.messages.notifications import Act
    from mcp_wire.callers import OnProgress
    from mcp_wire.hooks import ClientHooks
    from mcp_wire.method import Method, Route
    from mcp_wire.profile import Profile

__all__ = ["ClientConnection"]

P = TypeVar("P")
R = TypeVar("R")

_NEWS = (
    "tools_changed",
    "prompts_changed",
    "resources_changed",
    "resource_updated",
    "subscription_acknowledged",
    "elicitation_complete",
    "log",
    "task_status",
)
"""The notifications that sessions act upon, by their places on a Profile."""

_log = logging.getLogger("mcp_gen.client")


class ClientConnection(DuplexConnection):
    """Drives one connection to a server."""

    _log = _log
    tells_calls_apart = False
    """Whether what a server asks comes in the context of the request that it is asked for."""

    def __init__(self, transport: Duplex, hooks: ClientHooks) -> None:
        self._rows: dict[str, Callable[[Profile], Method[Any, None] | None]] = {}
        """What servers tell by extensions, and what these change of what others tell."""
        super().__init__(
            transport, NotificationReceiver(hooks, _log, custom=self._rows), hooks.outbound
        )
        self.hooks = hooks
        self._make_routes: Callable[[], Mapping[str, Route[Any]]] = dict
        self._routes: Mapping[str, Route[Any]] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._held: list[bytes] | None = None
        """Messages that came right behind the opening's answer, which decides how they are read."""
        self.begin_again: Callable[[], Awaitable[Callable[[], Awaitable[None]]]] | None = None
        """Opens a new session where the server has ended the one that there was; gives what is to
        be done in it first."""
        self.session: Any = None
        """The public session, once it is open: what hooks get as their context."""
        self.on_notification: Callable[[str, Any], None] | None = None
        """Called with what the server tells of, by its place on a Profile, and its params."""
        self.on_disconnect: Callable[[SessionLost], None] | None = None
        """Called once when the connection has ended."""
        self.on_violation: Callable[[str, ClosedViolation], None] | None = None
        """Called with what the server may not send, and with its method, empty if it has none;
        None where nobody looks for it."""
        self.extensions: Extensions | None = None
        """What the client offers beside the protocol, once something was agreed on."""
        self._acts: tuple[Act, ...] = ()
        self._closed = False
        self._keeping_alive: asyncio.Task[None] | None = None

    @property
    def is_lost(self) -> bool:
        """Whether the connection has ended: nothing can be asked any more."""
        return self._lost is not None

    @property
    def is_closed(self) -> bool:
        """Whether it was this side that ended it."""
        return self._closed

    @property
    def principal(self) -> Hashable:
        """Whom the transport speaks for now; None where it does not tell."""
        principal: Hashable = getattr(self._transport, "principal", None)
        return principal

    def agree(
        self,
        profile: Profile,
        routes: Callable[[], Mapping[str, Route[Any]]],
        extensions: Extensions | None = None,
    ) -> None:
        """Settle the revision, and what makes the routes of what the server may ask at it."""
        self.extensions = extensions
        rows: Mapping[str, Method[Any, Any]] = extensions.rows(profile) if extensions else {}
        self._rows.clear()
        self._rows.update({name: _always(row) for name, row in rows.items()})
        self._connection.profile = profile
        self._make_routes = routes
        self._routes = None
        news = (
            (rows.get(method.name, method), partial(self._on_change_notification, place))
            for place in _NEWS
            if (method := getattr(profile, place)) is not None
        )
        # Where a server asks nothing, what it calls off is a request of ours that listens.
        live = profile.asks_client == "server_request"
        self._acts = (
            (
                profile.cancelled,
                self._cancel if live else partial(self._on_change_notification, "cancelled"),
            ),
            (profile.progress, self._report),
            *news,
        )

    def act_on(self, method: Method[Any, Any], act: Callable[[Any], None]) -> None:
        """Call this, too, with the params of an extension's notification."""
        self._acts = (*self._acts, (method, act))

    def attempt(self, profile: Profile) -> None:
        """What is sent until something is agreed on is of this revision."""

    def changed(self) -> None:
        """Hooks were added: make the routes anew when they are next asked for."""
        self._routes = None

    @property
    def routes(self) -> Mapping[str, Route[Any]]:
        """What the server may ask, at the revision that was agreed on."""
        if self._routes is None:
            self._routes = self._make_routes()
        return self._routes

    async def open(self) -> None:
        """Start the transport."""
        await self._transport.start(self)

    async def opened(self, session: Any) -> None:
        """The session is open: tell whoever listens."""
        self.session = session
        self._release()
        await self.hooks.tell_opened(session)

    async def aclose(self) -> None:
        """End the transport; whoever still waits gets SessionLost."""
        self._closed = True
        self._disconnect(SessionLost("the session was closed"))
        if self._keeping_alive is not None:
            self._keeping_alive.cancel()
            await asyncio.wait([self._keeping_alive])
        await wait_or_cancel(self._tasks, 0, self._give_up)
        try:
            await self._transport.aclose()
        finally:
            self._session_closed()
            if self._telling:
                await self._telling

    def _session_closed(self) -> None:
        """The session has ended: tell whoever listens, once."""
        if self.session is not None and self._telling is None:
            self._telling = self.loop.create_task(self.hooks.tell_closed(self.session))

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Coroutine[Any, Any, Raw]:
        """Send a request; see `Link.request`."""
        # Not async itself, nor what it overrides: one coroutine less for every call to go through.
        if self._held is not None:
            self._release()
        way = self._message_sender(method, params)
        return self.request_via(way, method, params, timeout_s, progress)

    def listening(self, opened: Callable[[RequestId], None]) -> Channel:
        """Where a request is sent that may be open for ever; `opened` is told its id."""
        return _Listening(self, opened)

    async def listen(
        self, method: Method[P, R], params: P, opened: Callable[[RequestId], None]
    ) -> Raw:
        """Send a request without a time limit; see `listening`."""
        self._release()
        way = self._message_sender(method, params)
        return await self.request_via(way, method, params, None, None, opened)

    def keep_alive(
        self, ask: Callable[..., Awaitable[Any]], every_s: float, timeout_s: float
    ) -> None:
        """Ask every `every_s` from now on; a server that is silent for `timeout_s` is given up."""
        asks = self._keep_pinging(ask, every_s, timeout_s)
        self._keeping_alive = self.loop.create_task(asks)

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
                said = f"the server was silent for {timeout_s:g} s, so it was given up"
                self._disconnect(SessionLost(said))
                self._session_closed()
                await self._transport.aclose()
            except TransportError:
                return
            except McpGenError as error:
                _log.debug("a strange answer, but one: %s", error)

    def receive(self, message: bytes) -> None:
        """One message came."""
        if self._held is not None:
            self._held.append(message)
        elif message.startswith(b"{"):
            event = self._connection.read(message)
            if type(event) is ResponseReceived and self._connection.profile is not None:
                # What nearly all messages are.
                if not event.waiter.done():
                    event.waiter.set_result(event.result)
            else:
                self._handle(event)
        else:
            super().receive(message)

    def _handle(self, event: Event) -> None:
        if self.profile is None and isinstance(event, ResponseReceived):
            self._held = []
        if isinstance(event, MessageRejected):
            if self._closed:
                return  # such as the answer to a request that listened until now
            self._report_violation("", "$", str(event.error))
        super()._handle(event)

    def _release(self) -> None:
        held, self._held = self._held or [], None
        for message in held:
            self.receive(message)

    def oversized(self, limit_bytes: int) -> None:
        """An answer was too long to be read: nobody knows whose it was."""
        _log.error("skipped a message of more than %d bytes", limit_bytes)

    def closed(self, error: BaseException | None) -> None:
        """The server hung up."""
        lost = SessionLost(f"the server hung up: {error}" if error else "the server hung up")
        lost.__cause__ = error
        self._disconnect(lost)
        self._session_closed()

    def _disconnect(self, lost: SessionLost) -> None:
        first = self._lost is None
        super()._disconnect(lost)
        if first and self.on_disconnect is not None:
            self.on_disconnect(self.lost_error())

    def _on_notification(self, event: NotificationReceived) -> None:
        profile = self.profile
        if profile is None:
            _log.debug("ignored %s: no revision has been agreed on", event.method)
            return
        if self.on_violation is not None:
            self._check_conformance(event.method, event.params, profile)
        self._notifications.receive(event, profile, self._hook_context, *self._acts)

    def _check_conformance(self, name: str, params: Raw, profile: Profile) -> None:
        """Tell what a server may not send at the revision that is spoken."""
        row = self._rows.get(name)
        method = profile.methods.get(name) if row is None else row(profile)
        if method is None or not method.from_server:
            self._report_violation(
                name, "$.method", f"not for a server to send at {profile.revision}"
            )
        elif params:
            for violation in violations(method.params, params, profile.revision, "$.params"):
                self._report_violation(name, *violation)

    def _report_violation(self, method: str, path: str, what: str) -> None:
        if self.on_violation is not None:
            self.on_violation(method, ClosedViolation(path, what))

    def run(self, what: Coroutine[Any, Any, None]) -> None:
        """Let something run that nobody waits for, until the session ends."""
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
        # What a server may ask only inside of a result has a route too.
        if route is None or not route.method.from_server:
            self._refuse(event)
            return
        if self.on_violation is not None and self.profile is not None:
            self._check_conformance(event.method, event.params, self.profile)
        run = self._run(route, event)
        self._connection.in_flight[event.id] = self.loop.create_task(run)

    def _refuse(self, event: RequestReceived) -> None:
        """The server asks what it may not, or what this client does not offer."""
        _log.warning("the server asks for `%s`, which is not offered", event.method)
        self._report_violation(event.method, "$.method", "not for a server to ask this client")
        error = MethodNotFound(f"this client does not offer `{event.method}`")
        self._send(envelope.failure(event.id, envelope.error_object(error)), event.batch)

    def _send(self, answer: bytes | None, batch: Batch | None) -> None:
        # Where servers ask inside of results, clients send no answers at all:
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
        except (ValueError, RecursionError) as error:
            bad = InvalidParams(f"{event.method}: {error}")
            return envelope.failure(event.id, envelope.error_object(bad))
        try:
            result = await route.call(self.session, params)
            if self.profile is not None:
                result = project(result, self.profile.revision).value
            if type(result) not in route.results and self.profile:
                result = project(result, self.profile.revision).value
            return envelope.response(event.id, result)
        except (McpError, ProtocolError) as error:
            return envelope.failure(event.id, envelope.error_object(error))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and not self.answers(event.id):
                raise
            # Details stay here: they may hold what no peer should see.
            _log.exception("%s failed", event.method)
            return internal_error(event.id)


def _always(row: Method[Any, Any]) -> Callable[[Profile], Method[Any, None] | None]:
    return lambda profile: row


class _Listening:
    """The way to the server for one request that listens."""

    def __init__(self, link: ClientConnection, opened: Callable[[RequestId], None]) -> None:
        self._link = link
        self._opened = opened
        self.notify = link.notify
        self.drain = link.drain
        self.answers = link.answers
        self.task = link.task

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Raw:
        return await self._link.listen(method, params, self._opened)
