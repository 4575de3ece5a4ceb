"""Base of both ends of a duplex connection: request/response matching, timeouts, cancellation."""

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
from mcp_gen.core.errors import RequestTimeout, SessionLost
from mcp_gen.core.peer_values import is_finite_number
from mcp_gen.core.protocol_state import (
    ErrorReceived,
    MessageRejected,
    NotificationReceived,
    ProtocolState,
    RequestReceived,
    ResponseReceived,
)
from mcp_gen.core.transport.protocols import Paced
from mcp_gen.session.duplex.deadlines import SlidingTimeout, TimeoutQueue
from mcp_gen.session.duplex.progress import DetachedProgress
from mcp_gen.session.duplex.refusals import RefusalLog
from mcp_gen.session.duplex.unread import Notice, UnreadNotifications

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.protocol_state import Batch, Event
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.session.messages.notifications import NotificationReceiver
    from mcp_wire.hook_machinery import HookSet
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = ["DuplexConnection", "MessageSender"]

P = TypeVar("P")
R = TypeVar("R")
Waiter: TypeAlias = "asyncio.Future[Raw]"
"""Future of the response to a request."""

LATE_S = 10.0
"""Seconds that a cancelled request is still watched for a late response."""


class MessageSender(Protocol):
    """Sends messages to the peer."""

    def send(self, message: bytes) -> None:
        """Queue one message."""
        ...


class DuplexConnection(ABC):
    """One end of a connection with both directions. It is the receiver of its transport.

    Args:
        transport: Transport of the connection; not started yet.
        notices: Receiver of the peer's notifications.
        outbound: Hooks around messages to the peer.
        max_values: The most keys and items of one message of the peer.
        max_response_values: The most of a response; None for `max_values`.
    """

    max_wait_s: float | None = None
    """Seconds a request may take if progress extends its timeout; None: it does not."""
    on_late_response: Callable[[Method[Any, Any], Raw], None] | None = None
    """Called with a result that arrives after its request was cancelled; None drops it."""
    answers_noise = True
    """True if each invalid message without an id is answered, not only those that are logged."""
    _lost: SessionLost | None = None
    _paced: Paced | None = None
    """The transport, if it tells whether the peer reads too slowly."""
    _unread: UnreadNotifications | None = None
    """Notifications that wait until the peer reads again."""
    _refusals: RefusalLog | None = None
    """Log lines about refused messages; None before the first one."""
    _log: ClassVar[logging.Logger]
    """Logger of this side."""

    def __init__(
        self,
        transport: Duplex,
        notices: NotificationReceiver,
        outbound: HookSet,
        max_values: int,
        max_response_values: int | None = None,
    ) -> None:
        self._transport = transport
        if isinstance(transport, Paced):
            self._paced = transport
        self._outbound = outbound
        self._notifications = notices
        self.loop = asyncio.get_running_loop()
        self._connection: ProtocolState[Waiter] = ProtocolState(
            max_values=max_values, max_response_values=max_response_values
        )
        self._progress_callbacks: dict[RequestId, OnProgress] = {}
        self._deadlines = TimeoutQueue(self.loop)
        self._sliding_timeouts: dict[RequestId, SlidingTimeout] = {}
        """Timeouts of requests that progress extends, by request id."""
        self._cancelled: set[asyncio.Task[None]] | None = None
        """Tasks of requests that the peer cancelled: they get no response. None before the first.

        A task does not know it: a task group, for example, also cancels the task that it runs
        in, and may leave it so.
        """

    @property
    def profile(self) -> Profile | None:
        """Profile of the negotiated revision; None before the handshake or without one."""
        return self._connection.profile

    # --- requests and notifications to the peer ---

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Coroutine[Any, Any, Raw]:
        """Send a request and return its result, not decoded.

        Args:
            method: Method row of the request.
            params: Params of the request.
            timeout_s: Seconds to wait for the response; None waits without limit. If `progress` is
                given and `max_wait_s` is set, each progress notification restarts the time, up to
                `max_wait_s` in all.
            progress: Callback for progress notifications of this request.

        Returns:
            The JSON of the result.

        Raises:
            McpError: the peer answered with an error.
            RequestTimeout: no response in time; the request has been cancelled at the peer.
            SessionLost: the connection ended first.
        """
        return self.request_via(self._transport, method, params, timeout_s, progress)

    async def request_via(
        self,
        way: MessageSender,
        method: Method[P, R],
        params: P,
        timeout_s: float | None,
        progress: OnProgress | None,
        opened: Callable[[RequestId], None] | None = None,
    ) -> Raw:
        """Send a request through a given sender; see `request`.

        Args:
            way: Sender that carries the request.
            method: Method row of the request.
            params: Params of the request.
            timeout_s: Seconds to wait for the response; None waits without limit.
            progress: Callback for progress notifications of this request.
            opened: Called with the request id before the request is sent.
        """
        if self._lost:
            raise self.lost_error()
        waiter: Waiter = self.loop.create_future()
        id = self._connection.open_request(waiter)
        timer: SlidingTimeout | None = None
        sender = way
        try:
            if progress is not None:
                params = self._with_progress_token(params, id)
                self._progress_callbacks[id] = progress
                if timeout_s is not None and self.max_wait_s is not None:
                    limits_s = timeout_s, self.max_wait_s
                    timer = SlidingTimeout(self.loop, waiter, method.name, *limits_s)
                    self._sliding_timeouts[id] = timer
            if timeout_s is not None and timer is None:
                self._deadlines.add(timeout_s, waiter, method.name)
            if opened is not None:
                opened(id)
            sender = self._send_request(way, id, waiter, method, params)
            # The waiting task may be cancelled in the turn in which the response arrives.
            awaited = waiter if self.on_late_response is None else asyncio.shield(waiter)
            result = await awaited
            if isinstance(progress, DetachedProgress):
                progress.release = partial(self._progress_callbacks.pop, id, None)
                progress = None
            return result
        except (RequestTimeout, asyncio.CancelledError):
            if self.on_late_response is None:
                self._connection.forget_request(id)
                if waiter.done() and not waiter.cancelled():
                    # An error of the same turn: nobody will look at it, which asyncio would log.
                    waiter.exception()
            else:
                self._watch_late_response(method, id, waiter)
            await self._send_cancelled(method, id, sender, params)
            raise
        except BaseException:
            # If it could not be encoded, no response will come.
            self._connection.forget_request(id)
            waiter.cancel()
            if timeout_s is not None:
                self._deadlines.trim(timeout_s)
            raise
        finally:
            if progress is not None:
                self._progress_callbacks.pop(id, None)
            if timer:
                self._sliding_timeouts.pop(id, None)
                timer.cancel()

    def _watch_late_response(self, method: Method[Any, Any], id: RequestId, waiter: Waiter) -> None:
        """Watch for the response to a cancelled request; it may have arrived already."""
        if waiter.done() and waiter.exception() is not None:
            waiter = self.loop.create_future()
            self._connection.replace_waiter(id, waiter)
        self._deadlines.add(LATE_S, waiter, method.name)
        waiter.add_done_callback(partial(self._on_late_response, method, id))

    def _on_late_response(self, method: Method[Any, Any], id: RequestId, late: Waiter) -> None:
        self._connection.forget_request(id)
        if not late.cancelled() and late.exception() is None and self.on_late_response is not None:
            self.on_late_response(method, late.result())

    def _send_request(
        self, way: MessageSender, id: RequestId, waiter: Waiter, method: Method[P, R], params: P
    ) -> MessageSender:
        """Send a request; `waiter` gets its response.

        Returns:
            The sender of messages about this request, such as its cancellation.
        """
        way.send(envelope.request(id, method.name, params))
        return way

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification; while the peer does not read, it waits or is dropped.

        See `UnreadNotifications` for which.
        """
        message = envelope.notification(method.name, params)
        if self._unread or (self._paced is not None and self._paced.full):
            self._let_wait(method, params, Notice(message))
        else:
            self._transport.send(message)

    def _let_wait(self, method: Method[P, None], params: Any, notice: Notice) -> None:
        if self._unread is None:
            self._unread = UnreadNotifications()
        if not self._unread and self._paced is not None:
            self._paced.call_when_writable(self._send_waiting)
        self._unread.add(self._spoken(), method, params, notice)

    def _spoken(self) -> Profile | None:
        """Return the profile of what is sent now; None before there is one."""
        return self.profile

    def _send_waiting(self) -> None:
        """Send notifications that wait, until the transport is full again."""
        unread, paced = self._unread, self._paced
        if unread is None or paced is None:
            return
        for notice in unread.take():
            self._send_notice(notice)
            if paced.full:
                break
        if unread:
            paced.call_when_writable(self._send_waiting)
            return
        dropped = unread.take_dropped()
        if dropped:
            self._log.warning("dropped %d log messages: the peer does not read", dropped)

    def _send_all_waiting(self) -> None:
        """Send all notifications that wait: the connection is about to close."""
        for notice in self._unread.take() if self._unread else ():
            self._send_notice(notice)

    def _send_waiting_of_request(self) -> None:
        """Send what waits and belongs to a request: none may follow the response sent next."""
        profile = self._spoken()
        if self._unread and profile is not None:
            # Where requests ask for log messages, these belong to a request, too.
            logs = profile.log if profile.log_level_key is not None else None
            for method in (profile.progress, logs):
                for notice in self._unread.take(method.name) if method else ():
                    self._send_notice(notice)

    def _send_notice(self, notice: Notice) -> None:
        self._transport.send(notice.message)

    def answers(self, id: RequestId | None) -> bool:
        """Return True if the request with this id is still being answered."""
        task = self.task(id)
        return task is not None and task not in (self._cancelled or ())

    def task(self, id: RequestId | None) -> asyncio.Task[None] | None:
        """Return the task that answers the request with this id; None if there is none."""
        found: asyncio.Task[None] | None = None
        if id is not None:
            found = self._connection.in_flight.get(id)
        return found

    async def drain(self) -> None:
        """Wait while the peer reads slower than messages are sent (back-pressure)."""
        await self._transport.drain()

    def _with_progress_token(self, params: Any, id: RequestId) -> Any:
        key = self.profile.progress_token_key if self.profile else ""
        if params.__class__ is dict:  # a custom request
            custom: dict[str, Any] = params
            meta: dict[str, Any] = custom.get("_meta") or {}
            return {**custom, "_meta": {**meta, key: id}}
        return msgspec.structs.replace(params, meta={**(params.meta or {}), key: id})

    async def _send_cancelled(
        self, method: Method[Any, Any], id: RequestId, sender: MessageSender, request_params: Any
    ) -> None:
        profile = self.profile
        # The handshake must not be cancelled, and before it nothing can be.
        if profile is None or profile.cancelled is None or method is profile.handshake:
            return
        cancelled: Method[Any, None] = profile.cancelled
        params = cancelled.params(request_id=id)
        key, meta = profile.related_task_key, getattr(request_params, "meta", None)
        if key is not None and meta and key in meta:
            params = msgspec.structs.replace(params, meta={key: meta[key]})
        # Before the hooks, which may be slow: the peer should stop as soon as possible.
        sender.send(envelope.notification(cancelled.name, params))
        point = self._outbound.notices.get(cancelled.name)
        if point:
            await point.tell(self._outbound_context(), params)

    # --- called by the transport ---

    def receive(self, message: bytes) -> None:
        """Handle one message of the peer."""
        for event in self._connection.receive(message):
            self._handle(event)

    @abstractmethod
    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> bool | None:
        """Handle a message that is too long to be read."""

    @abstractmethod
    def closed(self, error: BaseException | None) -> None:
        """Handle a disconnect of the peer; `error` is None if it closed the connection normally."""

    # --- incoming messages ---

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
            if self._refusals is None:
                self._refusals = RefusalLog(self._log, self.loop)
            is_logged = self._refusals.add(event.error)
            is_answered = is_logged or self.answers_noise or event.error.request_id is not None
            self._send(event.answer if is_answered else None, event.batch)

    @abstractmethod
    def _on_request(self, event: RequestReceived) -> None:
        """Handle a request of the peer."""

    @abstractmethod
    def _profile_for(self, event: NotificationReceived) -> Profile | None:
        """Return the profile to decode a notification at; None ignores it."""

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
        """Return the context of hooks for the peer's notifications."""

    @abstractmethod
    def _outbound_context(self) -> Any:
        """Return the context of hooks for messages to the peer."""

    def _cancel(self, params: Any) -> None:
        task: asyncio.Task[None] | None = self._connection.in_flight.get(params.request_id)
        if self._stop_answering(task):
            self._log.debug("request %r is cancelled: %r", params.request_id, params.reason)

    def _stop_answering(self, task: asyncio.Task[None] | None) -> bool:
        """Cancel the task of a request, which then gets no response.

        Returns:
            False if there is no task, or if it was cancelled before.
        """
        if task is None or task in (self._cancelled or ()):
            return False
        self._mark_cancelled(task)
        # In the next turn: a task that is cancelled before it starts runs no `finally`.
        self.loop.call_soon(task.cancel)
        return True

    def _mark_cancelled(self, *tasks: asyncio.Task[None]) -> None:
        # Most sessions cancel nothing, and an empty set takes 216 bytes.
        self._cancelled = self._cancelled or set()
        self._cancelled.update(tasks)

    def _finish_request(self, id: RequestId) -> bool:
        """Close a request in flight; return False if it is cancelled and gets no response."""
        task: asyncio.Task[None] = self._connection.in_flight.pop(id)
        if self._cancelled is None or task not in self._cancelled:
            return True
        self._cancelled.remove(task)
        return False

    def _report(self, params: Any) -> None:
        progress = self._progress_callbacks.get(params.progress_token)
        if progress is None:
            return
        done, total = params.progress, params.total
        if not is_finite_number(done) or not (total is None or is_finite_number(total)):
            self._log.warning("ignored progress: expected finite numbers")
            return
        timeout = self._sliding_timeouts.get(params.progress_token)
        if timeout is not None:
            timeout.extend()
        try:
            answer = progress(done, total, getattr(params, "message", None))
        except Exception:
            # A failing callback must not stop the handling of other messages.
            self._log.exception("a progress callback failed")
            return
        if answer is not None and inspect.isawaitable(answer):
            self._notifications.run_limited(self._finish_report(answer))

    async def _finish_report(self, report: Awaitable[Any]) -> None:
        try:
            await report
        except Exception:
            self._log.exception("a progress callback failed")

    def _disconnect(self, lost: SessionLost) -> None:
        """Mark the connection as lost and fail all requests that wait for a response."""
        self._lost = self._lost or lost
        if self._refusals is not None:
            self._refusals.end()
        self._deadlines.clear()
        for waiter in self._connection.abandon():
            if not waiter.done():
                waiter.set_exception(self.lost_error())

    def lost_error(self) -> SessionLost:
        """Return why the connection ended, as a new error.

        Each caller raises an error of its own, so that tracebacks do not mix.
        """
        lost = self._lost or SessionLost("the session has ended")
        again = type(lost)(*lost.args)
        again.__cause__ = lost.__cause__
        return again

    def _send(self, answer: bytes | None, batch: Batch | None) -> None:
        whole = batch.add(answer) if batch else answer
        if self._unread:
            self._send_waiting_of_request()
        if whole is not None:
            self._transport.send(whole)

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [*self._connection.in_flight.values(), *self._notifications.tasks()]

    def _give_up(self) -> None:
        """Mark all requests in flight as cancelled, before their tasks are."""
        self._mark_cancelled(*self._connection.in_flight.values())
