"""Response of one POST in a session: JSON or an SSE stream."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import UNSET

from mcp_gen.core import envelope
from mcp_gen.core.transport import sse
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.http_server.streams import Stream, Streams
from mcp_gen.session.kernel.errors import cut_off

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable

    from msgspec import Raw

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.protocol_state import Batch
    from mcp_gen.core.transport.authorizing import Admission
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.session.http_server.first_steps import FirstSteps
    from mcp_gen.session.kernel.call import Call
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = ["PostOwner", "PostResponse"]

P = TypeVar("P")
R = TypeVar("R")

_log = logging.getLogger("mcp_gen.server")


class PostOwner(Protocol):
    """Session of a POST, as its response uses it."""

    over: bool
    """True once the session has ended."""

    @property
    def kernel(self) -> Kernel[Any]:
        """Server that encodes the responses."""
        ...

    @property
    def streams(self) -> Streams:
        """Streams of the session."""
        ...

    @property
    def profile(self) -> Profile | None:
        """Profile of the negotiated revision; None before the handshake."""
        ...

    @property
    def reachable(self) -> bool:
        """True if a stream for messages that belong to no request is open."""
        ...

    async def request_via(
        self,
        way: PostResponse,
        method: Method[P, Any],
        params: P,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> Raw:
        """Send a request in the response of a POST and return its result, not decoded."""
        ...

    def answers(self, id: RequestId | None) -> bool:
        """Return True if the request is still being answered."""
        ...

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """Return the task that answers the request."""
        ...


class PostResponse(Stream, kw_only=True, eq=False, weakref=True):
    """Channel of the requests in one POST. Their handlers continue after a disconnect.

    If the client takes no SSE stream, requests to it are sent on the session's other streams: they
    must reach the client somehow. Notifications are dropped.

    Args:
        streams: Streams of the session.
        reply: HTTP response.
        session: Session of the POST.
        headers: HTTP headers of the POST.
    """

    session: PostOwner
    headers: Headers
    admission: Admission | None = None
    """Verified credentials of the POST."""
    steps: FirstSteps | None = None
    """Runs the first steps of its handlers; None gives each a new task."""
    status: int = 202
    running: int = 0
    """Number of requests that are being answered."""
    batch: Batch | None = None
    """Batch of the POST; None for a single message."""
    _body: bytes | None = None
    _handled: Call[Any] | None = None
    """The one request whose response is encoded when it is sent; None otherwise."""

    # --- the answer ---

    def refuse(self, answer: bytes | None, batch: Batch | None, status: int) -> None:
        """Answer a message of the POST that is not handled.

        Args:
            answer: Encoded error response; None if the message gets none.
            batch: JSON-RPC batch of the message, if any.
            status: HTTP status if the POST has no batch.
        """
        self._keep(answer, batch)
        if answer is not None:
            self.status = 200 if batch else status

    def answered(self, call: Call[Any] | None, batch: Batch | None) -> None:
        """Add the response of a request that has been handled; None if it was cancelled."""
        self.running -= 1
        if batch is not None:
            self._keep(self.session.kernel.write(call) if call is not None else None, batch)
        else:
            self._handled = call
        if not self.running and not self.over:
            self._finish()

    def break_off(
        self,
        ids: Iterable[RequestId],
        failure: Callable[[RequestId], bytes] = cut_off,
        status: int = 200,
    ) -> None:
        """Answer requests of the POST with an error; what their handlers return is dropped.

        Args:
            ids: Ids of the requests.
            failure: Returns the error response to a request.
            status: HTTP status where the response is no stream.
        """
        for id in ids:
            self._keep(failure(id), self.batch)
        self._finish()
        self.status = status

    @property
    def is_resumable(self) -> bool:
        """True if the client can reconnect for the rest of the stream."""
        return self.streams.store is not None and (self.streams.primes or self.said > 0)

    def _keep(self, answer: bytes | None, batch: Batch | None) -> None:
        whole = batch.add(answer) if batch else answer
        if whole is not None:
            self._body = whole

    def _finish(self) -> None:
        reply = self.reply
        handled, is_forbidden = self._handled, False
        if handled is not None or self._body is not None:
            self.status = 200
            if handled is not None and handled.missing_scopes and reply and not self.begun:
                self.status, is_forbidden = reply.forbid(handled.missing_scopes), True
        if self.begun or (reply is not None and reply.only_stream and not is_forbidden):
            last = self._encode_body()
            self._body = None
            self.end(last)
        else:
            self.over = True
            if reply is not None:
                reply.end()

    def _encode_body(self) -> bytes | None:
        handled, self._handled = self._handled, None
        if handled is not None:
            self._body = self.session.kernel.write(handled)
        return self._body

    @property
    def answer(self) -> Answer | None:
        """HTTP answer as one piece; None if an SSE stream has carried it."""
        if self.begun:
            return None
        handled, self._handled = self._handled, None
        body = self._body if handled is None else self.session.kernel.write(handled)
        if body is None:
            return Answer(202)
        headers = self.reply.headers if self.reply is not None else None
        if headers is None or self.session.profile is None:
            # A failed handshake opens no session, so there is no session id to send.
            return Answer(self.status, body)
        return Answer(self.status, body, headers)

    def close_stream(self, retry_ms: int | None) -> None:
        """Close the stream, if it is resumable: the client reconnects for the rest.

        Args:
            retry_ms: Milliseconds to wait before a reconnect; None leaves it to the client.
        """
        reply = self.reply
        if reply is None or not self.streams.primes or not reply.can_stream or self.over:
            return
        reply.begin()
        hint = b"" if retry_ms is None else sse.retry(retry_ms)
        if self.streams.acknowledges and self.streams.store is not None:
            self.streams.close_acknowledged(self, hint)
            return
        if hint:
            reply.send(hint)
        reply.end()
        self.reply = None

    # --- the channel ---

    @property
    def reachable(self) -> bool:
        """True if a message sent here now reaches the client."""
        reply = self.reply
        if reply is not None and reply.can_stream and not reply.over:
            return not self.session.over
        return self.session.reachable

    def send(self, message: bytes) -> None:
        """Send a message that belongs to a request of this POST."""
        reply = self.reply
        if self.begun or (reply is not None and reply.can_stream and not reply.dropped):
            if not self.over:
                self.put(message)
        else:
            self.session.streams.send(message)

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification; it is dropped if the client does not read."""
        reply = self.reply
        if self.over or (reply is not None and not reply.can_stream):
            return
        if reply is not None and reply.full:
            _log.debug("dropped %s: the client does not read", method.name)
            return
        self.send(envelope.notification(method.name, params))

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> Raw:
        """Send a request and return its result, not decoded; see `DuplexConnection.request`."""
        return await self.session.request_via(self, method, params, timeout_s, progress)

    async def drain(self) -> None:
        """Wait while the client reads slower than messages are sent (back-pressure)."""
        if self.reply is not None:
            await self.reply.drain()

    def answers(self, id: RequestId | None) -> bool:
        """Return True if the request with this id is still being answered."""
        return self.session.answers(id)

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """Return the task that answers the request with this id; None if there is none."""
        return self.session.task(id)
