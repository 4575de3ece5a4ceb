"""The client's side of a duplex transport: requests out, answers matched, pings answered."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import UNSET, Raw

from mcp_gen.core import envelope
from mcp_gen.core.connection import Answered, Connection, Failed, Noticed, Requested
from mcp_gen.core.errors import InvalidParams, MethodNotFound, RequestTimeout, SessionLost
from mcp_gen.core.project import project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.core.connection import Batch, Event
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.transport import Duplex
    from mcp_wire.method import Method, Route
    from mcp_wire.profile import Profile

__all__ = ["ClientLink"]

P = TypeVar("P")
R = TypeVar("R")
Waiter: TypeAlias = "asyncio.Future[Raw]"

_log = logging.getLogger("mcp_gen.client")


class ClientLink:
    """Drives one connection to a server. It is a transport's receiver."""

    def __init__(self, transport: Duplex) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._connection: Connection[Waiter] = Connection()
        self._lost: SessionLost | None = None
        self.routes: Mapping[str, Route[None]] = {}
        """What the server may ask, at the revision that was agreed on."""

    @property
    def profile(self) -> Profile | None:
        """The revision that was agreed on."""
        return self._connection.profile

    def agree(self, profile: Profile, routes: Mapping[str, Route[None]]) -> None:
        """Settle the revision, and what the server may ask at it."""
        self._connection.profile = profile
        self.routes = routes

    async def open(self) -> None:
        """Start the transport."""
        await self._transport.start(self)

    async def close(self) -> None:
        """End the transport; whoever still waits gets SessionLost."""
        self._lose(SessionLost("the session was closed"))
        for task in list(self._connection.in_flight.values()):
            task.cancel()
        await self._transport.close()

    async def request(self, method: Method[P, R], params: P, *, timeout_s: float | None) -> Raw:
        """Send a request and return its result undecoded.

        Raises:
            McpError: the server answered with an error.
            RequestTimeout: no answer in `timeout_s`; the server has been told to stop.
            SessionLost: the connection ended first.
        """
        if self._lost:
            raise self._lost
        waiter: Waiter = self._loop.create_future()
        id = self._connection.open_request(waiter)
        timer = None
        if timeout_s is not None:
            timer = self._loop.call_later(timeout_s, _time_out, waiter, method.name, timeout_s)
        try:
            self._transport.send(envelope.request(id, method.name, params))
            return await waiter
        except (RequestTimeout, asyncio.CancelledError):
            self._connection.forget_request(id)
            self._tell_cancelled(method, id)
            raise
        finally:
            if timer:
                timer.cancel()

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification."""
        self._transport.send(envelope.notification(method.name, params))

    def _tell_cancelled(self, method: Method[Any, Any], id: RequestId) -> None:
        profile = self.profile
        # The handshake may not be cancelled, and before it there is nothing to cancel.
        if profile and profile.cancelled and method is not profile.handshake:
            cancelled: Method[Any, None] = profile.cancelled
            self.notify(cancelled, cancelled.params(request_id=id))

    # --- what the transport calls ---

    def receive(self, message: bytes) -> None:
        """One message came."""
        for event in self._connection.receive(message):
            self._handle(event)

    def oversized(self, limit_bytes: int) -> None:
        """An answer was too long to be read: nobody knows whose it was."""
        _log.error("skipped a message of more than %d bytes", limit_bytes)

    def closed(self, error: BaseException | None) -> None:
        """The server hung up."""
        self._lose(SessionLost(f"the server hung up: {error}" if error else "the server hung up"))

    def _lose(self, lost: SessionLost) -> None:
        self._lost = self._lost or lost
        for waiter in self._connection.abandon():
            if not waiter.done():
                waiter.set_exception(self._lost)

    # --- events ---

    def _handle(self, event: Event) -> None:
        if isinstance(event, Answered):
            waiter: Waiter = event.waiter
            if not waiter.done():
                waiter.set_result(event.result)
        elif isinstance(event, Failed):
            if not event.waiter.done():
                event.waiter.set_exception(event.error)
        elif isinstance(event, Requested):
            self._answer(event)
        elif isinstance(event, Noticed):
            _log.debug("notification %s", event.method)
        else:
            _log.warning("refused a message: %s", event.error)
            self._send(event.answer, event.batch)

    def _answer(self, event: Requested) -> None:
        route = self.routes.get(event.method)
        if route is None:
            error = MethodNotFound(f"this client does not offer `{event.method}`")
            self._send(envelope.failure(event.id, envelope.error_object(error)), event.batch)
            return
        run = self._run(route, event)
        self._connection.in_flight[event.id] = self._loop.create_task(run)

    async def _run(self, route: Route[None], event: Requested) -> None:
        answer: bytes | None = None
        try:
            result = await route.call(None, route.decode(event.params))
            if self.profile is not None:
                result = project(result, self.profile.revision).value
            answer = envelope.response(event.id, result)
        except ValueError as error:
            bad = InvalidParams(f"{event.method}: {error}")
            answer = envelope.failure(event.id, envelope.error_object(bad))
        finally:
            del self._connection.in_flight[event.id]
            self._send(answer, event.batch)

    def _send(self, answer: bytes | None, batch: Batch | None) -> None:
        whole = batch.add(answer) if batch else answer
        if whole is not None:
            self._transport.send(whole)


def _time_out(waiter: Waiter, method: str, timeout_s: float) -> None:
    if not waiter.done():
        waiter.set_exception(RequestTimeout(f"{method}: no answer in {timeout_s:g} s"))
