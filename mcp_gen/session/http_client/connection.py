"""Client end over HTTP: one POST per request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import Context, ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import UNSET

from mcp_gen.core import envelope
from mcp_gen.core.errors import McpError, SessionExpired
from mcp_gen.core.extensions.extensions import Extensions
from mcp_gen.session.duplex.client import ClientConnection
from mcp_gen.session.duplex.unread import Notice
from mcp_gen.session.http_client.headers import MirroredHeaders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from msgspec import Raw

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.errors import McpGenError
    from mcp_gen.core.protocol_state import Batch, ProtocolState
    from mcp_gen.core.transport.protocols import Duplex, Lines, Posts
    from mcp_gen.session.duplex.connection import MessageSender, Waiter
    from mcp_gen.session.duplex.deadlines import SlidingTimeout, TimeoutQueue
    from mcp_wire.method import Method, Route
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = ["HttpClientConnection"]

P = TypeVar("P")
R = TypeVar("R")

_reopening: ContextVar[bool] = ContextVar("reopening", default=False)
"""True while a new session is set up: if the server ends that session, too, the client gives up."""

_log = logging.getLogger("mcp_gen.client")

MAX_PAGES = 100
"""Number of `tools/list` pages that are read to find the headers of one tool."""


class HttpClientConnection(ClientConnection):
    """Client end of the HTTP connection to one server.

    Args:
        transport: HTTP transport; not started yet.
        given: Passed on to `ClientConnection`.
        named: Passed on to `ClientConnection`.
    """

    tells_calls_apart = True

    def __init__(self, transport: Posts, *given: Any, **named: Any) -> None:
        # `Posts` has the methods of a `Duplex`, and more.
        super().__init__(cast("Duplex", transport), *given, **named)
        self._http = cast("Posts", self._transport)
        self._mirror: MirroredHeaders | None = None
        self._reopen_lock = asyncio.Lock()
        self._generation = 0
        """Number of sessions that replaced one which the server ended."""
        self._lost_questions: set[asyncio.Task[None]] = set()
        """Tasks of server requests of an ended session: their answers are dropped."""

    def attempt(self, profile: Profile) -> None:
        """Send messages at this revision until one is negotiated."""
        self._http.use_revision(profile, agreed=False)
        self._mirror = MirroredHeaders(profile, Extensions().name_params(profile))

    def agree(
        self,
        profile: Profile,
        routes: Callable[[], Mapping[str, Route[Any]]],
        extensions: Extensions | None = None,
    ) -> None:
        """Set the negotiated revision; see `ClientConnection.agree`."""
        super().agree(profile, routes, extensions)
        self._http.use_revision(profile, agreed=True)
        known = Extensions() if extensions is None else extensions
        self._mirror = MirroredHeaders(profile, known.name_params(profile))

    async def opened(self, session: Any) -> None:
        """Open the SSE stream for server messages, then the session."""
        await self._http.listen()
        await super().opened(session)

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Raw:
        """Send a request and return its result, not decoded; see `DuplexConnection.request`.

        If the server has ended the session (404), a new session is opened and the request is sent
        once more: the server has not processed it. A `tools/call` refused for missing headers is
        sent once more, too, after `tools/list` has been read for the headers that the tool needs.

        Raises:
            SessionExpired: the server has ended the session and no new one can be opened.
            McpError: the server answered with an error.
            RequestTimeout: no response in time; the request has been cancelled.
            SessionLost: the connection ended first.
        """
        if self._held is not None:
            self._release_held()
        generation = self._generation
        post = partial(self.request_via, self._http, method, params, timeout_s, progress)
        try:
            result = await post()
        except SessionExpired as lost:
            await self._reopen_session(generation, lost)
            result = await post()
        except McpError as error:
            mirror = self._mirror
            if mirror is None or not mirror.mismatched(error.code, params):
                raise
            # The tool's schema has header parameters that are not known yet.
            await self._learn_tools(mirror, params)
            result = await post()
        mirror = self._mirror
        if mirror is not None and method is mirror.lists:
            return mirror.learn(result)
        return result

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification in a POST of its own; see `DuplexConnection.notify`."""
        headers: Lines = () if self._mirror is None else self._mirror.headers(method.name, params)
        notice = Notice(envelope.notification(method.name, params), headers)
        if self._unread or (self._paced is not None and self._paced.full):
            self._let_wait(method, params, notice)
        else:
            self._send_notice(notice)

    def _send_notice(self, notice: Notice) -> None:
        self._http.post_notification(*notice)

    def _send_request(
        self, way: MessageSender, id: RequestId, waiter: Waiter, method: Method[P, R], params: P
    ) -> MessageSender:
        headers: Lines = () if self._mirror is None else self._mirror.headers(method.name, params)
        timer = self._sliding_timeouts.get(id) if self._sliding_timeouts else None
        sent = _PostedRequest(self._http, id, waiter, self._connection, timer, self._deadlines)
        sent.drop = self._http.post(envelope.request(id, method.name, params), headers, sent)
        return sent

    async def _send_cancelled(
        self, method: Method[Any, Any], id: RequestId, sender: MessageSender, request_params: Any
    ) -> None:
        if isinstance(sender, _PostedRequest):
            sender.drop()
        if self.profile is not None and self.profile.stream_drop_cancels:
            return
        await super()._send_cancelled(method, id, self._http, request_params)

    async def _reopen_session(self, generation: int, lost: SessionExpired) -> None:
        if self.reopen_session is None or _reopening.get():
            raise lost
        async with self._reopen_lock:
            # Several requests may get the error at the same time.
            if generation != self._generation:
                return
            self._drop_questions()
            restore = await self.reopen_session()
            self._generation += 1
            # The stream belongs to no request, so it must not run in this one's context.
            await self.loop.create_task(self._http.listen(), context=Context())
        token = _reopening.set(True)
        try:
            await restore()
        except McpError as error:
            _log.warning("the new session is not as the one before: %s", error)
        finally:
            _reopening.reset(token)

    def _drop_questions(self) -> None:
        """Answer no request of the ended session: its id may be that of another one in the next.

        Their handlers go on: one of them may be waiting for the new session itself.
        """
        self._lost_questions.update(self._connection.in_flight.values())
        self._connection.in_flight.clear()

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [*super()._tasks(), *self._lost_questions]

    def _finish_request(self, id: RequestId) -> bool:
        if self._lost_questions and asyncio.current_task() in self._lost_questions:
            return False
        return super()._finish_request(id)

    def _send(self, answer: bytes | None, batch: Batch | None) -> None:
        task = asyncio.current_task() if self._lost_questions else None
        if task in self._lost_questions:
            # Not even the rest of its batch is sent.
            self._lost_questions.remove(task)
            _log.debug("dropped an answer: the session that it belongs to was lost")
        else:
            super()._send(answer, batch)

    async def _learn_tools(self, mirror: MirroredHeaders, params: Any) -> None:
        method = mirror.lists
        if method is None:
            return
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page_params = method.params(cursor=cursor, meta=params.meta)
            result = await self.request_via(self._http, method, page_params, None, None)
            page = method.decode_result(mirror.learn(result))
            cursor = page.next_cursor
            if cursor is None:
                return


class _PostedRequest:
    """Request that was sent in a POST of its own.

    Args:
        http: Transport of the POST.
        id: Id of the request.
        waiter: Future of the response.
        state: Protocol state that knows the request.
        timer: Timeout of the request that progress extends; None if it has none.
        deadlines: Timeouts of the other requests.
    """

    __slots__ = ("_deadlines", "_id", "_state", "_timer", "_waiter", "drop", "send")

    drop: Callable[[], Any]
    """Cancels the POST."""

    def __init__(
        self,
        http: Posts,
        id: RequestId,
        waiter: Waiter,
        state: ProtocolState[Waiter],
        timer: SlidingTimeout | None,
        deadlines: TimeoutQueue,
    ) -> None:
        self.send = http.send
        self._id = id
        self._waiter = waiter
        self._state = state
        self._timer = timer
        self._deadlines = deadlines

    @property
    def finished(self) -> bool:
        return self._waiter.done()

    def fail(self, error: McpGenError) -> None:
        if not self._waiter.done():
            self._state.forget_request(self._id)
            self._waiter.set_exception(error)

    def pause(self) -> None:
        if self._timer is not None:
            self._timer.pause()
        else:
            self._deadlines.pause(self._waiter)

    def resume(self) -> None:
        if self._timer is not None:
            self._timer.resume()
        else:
            self._deadlines.resume(self._waiter)
