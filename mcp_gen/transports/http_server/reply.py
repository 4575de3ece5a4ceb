"""Response to one HTTP request: JSON, or an SSE stream if something is sent before the result."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from asyncio import current_task
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mcp_gen.core.transport import sse
from mcp_gen.core.transport.authorizing import UNVERIFIED, Admission
from mcp_gen.transports.http_server.asgi import encoded_headers, send_answer

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Answer
    from mcp_gen.transports.http_server.asgi import Line, Receive, Send
    from mcp_gen.transports.http_server.grant import Grant
    from mcp_gen.transports.http_server.slow_requests import SlowRequestWatcher

__all__ = ["HttpReply"]

_log = logging.getLogger("mcp_gen.server")

FORBIDDEN = 403
"""HTTP status of a request whose token lacks scopes."""
EXPIRY_GRACE_S = 5.0
"""Seconds that a stream may still take to end in good order after its token has expired."""
ENOUGH_BYTES = 64 * 1024
"""Queued bytes above which `drain` waits (back-pressure)."""
FULL_BYTES = 1024 * 1024
"""Queued bytes from which the client counts as too slow: no more is queued for it."""

_EVENTS: list[Line] = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    # Stops reverse proxies such as nginx from buffering events.
    (b"x-accel-buffering", b"no"),
]


class HttpReply(Struct, eq=False):
    """Response to one HTTP request; implements `core.transport.protocols.Reply`.

    Events are queued in a list. Where a stream is attached (`attach_stream`), the ASGI call sends
    them. Otherwise a task sends them, which lives until the queue is empty.
    """

    # A struct because there is one per request, and structs are the fastest objects to create.
    _watch: SlowRequestWatcher
    _receive: Receive
    _send: Send
    can_stream: bool
    only_stream: bool
    """True if the client accepts nothing but an SSE stream."""
    principal: str | None
    _more: Sequence[Line]
    """Header lines of every response to this request."""
    headers: Mapping[str, str] | None = None
    opening: Callable[[], bytes] | None = None
    on_expiry: Callable[[], object] | None = None
    dropped: bool = False
    admission: Admission = UNVERIFIED
    """Verified credentials of the request."""
    expired: bool = False
    """True if the token of the request has expired, and the stream ends for that reason."""
    _grant: Grant | None = None
    _ends_at: float = math.inf
    """Time at which the stream ends, in seconds since 1970."""

    _queue: list[bytes] = []
    _size_bytes: int = 0
    """Bytes that are queued or being sent."""
    streaming: bool = False
    """True if the stream has begun."""
    _head_sent: bool = False
    _silent: bool = False
    """True if nothing has been queued since the last `check`."""
    _ended: bool = False
    _closed: bool = False

    attached: bool = False
    """True if `attach_stream` sends the events, or will if there are any."""
    _waiter: asyncio.Future[None] | None = None
    """Future that `attach_stream` waits for."""
    _flusher: asyncio.Task[None] | None = None
    _drainers: list[asyncio.Future[None]] | None = None
    _task: asyncio.Task[None] | None = None
    """Task that is cancelled when the client disconnects."""
    cancelled: bool = False
    """True if this reply has cancelled that task."""
    _disconnect_task: asyncio.Task[None] | None = None
    _watched: bool = False
    """True once the watcher knows this reply."""
    due_s: float = 0.0
    """Time of the next `check`, by the clock of the event loop."""

    # --- the Reply protocol, called by the exchange: see core.transport.protocols ---

    @property
    def task(self) -> asyncio.Task[None] | None:
        """Task that a disconnect cancels; None if the request runs in another one."""
        return self._task

    @property
    def over(self) -> bool:
        """True if nothing can be sent any more: the end was set, or the client disconnected."""
        return self._ended or self.dropped

    @property
    def full(self) -> bool:
        """True if the client reads so slowly that no more should be queued for it."""
        return self._size_bytes >= FULL_BYTES

    def send(self, events: bytes) -> None:
        """Queue SSE events; the first ones begin the stream."""
        if self._ended or self.dropped:
            return
        if not self.streaming:
            self._begin()
        self._silent = False
        self._enqueue(events)
        self._wake()

    def begin(self) -> None:
        """Begin the stream without an event."""
        if not self._head_sent and not self._queue:
            # More than the headers: a proxy may wait for the first byte of the body.
            self.send(sse.COMMENT)

    def announce(self) -> None:
        """Begin the stream; its head leaves with the first event, or once the request is slow."""
        if not self.streaming:
            self._begin()

    def end(self) -> None:
        """Mark the end of the stream: nothing more will be sent."""
        self._ended = True
        if self._waiter is not None:
            self._wake()

    def close_stream(self) -> None:
        """Close the stream of a client that reads too slowly, and drop its queue."""
        if self.over:
            return
        _log.warning("a client reads its stream too slowly: the stream ends")
        self._queue.clear()
        self.end()
        self._wake_drainers()
        self._cancel()

    def forbid(self, missing: Collection[str]) -> int:
        """Add the challenge for scopes that the token of the request lacks; return the status."""
        if self._grant is None:
            return FORBIDDEN
        refusal = self._grant.forbid(missing)
        self._more = [*self._more, *refusal.headers]
        return refusal.status

    async def drain(self) -> None:
        """Wait until at most `ENOUGH_BYTES` are queued (back-pressure)."""
        while self._size_bytes > ENOUGH_BYTES and not self.over:
            waiter: asyncio.Future[None] = self._watch.loop.create_future()
            self._drainers = [*(self._drainers or ()), waiter]
            await waiter

    async def attach_stream(self) -> None:
        """Send queued events until `end` is called or the client disconnects."""
        if not self._ended:
            watch = self._watch
            self._watched = True
            watch.young.add(self)
            if watch.sweeper is None:
                watch.sweep_later()
        else:
            # All requests of this turn are handled before one is answered.
            await asyncio.sleep(0)
        if self._flusher is not None:
            await self._flusher
        self.attached = True
        while True:
            if self._queue:
                await self._write()
            elif self._ended or self.dropped:
                return
            else:
                self._waiter = self._watch.loop.create_future()
                await self._waiter

    def cancel_on_disconnect(self) -> Any:
        """Cancel the current task if the client disconnects; return that task."""
        watch = self._watch
        task = self._task = current_task(watch.loop)
        self._watched = True
        watch.young.add(self)
        if watch.sweeper is None:
            watch.sweep_later()
        return task

    def keep_open(self) -> None:
        """Mark the request as long-lived: a shutdown of the server interrupts it."""
        self._watch.long_lived.add(self)

    # --- called by the app ---

    def use(self, grant: Grant) -> None:
        """Take over the admission of the request: its stream ends when its token expires."""
        self._grant = grant
        self.admission = grant.admission
        self._ends_at = grant.ends_at

    def interrupt(self) -> None:
        """End a long-lived request: end its stream, or cancel its task."""
        if self._task is None:
            self.end()
        else:
            self._cancel()

    def release(self) -> bool:
        """Stop watching for a disconnect, once the handler has ended.

        Returns:
            True if the task was cancelled by someone else too, and has to end as cancelled.
        """
        watch = self._watch
        if self in watch.young:
            watch.young.discard(self)
        elif self._watched:
            watch.discard(self)
        if self._disconnect_task is not None:
            self._disconnect_task.cancel()
        task, self._task = self._task, None
        if task is None:
            return False
        watch.long_lived.discard(self)
        # The task may have been cancelled by someone else as well.
        return self.cancelled and task.uncancel() > 0

    def finish(self, answer: Answer | None) -> Awaitable[None]:
        """Send the answer: as the whole response, or as the last event of the stream."""
        # Not async: saves one coroutine for most answers.
        whole = not self.streaming and (not self.only_stream or (answer and answer.status != 200))
        if whole and answer is not None and not self.dropped:
            self._ended = True
            return send_answer(self._send, answer, self._more)
        return self._end_stream(answer)

    async def _end_stream(self, answer: Answer | None) -> None:
        if self.dropped:
            return
        if not self.streaming:
            if answer is None:
                return
            self.headers = answer.headers
            self._begin()
        if answer is not None:
            self._enqueue(sse.event(answer.body))
        self._ended = True
        if self._flusher is not None:
            await self._flusher
        if not self._closed and not self.dropped:
            await self._write()

    # --- called by SlowRequestWatcher ---

    def watch(self, now_s: float) -> None:
        """Start to watch for a disconnect, and schedule the first `check`."""
        self._disconnect_task = self._watch.loop.create_task(self._wait_for_disconnect())
        first_s = self._watch.keep_alive_s if self.streaming else self._watch.sse_after_s
        self.due_s = now_s + first_s if self.can_stream else math.inf
        self._heed_expiry(now_s)
        if self.streaming:
            # An announced event does not come: the client hears that the stream has begun.
            self.begin()

    def _watch_expiry(self) -> None:
        watch = self._watch
        if self._disconnect_task is not None:
            self._heed_expiry(watch.loop.time())
        else:
            # Nobody may have asked for a watch yet.
            self._watched = True
            watch.young.add(self)
            if watch.sweeper is None:
                watch.sweep_later()

    def _heed_expiry(self, now_s: float) -> None:
        """Bring the next `check` forward to the time at which the token expires."""
        if self.streaming and self._ends_at != math.inf:
            self.due_s = min(self.due_s, now_s + max(0.0, self._ends_at - time.time()))

    def check(self, now_s: float) -> None:
        """Begin the stream of a slow answer, or send a heartbeat on a silent one.

        A stream whose token has expired ends instead, in good order within 5 seconds.
        """
        if self.streaming and self._ends_at != math.inf and time.time() >= self._ends_at:
            self._expire(now_s)
            return
        if not self.streaming:
            self.begin()
        elif self._silent and not self._size_bytes:
            self.send(sse.COMMENT)
        self._silent = True
        self.due_s = now_s + self._watch.keep_alive_s
        self._heed_expiry(now_s)

    def _expire(self, now_s: float) -> None:
        if self.expired:
            # The handler takes its end badly: the stream ends without it.
            self.due_s = math.inf
            self.end()
            if not self.attached and self._flusher is None:
                self._flusher = self._watch.loop.create_task(self._flush())
            return
        self.expired = True
        self.due_s = now_s + EXPIRY_GRACE_S
        if self.on_expiry is None:
            self.interrupt()
        else:
            self.on_expiry()

    async def _wait_for_disconnect(self) -> None:
        try:
            while (await self._receive())["type"] != "http.disconnect":
                pass
        except Exception as error:
            _log.debug("a request can be read no longer: %r", error)
        self._drop()

    def _drop(self) -> None:
        if self.dropped:
            return
        self.dropped = True
        self._queue.clear()
        self._wake_drainers()
        self._cancel()
        if self._waiter is not None:
            self._wake()

    def _cancel(self) -> None:
        # In the next turn of the loop: the current task may be the one to cancel.
        self._watch.loop.call_soon(self._cancel_now)

    def _cancel_now(self) -> None:
        if self._task is not None and not self.cancelled:
            self.cancelled = True
            self._task.cancel()

    # --- the queue ---

    def _begin(self) -> None:
        self.streaming = True
        if self._ends_at != math.inf:
            self._watch_expiry()
        if self.opening is not None:
            self._enqueue(self.opening())

    def _enqueue(self, events: bytes) -> None:
        if events:
            self._queue.append(events)
            self._size_bytes += len(events)

    def _wake(self) -> None:
        if self.attached:
            waiter, self._waiter = self._waiter, None
            if waiter is not None and not waiter.done():
                waiter.set_result(None)
        elif self._flusher is None:
            self._flusher = self._watch.loop.create_task(self._flush())

    async def _flush(self) -> None:
        try:
            while self._queue or (self._ended and not self._closed):
                await self._write()
        finally:
            self._flusher = None

    async def _write(self) -> None:
        """Send the queued events in one piece, as the last one after `end`."""
        data = b"".join(self._queue)
        self._queue.clear()
        last = self._ended
        try:
            if not self._head_sent:
                self._head_sent = True
                await self._send_head(len(data) if last else None)
            await self._send({"type": "http.response.body", "body": data, "more_body": not last})
        except Exception as error:
            # The client disconnected: ASGI servers differ in what they raise then.
            _log.debug("a stream broke: %r", error)
            self._drop()
        self._closed = last
        self._size_bytes -= len(data)
        if self._drainers is not None and self._size_bytes <= ENOUGH_BYTES:
            self._wake_drainers()

    async def _send_head(self, size_bytes: int | None) -> None:
        headers = [*_EVENTS, *self._more]
        if size_bytes is not None:
            headers.append((b"content-length", b"%d" % size_bytes))
        if self.headers:
            headers += encoded_headers(self.headers)
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    def _wake_drainers(self) -> None:
        """Wake those that wait in `drain`."""
        drainers, self._drainers = self._drainers, None
        for waiter in drainers or ():
            if not waiter.done():
                waiter.set_result(None)
