"""What both sides of a duplex transport do alike: ask and tell the peer, and hear what it tells."""

from __future__ import annotations

import asyncio
import inspect
import logging
from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Raw

from mcp_gen.core import envelope
from mcp_gen.core.connection import (
    ErrorReceived,
    MessageRejected,
    NotificationReceived,
    ProtocolState,
    RequestReceived,
    ResponseReceived,
)
from mcp_gen.core.errors import RequestTimeout, SessionLost
from mcp_gen.session.duplex.deadlines import SlidingTimeout, TimeoutQueue
from mcp_gen.session.duplex.progress import DetachedProgress

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from mcp_gen.core.connection import Batch, Event
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.session.messages.notifications import NotificationReceiver
    from mcp_wire.callers import OnProgress
    from mcp_wire.hook_points import HookSet
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["DuplexConnection", "MessageSender"]

P = TypeVar("P")
R = TypeVar("R")
Waiter: TypeAlias = "asyncio.Future[Raw]"


LATE_S = 10.0
"""How long the answer to a request may be on its way that was cancelled."""


class MessageSender(Protocol):
    """Where messages can be sent to the peer."""

    def send(self, message: bytes) -> None:
        """Queue one message."""
        ...


class DuplexConnection(ABC):
    """One connection being driven. It is its transport's receiver."""

    max_wait_s: float | None = None
    """How long a request may take in all, if progress puts its time limit off; None: it does
    not."""
    on_late_response: Callable[[Method[Any, Any], Raw], None] | None = None
    """Called with results that came when nobody waited any more; None: they are passed over."""
    _lost: SessionLost | None = None
    _log: ClassVar[logging.Logger]
    """Where is said what goes wrong on this side."""

    def __init__(self, transport: Duplex, notices: NotificationReceiver, outbound: HookSet) -> None:
        self._transport = transport
        self._outbound = outbound
        self._notifications = notices
        self.loop = asyncio.get_running_loop()
        self._connection: ProtocolState[Waiter] = ProtocolState()
        self._reports: dict[RequestId, OnProgress] = {}
        self._deadlines = TimeoutQueue(self.loop)
        self._sliding_timeouts: dict[RequestId, SlidingTimeout] = {}
        """The time limits of requests that reports of progress put off."""
        self._cancelled: set[asyncio.Task[None]] = set()
        """The requests that are to get no answer. Their tasks cannot tell: a task group, say,
        cancels the one it is in for its own ends, and may leave it so."""

    @property
    def profile(self) -> Profile | None:
        """What has been agreed on; None before, and where nothing is agreed on."""
        return self._connection.profile

    # --- asking and telling the peer ---

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Coroutine[Any, Any, Raw]:
        """Send a request and return its result undecoded.

        Where progress is reported the time begins anew with each report, up to `max_wait_s`.

        Raises:
            McpError: the peer answered with an error.
            RequestTimeout: no answer in `timeout_s`; the peer has been told to stop.
            SessionLost: the connection ended first.
        """
        way = self._message_sender(method, params)
        return self.request_via(way, method, params, timeout_s, progress)

    async def request_via(
        self,
        way: MessageSender,
        method: Method[P, R],
        params: P,
        timeout_s: float | None,
        progress: OnProgress | None,
        opened: Callable[[RequestId], None] | None = None,
    ) -> Raw:
        """Send a request on one of several ways to the peer; see `request`.

        `opened` is told its id before it is sent.
        """
        if self._lost:
            raise self.lost_error()
        waiter: Waiter = self.loop.create_future()
        id = self._connection.open_request(waiter)
        timer: SlidingTimeout | None = None
        if progress is not None:
            params = self._with_token(params, id)
            self._reports[id] = progress
            if timeout_s is not None and self.max_wait_s is not None:
                timer = SlidingTimeout(self.loop, waiter, method.name, timeout_s, self.max_wait_s)
                self._sliding_timeouts[id] = timer
        if timeout_s is not None and timer is None:
            self._deadlines.add(timeout_s, waiter, method.name)
        if opened is not None:
            opened(id)
        try:
            self._send_request(way, id, waiter, envelope.request(id, method.name, params))
            if self.on_late_response is None:
                return await waiter
            # Who waits may be cancelled, and the answer come in the same turn.
            return await asyncio.shield(waiter)
        except (RequestTimeout, asyncio.CancelledError):
            if self.on_late_response is None:
                self._connection.forget_request(id)
            else:
                self._watch_late_response(method, id, waiter)
            await self._send_cancelled(method, id, way, params)
            raise
        finally:
            if progress is not None:
                if isinstance(progress, DetachedProgress):
                    progress.release = partial(self._reports.pop, id, None)
                else:
                    self._reports.pop(id, None)
                self._sliding_timeouts.pop(id, None)
            if timer:
                timer.cancel()

    def _watch_late_response(self, method: Method[Any, Any], id: RequestId, waiter: Waiter) -> None:
        """The answer to this request may be on its way, or be here already."""
        if waiter.done() and waiter.exception() is not None:
            waiter = self.loop.create_future()
            self._connection.wait_on(id, waiter)
        self._deadlines.add(LATE_S, waiter, method.name)
        waiter.add_done_callback(partial(self._on_late_response, method, id))

    def _on_late_response(self, method: Method[Any, Any], id: RequestId, late: Waiter) -> None:
        self._connection.forget_request(id)
        if not late.cancelled() and late.exception() is None and self.on_late_response is not None:
            self.on_late_response(method, late.result())

    def _message_sender(self, method: Method[Any, Any], params: Any) -> MessageSender:
        """Where this request is sent."""
        return self._transport

    def _send_request(
        self, way: MessageSender, id: RequestId, waiter: Waiter, message: bytes
    ) -> None:
        """Send a request, whose answer is for `waiter`."""
        way.send(message)

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification."""
        self._transport.send(envelope.notification(method.name, params))

    def answers(self, id: RequestId | None) -> bool:
        """Whether this request is still being answered."""
        task = self.task(id)
        return task is not None and task not in self._cancelled

    def task(self, id: RequestId | None) -> asyncio.Task[None] | None:
        """The task in which this request is being answered."""
        found: asyncio.Task[None] | None = None
        if id is not None:
            found = self._connection.in_flight.get(id)
        return found

    async def drain(self) -> None:
        """Wait until the peer has read enough for more to be sent."""
        await self._transport.drain()

    def _with_token(self, params: Any, id: RequestId) -> Any:
        key = self.profile.progress_token_key if self.profile else ""
        return msgspec.structs.replace(params, meta={**(params.meta or {}), key: id})

    async def _send_cancelled(
        self, method: Method[Any, Any], id: RequestId, way: MessageSender, asked: Any
    ) -> None:
        profile = self.profile
        # The handshake may not be cancelled, and before it there is nothing to cancel.
        if profile is None or profile.cancelled is None or method is profile.handshake:
            return
        cancelled: Method[Any, None] = profile.cancelled
        params = cancelled.params(request_id=id)
        key, meta = profile.related_task_key, getattr(asked, "meta", None)
        if key is not None and meta and key in meta:
            params = msgspec.structs.replace(params, meta={key: meta[key]})
        # At once: the caller is waiting to be rid of it, and a hook may take its time.
        way.send(envelope.notification(cancelled.name, params))
        point = self._outbound.notices.get(cancelled.name)
        if point:
            await point.tell(self._outbound_context(), params)

    # --- what the transport calls ---

    def receive(self, message: bytes) -> None:
        """One message came."""
        for event in self._connection.receive(message):
            self._handle(event)

    @abstractmethod
    def oversized(self, limit_bytes: int) -> None:
        """A message was too long to be read."""

    @abstractmethod
    def closed(self, error: BaseException | None) -> None:
        """The peer hung up."""

    # --- what came ---

    def _handle(self, event: Event) -> None:
        if type(event) is RequestReceived:
            self._on_request(event)
        elif type(event) is ResponseReceived:
            if not event.waiter.done():
                event.waiter.set_result(event.result)
        elif type(event) is ErrorReceived:
            if not event.waiter.done():
                event.waiter.set_exception(event.error)
        elif type(event) is NotificationReceived:
            self._on_notification(event)
        elif isinstance(event, MessageRejected):
            self._log.warning("refused a message: %s", event.error)
            self._send(event.answer, event.batch)

    @abstractmethod
    def _on_request(self, event: RequestReceived) -> None:
        """The peer wants an answer."""

    @abstractmethod
    def _profile_for(self, event: NotificationReceived) -> Profile | None:
        """The revision that a notification is read at."""

    def _on_notification(self, event: NotificationReceived) -> None:
        profile = self._profile_for(event)
        if profile is None:
            self._log.debug("ignored %s: no revision has been agreed on", event.method)
            return
        self._notifications.receive(
            event,
            profile,
            self._hook_context,
            (profile.cancelled, self._cancel),
            (profile.progress, self._report),
        )

    @abstractmethod
    def _hook_context(self, profile: Profile) -> Any:
        """What a hook gets as its context where the peer notifies."""

    @abstractmethod
    def _outbound_context(self) -> Any:
        """What a hook gets as its context where the peer is asked or told."""

    def _cancel(self, params: Any) -> None:
        task: asyncio.Task[None] | None = self._connection.in_flight.get(params.request_id)
        if task is not None and task not in self._cancelled:
            self._log.debug("request %r is cancelled: %r", params.request_id, params.reason)
            self._cancelled.add(task)
            # In the next turn: a task that is cancelled before it began runs no `finally`.
            self.loop.call_soon(task.cancel)

    def _finish_request(self, id: RequestId) -> bool:
        """A request is no longer open; False if it is to get no answer."""
        task: asyncio.Task[None] = self._connection.in_flight.pop(id)
        wanted = task not in self._cancelled
        self._cancelled.discard(task)
        return wanted

    def _report(self, params: Any) -> None:
        progress = self._reports.get(params.progress_token)
        if progress is None:
            return
        patience = self._sliding_timeouts.get(params.progress_token)
        if patience is not None:
            patience.extend()
        try:
            answer = progress(params.progress, params.total, getattr(params, "message", None))
        except Exception:
            # The report is the caller's business; what else came is not to be lost over it.
            self._log.exception("a progress callback failed")
            return
        if inspect.isawaitable(answer):
            self._notifications.run(self._finish_report(answer))

    async def _finish_report(self, report: Awaitable[Any]) -> None:
        try:
            await report
        except Exception:
            self._log.exception("a progress callback failed")

    def _disconnect(self, lost: SessionLost) -> None:
        """The connection has ended: whoever waits is told."""
        self._lost = self._lost or lost
        self._deadlines.clear()
        for waiter in self._connection.abandon():
            if not waiter.done():
                waiter.set_exception(self.lost_error())

    def lost_error(self) -> SessionLost:
        """Why the connection has ended; each who asks gets an error of its own to raise."""
        lost = self._lost or SessionLost("the session has ended")
        again = type(lost)(*lost.args)
        again.__cause__ = lost.__cause__
        return again

    def _send(self, answer: bytes | None, batch: Batch | None) -> None:
        whole = batch.add(answer) if batch else answer
        if whole is not None:
            self._transport.send(whole)

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [*self._connection.in_flight.values(), *self._notifications.tasks()]

    def _give_up(self) -> None:
        """What is still being answered is going to be cancelled."""
        self._cancelled.update(self._connection.in_flight.values())
