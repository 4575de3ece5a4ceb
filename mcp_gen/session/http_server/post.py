"""One POST in a session: the stream that answers it, where messages of its requests go."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import UNSET

from mcp_gen.core import envelope
from mcp_gen.core.transport import sse
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.session.http_server.streams import Stream, Streams

if TYPE_CHECKING:
    import asyncio

    from msgspec import Raw

    from mcp_gen.core.connection import Batch
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Reply
    from mcp_gen.session.kernel.call import Call
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.callers import OnProgress
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["PostOwner", "PostResponse"]

P = TypeVar("P")
R = TypeVar("R")

_log = logging.getLogger("mcp_gen.server")


class PostOwner(Protocol):
    """The session of a POST, as its response uses it."""

    over: bool
    """True once the session has ended."""

    @property
    def kernel(self) -> Kernel[Any]:
        """The server, which writes the answers."""
        ...

    @property
    def streams(self) -> Streams:
        """The streams of the session."""
        ...

    @property
    def profile(self) -> Profile | None:
        """The agreed revision; None before the handshake."""
        ...

    @property
    def reachable(self) -> bool:
        """True if a stream for what belongs to no request is open."""
        ...

    async def request_via(
        self,
        way: PostResponse,
        method: Method[P, Any],
        params: P,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> Raw:
        """Send a request in the response of a POST and return its result."""
        ...

    def answers(self, id: RequestId | None) -> bool:
        """Return True if the request is still being answered."""
        ...

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """Return the task that answers the request."""
        ...


class PostResponse(Stream):
    """The outlet of the requests in one POST. Their handlers run on when the client hangs up.

    Where the POST can be answered in one piece only, messages go where all others of the session
    go: requests must reach the client somehow.
    """

    __slots__ = ("__weakref__", "_body", "_handled", "_running", "headers", "session", "status")

    def __init__(self, session: PostOwner, headers: Headers, reply: Reply) -> None:
        super().__init__(session.streams, reply)
        self.session = session
        self.headers = headers
        self.status = 202
        self._running = 0
        self._body: bytes | None = None
        self._handled: Call[Any] | None = None
        """The one request, where its answer is to be written when it is sent."""

    # --- the answer ---

    def request_started(self) -> None:
        """One more request is being answered."""
        self._running += 1

    def refuse(self, answer: bytes | None, batch: Batch | None, status: int) -> None:
        """Something in this POST is no request that can be answered with a result."""
        self._keep(answer, batch)
        if answer is not None:
            self.status = 200 if batch else status

    def answered(self, call: Call[Any] | None, batch: Batch | None) -> None:
        """One request has been handled; None if it was cancelled."""
        self._running -= 1
        if batch is not None:
            self._keep(self.session.kernel.write(call) if call is not None else None, batch)
        else:
            self._handled = call
        if not self._running:
            self._finish()

    def _keep(self, answer: bytes | None, batch: Batch | None) -> None:
        whole = batch.add(answer) if batch else answer
        if whole is not None:
            self._body = whole

    def _finish(self) -> None:
        reply = self.reply
        if self._handled is not None or self._body is not None:
            self.status = 200
            if self.begun or (reply is not None and reply.only_stream):
                body = self._written()
                if body is not None:
                    self.put(body)
                self._body = None
        self.end()

    def _written(self) -> bytes | None:
        handled, self._handled = self._handled, None
        if handled is not None:
            self._body = self.session.kernel.write(handled)
        return self._body

    @property
    def answer(self) -> Answer | None:
        """What the POST is answered with in one piece; None if a stream has said it all."""
        if self.begun:
            return None
        body = self._written()
        if body is None:
            return Answer(202)
        headers = self.reply.headers if self.reply is not None else None
        if headers is None or self.session.profile is None:
            # A handshake that failed has begun no session.
            return Answer(self.status, body)
        return Answer(self.status, body, headers)

    async def wait(self, reply: Reply) -> None:
        """Wait until all requests are answered, or the client has hung up."""
        if self._running:
            await reply.attach_stream()

    def close_stream(self, retry_ms: int | None) -> None:
        """Hang up: the client comes back after a while for what is said until then."""
        reply = self.reply
        if reply is None or not self.streams.primes or not reply.can_stream or self.over:
            return
        reply.begin()
        if retry_ms is not None:
            reply.send(sse.retry(retry_ms))
        reply.end()
        self.reply = None

    # --- the outlet ---

    @property
    def reachable(self) -> bool:
        """Whether what is sent there now reaches the client."""
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
        """Send a notification; a client that does not read loses it."""
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
        """Send a request and return its result undecoded; see `Link.request`."""
        return await self.session.request_via(self, method, params, timeout_s, progress)

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be sent."""
        if self.reply is not None:
            await self.reply.drain()

    def answers(self, id: RequestId | None) -> bool:
        """Whether this request is still being answered."""
        return self.session.answers(id)

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """The task in which this request is being answered."""
        return self.session.task(id)
