"""What one HTTP request is answered on: JSON, or a stream of events once something comes first."""

from __future__ import annotations

import asyncio
import logging
import math
from asyncio import current_task
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mcp_gen.core.transport import sse
from mcp_gen.transports.http_server.asgi import encoded_headers, send_answer

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Answer
    from mcp_gen.transports.http_server.asgi import Line, Receive, Send
    from mcp_gen.transports.http_server.slow_requests import SlowRequestWatcher

__all__ = ["HttpReply"]

_log = logging.getLogger("mcp_gen.server")

ENOUGH_BYTES = 64 * 1024
"""What may wait for a client before `drain` waits too."""
FULL_BYTES = 1024 * 1024
"""What may wait for a client before no more is kept for it."""

_EVENTS: list[Line] = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    # Keeps proxies from holding events back.
    (b"x-accel-buffering", b"no"),
]


class HttpReply(Struct, eq=False):
    """Events that wait are a list; whoever has the time sends them.

    That is the ASGI call where it only carries what others make (`carry`). Where it runs the
    handler itself, a task does it that lives until there is nothing left to send.
    """

    # A struct, because there is one per request: this is the fastest way to make an object.
    _watch: SlowRequestWatcher
    _receive: Receive
    _send: Send
    can_stream: bool
    only_stream: bool
    """Whether the client takes nothing but a stream."""
    principal: str | None
    _more: Sequence[Line]
    """Headers that every answer to this request has."""
    headers: Mapping[str, str] | None = None
    opening: Callable[[], bytes] | None = None
    dropped: bool = False

    _queue: list[bytes] = []
    _size_bytes: int = 0
    """What is queued or being sent."""
    _begun: bool = False
    _head_sent: bool = False
    _silent: bool = False
    """Whether nothing has been queued since the last look at it."""
    _ended: bool = False
    _closed: bool = False

    _carrying: bool = False
    _waiter: asyncio.Future[None] | None = None
    """What `carry` waits for."""
    _flusher: asyncio.Task[None] | None = None
    _drainers: list[asyncio.Future[None]] | None = None
    _task: asyncio.Task[None] | None = None
    """What a client that hangs up cancels."""
    cancelled: bool = False
    """Whether this reply has cancelled that task."""
    _watcher: asyncio.Task[None] | None = None
    due_s: float = 0.0
    """When to look whether the client has heard anything, by the clock of the event loop."""

    # --- what the session's side calls: see core.transport.Reply ---

    @property
    def streaming(self) -> bool:
        """Whether the stream has begun."""
        return self._begun

    @property
    def over(self) -> bool:
        """Whether nothing can be sent any more."""
        return self._ended or self.dropped

    @property
    def full(self) -> bool:
        """Whether no more should be kept for this client."""
        return self._size_bytes >= FULL_BYTES

    def send(self, events: bytes) -> None:
        """Queue events."""
        if self._ended or self.dropped:
            return
        if not self._begun:
            self._begin()
        self._silent = False
        self._queue_up(events)
        self._wake()

    def begin(self) -> None:
        """Begin the stream."""
        if not self._begun:
            # More than the head: what stands between may wait for a first byte.
            self.send(sse.COMMENT)

    def end(self) -> None:
        """Say that nothing more will be sent."""
        self._ended = True
        if self._waiter is not None:
            self._wake()

    def close_stream(self) -> None:
        """End the stream of a client that reads too slowly."""
        if self.over:
            return
        _log.warning("a client reads its stream too slowly: the stream ends")
        self._queue.clear()
        self.end()
        self._detach()
        self._cancel()

    async def drain(self) -> None:
        """Wait until little enough is waiting."""
        while self._size_bytes > ENOUGH_BYTES and not self.over:
            waiter: asyncio.Future[None] = self._watch.loop.create_future()
            self._drainers = [*(self._drainers or ()), waiter]
            await waiter

    async def attach_stream(self) -> None:
        """Send what is queued until the end is said, or until the client hangs up."""
        watch = self._watch
        watch.young.add(self)
        if watch.sweeper is None:
            watch.sweep_later()
        if self._flusher is not None:
            await self._flusher
        self._carrying = True
        while True:
            if self._queue:
                await self._write()
            elif self._ended or self.dropped:
                return
            else:
                self._waiter = self._watch.loop.create_future()
                await self._waiter

    def cancel_on_disconnect(self) -> Any:
        """From now on a client that hangs up cancels the current task."""
        watch = self._watch
        task = self._task = current_task(watch.loop)
        watch.young.add(self)
        if watch.sweeper is None:
            watch.sweep_later()
        return task

    def keep_open(self) -> None:
        """What ends the server ends this too."""
        self._watch.lasting.add(self)

    # --- what the app calls ---

    def interrupt(self) -> None:
        """Ask what is open for as long as its client wants to come to an end."""
        if self._task is None:
            self.end()
        else:
            self._cancel()

    def release(self) -> bool:
        """Watch no longer: the handler has ended. Whether its task is cancelled all the same."""
        watch = self._watch
        if self in watch.young:
            watch.young.discard(self)
        else:
            watch.discard(self)
        if self._watcher is not None:
            self._watcher.cancel()
        task, self._task = self._task, None
        if task is None:
            return False
        watch.lasting.discard(self)
        # Somebody else may have cancelled it as well.
        return self.cancelled and task.uncancel() > 0

    def finish(self, answer: Answer | None) -> Awaitable[None]:
        """Send the answer, as what ends the stream if there is one."""
        # Not async itself: one coroutine less for most answers to go through.
        whole = not self._begun and (not self.only_stream or (answer and answer.status != 200))
        if whole and answer is not None and not self.dropped:
            self._ended = True
            return send_answer(self._send, answer, self._more)
        return self._end_stream(answer)

    async def _end_stream(self, answer: Answer | None) -> None:
        if self.dropped:
            return
        if not self._begun:
            if answer is None:
                return
            self.headers = answer.headers
            self._begin()
        if answer is not None:
            self._queue_up(sse.event(answer.body))
        self._ended = True
        if self._flusher is not None:
            await self._flusher
        if not self._closed and not self.dropped:
            await self._write()

    # --- a request that has been open for a while ---

    def watch(self, now_s: float) -> None:
        """Notice from now on if the client hangs up, and do not leave it without a sign of life."""
        self._watcher = self._watch.loop.create_task(self._wait_for_end())
        first_s = self._watch.keep_alive_s if self._begun else self._watch.sse_after_s
        self.due_s = now_s + first_s if self.can_stream else math.inf

    def check(self, now_s: float) -> None:
        """Begin the stream of a slow answer, and keep a silent one alive."""
        if not self._begun:
            self.begin()
        elif self._silent and not self._size_bytes:
            self.send(sse.COMMENT)
        self._silent = True
        self.due_s = now_s + self._watch.keep_alive_s

    async def _wait_for_end(self) -> None:
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
        self._detach()
        self._cancel()
        if self._waiter is not None:
            self._wake()

    def _cancel(self) -> None:
        # In the next turn: it may be this task that noticed.
        self._watch.loop.call_soon(self._cancel_now)

    def _cancel_now(self) -> None:
        if self._task is not None and not self.cancelled:
            self.cancelled = True
            self._task.cancel()

    # --- the queue ---

    def _begin(self) -> None:
        self._begun = True
        if self.opening is not None:
            self._queue_up(self.opening())

    def _queue_up(self, events: bytes) -> None:
        if events:
            self._queue.append(events)
            self._size_bytes += len(events)

    def _wake(self) -> None:
        if self._carrying:
            waiter, self._waiter = self._waiter, None
            if waiter is not None and not waiter.done():
                waiter.set_result(None)
        elif self._flusher is None:
            self._flusher = self._watch.loop.create_task(self._flush())

    async def _flush(self) -> None:
        try:
            while self._queue:
                await self._write()
        finally:
            self._flusher = None

    async def _write(self) -> None:
        """Send what is queued in one piece: the last one, if the end has been said."""
        data = b"".join(self._queue)
        self._queue.clear()
        last = self._ended
        try:
            if not self._head_sent:
                self._head_sent = True
                await self._send_head(len(data) if last else None)
            await self._send({"type": "http.response.body", "body": data, "more_body": not last})
        except Exception as error:
            # The client has hung up: servers differ in what they raise then.
            _log.debug("a stream broke: %r", error)
            self._drop()
        self._closed = last
        self._size_bytes -= len(data)
        if self._drainers is not None and self._size_bytes <= ENOUGH_BYTES:
            self._detach()

    async def _send_head(self, size_bytes: int | None) -> None:
        headers = [*_EVENTS, *self._more]
        if size_bytes is not None:
            headers.append((b"content-length", b"%d" % size_bytes))
        if self.headers:
            headers += encoded_headers(self.headers)
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    def _detach(self) -> None:
        """Let those go on that wait for the client to read."""
        drainers, self._drainers = self._drainers, None
        for waiter in drainers or ():
            if not waiter.done():
                waiter.set_result(None)
