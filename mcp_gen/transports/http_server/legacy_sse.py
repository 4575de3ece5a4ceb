"""HTTP+SSE transport of 2024-11-05: an SSE stream per client, and a path to POST to.

Source: https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import parse_qs, quote

from mcp_gen.core.transport import sse
from mcp_gen.core.transport.authorizing import UNVERIFIED
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.transports.http_server.app import ENDING
from mcp_gen.transports.http_server.asgi import send_answer
from mcp_gen.transports.http_server.body import read_message
from mcp_gen.transports.http_server.request import accepts_events

if TYPE_CHECKING:
    from mcp_gen.core.transport.authorizing import Admission
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.core.transport.protocols import Duplex, Receiver
    from mcp_gen.transports.http_server.reply import HttpReply
    from mcp_gen.transports.http_server.request import HttpRequest

__all__ = ["LegacySseEndpoint", "PostRelay", "RelayedPost"]

_log = logging.getLogger("mcp_gen.server")

POST_TO = "/messages"
NAME = "session_id"
MAX_EARLY = 10
"""Messages that wait until the server of a new stream has started."""
NO_STREAM = "no such stream: it has ended, or never was"
HTTP_ACCEPTED, HTTP_NOT_FOUND, HTTP_UNAVAILABLE = 202, 404, 503
RETRY_AFTER = (b"retry-after", b"60")


class _SseStream:
    """Duplex transport of one client: its SSE stream out, its POSTs in."""

    def __init__(
        self, reply: HttpReply, principal: str | None, admission: Admission = UNVERIFIED
    ) -> None:
        self.headers: Headers | None = None
        self.principal = principal
        self.admission = UNVERIFIED
        self._key_thumbprint = _key_of(admission)
        self._reply = reply
        self._receiver: Receiver | None = None
        self._early: list[tuple[bytes, Headers, Admission]] = []
        self._waiting: asyncio.Task[None] | None = None
        """Task that waits until the client has read enough."""

    def belongs_to(self, principal: str | None, admission: Admission) -> bool:
        """Return True if the sender of a POST is the client that opened the stream.

        A stream whose token was bound to a key belongs to the holder of that key alone.
        """
        key = self._key_thumbprint
        return self.principal == principal and key in (None, _key_of(admission))

    def deliver(self, message: bytes, headers: Headers, admission: Admission = UNVERIFIED) -> bool:
        """Pass a POSTed message to the receiver, or keep it until there is one.

        Returns:
            False if there is no receiver yet, and too many messages wait for it.
        """
        if self._receiver is not None:
            self.headers, self.admission = headers, admission
            self._receiver.receive(message)
            self.headers, self.admission = None, UNVERIFIED
        elif len(self._early) < MAX_EARLY:
            self._early.append((message, headers, admission))
        else:
            return False
        return True

    def on_disconnect(self) -> None:
        """Report to the receiver that the client disconnected, or that the stream ended."""
        if self._receiver is not None:
            self._receiver.closed(None)

    def finish(self) -> None:
        """End the stream once the requests in progress have been answered."""
        if self._receiver is None:
            self._reply.end()
        else:
            self._receiver.closed(None)

    # --- the Duplex protocol, called by the server connection ---

    async def start(self, receiver: Receiver) -> None:
        """Start to deliver messages, first those that came before."""
        self._receiver = receiver
        for early in self._early:
            self.deliver(*early)
        if self._reply.over:
            receiver.closed(None)

    def send(self, message: bytes) -> None:
        """Queue one message. A client that reads too slowly loses its stream."""
        if self._reply.full:
            self._reply.close_stream()
        else:
            # `message` is the default event name, but older clients expect it to be spelled out.
            self._reply.send(sse.typed_event("message", message))

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be sent (back-pressure)."""
        await self._reply.drain()

    @property
    def full(self) -> bool:
        """True if the client reads so slowly that notifications should wait."""
        return self._reply.full

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when the client has read enough for more to be sent."""
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = asyncio.get_running_loop().create_task(self._call_when_writable(act))

    async def _call_when_writable(self, act: Callable[[], None]) -> None:
        await self._reply.drain()
        self._waiting = None
        act()

    async def aclose(self) -> None:
        """End the stream."""
        if self._waiting is not None:
            self._waiting.cancel()
        self._reply.end()


def _key_of(admission: Admission) -> str | None:
    """Return the thumbprint of the key that a token is bound to, if it is."""
    return None if admission.token is None else admission.token.key_thumbprint


class RelayedPost(NamedTuple):
    """Message that was posted for a stream.

    Args:
        stream: Id of the stream.
        message: The message.
        headers: Headers of the POST.
        principal: Client that has posted it; None if clients are not told apart.
        admission: Verified credentials of the POST.
    """

    stream: str
    message: bytes
    headers: Headers
    principal: str | None
    admission: Admission


class PostRelay(Protocol):
    """Passes messages to the processes that have the streams."""

    def stream_id(self, random: str) -> str:
        """Return the id of a new stream of this process, from which other processes find it."""
        ...

    async def relay(self, post: RelayedPost) -> int:
        """Pass a message to the process that has its stream; return the HTTP status."""
        ...


class LegacySseEndpoint:
    """Serves the two paths of HTTP+SSE; each SSE stream is a connection of its own.

    Args:
        path: The path of the SSE stream; messages are POSTed to `messages` below it.
        serve: Serves one client over a duplex transport, until it ends.
        max_streams: The most SSE streams open at a time; a further one is refused with 503.
        max_body_bytes: The largest body of a POST.
        relay: Passes messages to other processes; None if this one has all streams.
    """

    def __init__(
        self,
        path: str,
        serve: Callable[[Duplex], Coroutine[Any, Any, None]],
        *,
        max_streams: int,
        max_body_bytes: int,
        relay: PostRelay | None = None,
    ) -> None:
        self._path = path
        self._post_to = path.rstrip("/") + POST_TO
        self._serve = serve
        self._max_streams = max_streams
        self._max_body_bytes = max_body_bytes
        self._relay = relay
        self._open: dict[str, _SseStream] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._closing = False

    def serves(self, path: str) -> bool:
        """Return True if the path is one of the two."""
        return path in (self._path, self._post_to)

    async def answer(self, call: HttpRequest) -> None:
        """Open an SSE stream (GET), or accept a message (POST)."""
        methods = {self._path: ("GET", self._listen), self._post_to: ("POST", self._receive_post)}
        method, answer = methods[call.path]
        if call.scope["method"] == method:
            await answer(call)
        else:
            why = f"{call.scope['method']} has no answer here"
            await call.refuse(405, why, (b"allow", method.encode()))

    async def drain(self) -> None:
        """End all streams, each once its requests in progress have been answered; open no more."""
        self._closing = True
        for stream in list(self._open.values()):
            stream.finish()

    async def aclose(self) -> None:
        """End all streams, and wait until serving them has ended."""
        await self.drain()
        if self._serving:
            await asyncio.wait(self._serving)
        self._closing = False

    async def _listen(self, call: HttpRequest) -> None:
        if not accepts_events(call.headers):
            await call.refuse(406, "expected the header `Accept: text/event-stream`")
            return
        if self._closing:
            await call.refuse(503, ENDING, (b"retry-after", b"1"))
            return
        # A connection that its client has left is served until its requests have ended.
        if max(len(self._open), len(self._serving)) >= self._max_streams:
            await call.refuse(503, "there are too many streams; try again later", RETRY_AFTER)
            return
        id, reply = secrets.token_urlsafe(16), call.reply()
        if self._relay is not None:
            id = self._relay.stream_id(id)
        stream = self._open[id] = _SseStream(reply, call.principal, reply.admission)
        reply.on_expiry = stream.finish
        root = call.scope.get("root_path", "").rstrip("/")
        reply.send(
            sse.typed_event("endpoint", f"{quote(root + self._post_to)}?{NAME}={id}".encode())
        )
        serving = call.watch.loop.create_task(self._serve(stream))
        self._serving.add(serving)
        serving.add_done_callback(self._served)
        try:
            await reply.attach_stream()
        except asyncio.CancelledError:
            # The HTTP server ends, and the client listens: it gets the answers in progress.
            stream.finish()
            await reply.attach_stream()
        finally:
            del self._open[id]
            reply.release()
            reply.end()
            stream.on_disconnect()
        await reply.finish(None)

    def _served(self, serving: asyncio.Task[None]) -> None:
        self._serving.discard(serving)
        if not serving.cancelled() and serving.exception() is not None:
            _log.error("serving a stream failed", exc_info=serving.exception())

    async def _receive_post(self, call: HttpRequest) -> None:
        query = parse_qs(call.scope.get("query_string", b"").decode("latin-1"))
        id = query.get(NAME, [""])[0]
        stream = self._open.get(id)
        admission = UNVERIFIED if call.grant is None else call.grant.admission
        if stream is None and self._relay is not None:
            await self._pass_on(call, self._relay, id, admission)
            return
        if stream is None or not stream.belongs_to(call.principal, admission):
            await call.refuse(HTTP_NOT_FOUND, NO_STREAM)
            return
        message = await read_message(call, self._max_body_bytes)
        if message is not None:
            if not stream.deliver(message, call.headers, admission):
                await call.refuse(503, "the server is about to start; try again later", RETRY_AFTER)
                return
            await send_answer(call.send, Answer(202), call.extra_headers)

    async def _pass_on(
        self, call: HttpRequest, relay: PostRelay, id: str, admission: Admission
    ) -> None:
        """Pass a message to the process that has the stream."""
        message = await read_message(call, self._max_body_bytes)
        if message is None:
            return
        post = RelayedPost(id, message, call.headers, call.principal, admission)
        status = await relay.relay(post)
        if status == HTTP_ACCEPTED:
            await send_answer(call.send, Answer(status), call.extra_headers)
        elif status == HTTP_UNAVAILABLE:
            await call.refuse(
                status, "the message was not taken; try again", (b"retry-after", b"1")
            )
        else:
            await call.refuse(status, NO_STREAM)

    def take(self, post: RelayedPost) -> int:
        """Deliver a message that another process has received; return the HTTP status."""
        stream = self._open.get(post.stream)
        if stream is None or not stream.belongs_to(post.principal, post.admission):
            return HTTP_NOT_FOUND
        taken = stream.deliver(post.message, post.headers, post.admission)
        return HTTP_ACCEPTED if taken else HTTP_UNAVAILABLE

    def end_streams(self) -> None:
        """End all streams: other processes cannot find them any more."""
        for stream in list(self._open.values()):
            stream.finish()
