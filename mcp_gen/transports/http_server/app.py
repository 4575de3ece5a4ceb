"""ASGI app of the HTTP endpoint. Starts the server on the first request without a lifespan."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.core.errors import McpGenError, UsageError
from mcp_gen.core.transport.headers import Headers
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.transports.http_server.asgi import (
    Line,
    Message,
    Receive,
    Scope,
    Send,
    lifespan,
    send_answer,
)
from mcp_gen.transports.http_server.body import (
    BODY_TIMEOUT_S,
    JSON,
    LONG_LENGTH,
    read_on,
    refuse_late,
    unreadable,
)
from mcp_gen.transports.http_server.cors import answer_headers, preflight_headers
from mcp_gen.transports.http_server.gating import Gatekeeper
from mcp_gen.transports.http_server.metadata import MetadataDocuments, WellKnownApp
from mcp_gen.transports.http_server.reply import HttpReply
from mcp_gen.transports.http_server.request import (
    HttpRequest,
    accepts_events,
    error_answer,
    parse_accept,
    parse_accept_cached,
)
from mcp_gen.transports.http_server.security import REMEMBERED_BYTES, OriginGuard
from mcp_gen.transports.http_server.slow_requests import SlowRequestWatcher

if TYPE_CHECKING:
    from mcp_gen.core.transport.authorizing import RequestGate
    from mcp_gen.core.transport.protocols import Exchange
    from mcp_gen.transports.health import HealthChecks
    from mcp_gen.transports.http_server.grant import Grant

__all__ = [
    "AsgiApp",
    "ExtraApp",
    "Message",
    "Receive",
    "Scope",
    "Send",
]

_log = logging.getLogger("mcp_gen.server")

LAST_WORDS_S = 1.0
"""Grace period, in seconds, for long-lived requests to end after `drain`."""
GRACE_S = 5.0
"""Seconds that requests may still take at `aclose`."""
ENDING = "the server is about to end"
MAX_BODY_BYTES = 16 * 1024 * 1024
PRINCIPAL = "mcp_gen.principal"
"""Scope key of the client principal, unless `AsgiApp(principal=...)` is given."""


class ExtraApp(Protocol):
    """App for further paths beside the endpoint, behind the same Host and Origin checks."""

    def serves(self, path: str) -> bool:
        """Return True if this app serves the path."""
        ...

    async def answer(self, call: HttpRequest) -> None:
        """Answer one request."""
        ...

    async def drain(self) -> None:
        """End long-lived streams; requests in progress are still answered."""
        ...

    async def aclose(self) -> None:
        """Close all open streams."""
        ...


class AsgiApp:
    """ASGI app that serves one exchange at one path.

    Host and Origin are validated on every request (DNS rebinding protection, see `OriginGuard`).

    Args:
        exchange: The MCP endpoint without HTTP server: messages in, answers out.
        path: The path of the endpoint, below the path that the app is mounted at.
        json_only: True answers each POST with JSON, never with an SSE stream. What would be sent
            before the result is left out.
        max_body_bytes: The largest body of a POST; a larger one is refused with 413.
        allowed_hosts: Hosts that the `Host` header may name, with or without port, no wildcards.
            None allows loopback hosts over loopback, and every host otherwise.
        allowed_origins: Origins that the `Origin` header may name, no wildcards. None allows
            loopback origins over loopback, and no origin otherwise.
        cors: True adds CORS headers for allowed origins, and answers preflight requests.
        sse_after_s: Seconds after which a slow answer becomes an SSE stream, which keeps the
            connection alive.
        keep_alive_s: Seconds of silence on an SSE stream before a heartbeat is sent.
        body_timeout_s: Seconds that a body may take to arrive. A slower request is refused with
            408, after once to twice that time.
        principal: Returns the client principal of a scope; without it `scope["mcp_gen.principal"]`.
        gate: Admits each request before its body is read, and names its principal; None admits all.
        extra_app: An app for other paths.
        health: Answers health checks beside the endpoint, without credentials.
        start: Starts what the server needs. Called at the lifespan's startup, and again on the
            first request on each event loop: it must allow repeated calls.
        stop: Releases what `start` acquired, at the end of `aclose`.

    Raises:
        UsageError: `allowed_hosts` or `allowed_origins` is a string, or has an entry that is no
            host or origin.
    """

    def __init__(
        self,
        exchange: Exchange,
        path: str,
        *,
        json_only: bool = False,
        max_body_bytes: int = MAX_BODY_BYTES,
        allowed_hosts: Collection[str] | None = None,
        allowed_origins: Collection[str] | None = None,
        cors: bool = False,
        sse_after_s: float = 10.0,
        keep_alive_s: float = 15.0,
        body_timeout_s: float = BODY_TIMEOUT_S,
        principal: Callable[[Scope], str | None] | None = None,
        gate: RequestGate | None = None,
        extra_app: ExtraApp | None = None,
        health: HealthChecks | None = None,
        start: Callable[[], Awaitable[None]] | None = None,
        stop: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._exchange = exchange
        self.path = path
        self._json_only = json_only
        self._max_body_bytes = max_body_bytes
        self._guard = OriginGuard(allowed_hosts, allowed_origins)
        self._cross_origin = cors
        self._sse_after_s = sse_after_s
        self._keep_alive_s = keep_alive_s
        self._body_timeout_s = body_timeout_s
        self._principal = principal
        self._extra_apps = extra_app
        self._health = health
        self.draining = False
        """True from `drain` to the end of `aclose`: responses ask clients for a new connection."""
        self._started = False
        self._start = start
        self._stop = stop
        self._gate = gate
        self._gatekeeper: Gatekeeper | None = None
        self._documents: MetadataDocuments | None = None
        if gate is not None:
            self._gatekeeper = Gatekeeper(gate, self._serves)
            self._documents = MetadataDocuments(gate, self._guard)
        self._watch: SlowRequestWatcher | None = None
        self.kernel: Any = None
        """Kernel of the server that is served, for the start line; None if there is none."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI scope: HTTP requests and the lifespan. WebSockets are closed."""
        if scope["type"] != "http":
            await self._serve_other(scope, receive, send)
            return
        path: str = scope["path"]
        if path != self.path:
            path = _path_below_mount(scope)
            if await self._answer_openly(scope, receive, send, path):
                return
        headers = Headers(scope["headers"])
        origin = headers.raw.get(b"origin")
        host = headers.raw.get(b"host")
        objection = self._guard.check(scope.get("server"), host, origin)
        if objection:
            await send_answer(send, error_answer(*objection))
            return
        watch = self._watch
        # Until Python 3.12 asking for the running loop is a system call: this is not.
        if watch is None or watch.thread != get_ident() or not watch.loop.is_running():
            try:
                watch = await self._enter(asyncio.get_running_loop())
            except McpGenError:
                _log.exception("no request can be served")
                await send_answer(send, Answer(503))
                return
        more: Sequence[Line] = ()
        if origin is not None and self._cross_origin:
            more = answer_headers(origin)
        if self.draining and scope.get("http_version", "1.1")[0] == "1":
            more = [*more, (b"connection", b"close")]
        grant: Grant | None = None
        if self._gatekeeper is not None:
            grant = await self._gatekeeper.admit(scope, headers, path, send, more)
            if grant is None:
                return
            who = grant.admission.principal
        else:
            principal = self._principal
            who = scope.get(PRINCIPAL) if principal is None else principal(scope)
        if path == self.path and scope["method"] == "POST":
            await self._post(scope, receive, send, headers, more, who, watch, grant)
            return
        call = HttpRequest(scope, receive, send, headers, path, more, who, watch, grant)
        if path != self.path:
            await self._serve_extra_app(call)
        else:
            await self._answer(call)

    async def _serve_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan(receive, send, self.start, self.aclose)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})

    async def _answer_openly(self, scope: Scope, receive: Receive, send: Send, path: str) -> bool:
        """Answer a request that needs no credentials; return False if it is another one."""
        documents, health = self._documents, self._health
        if documents is not None and await documents.answer(scope, receive, send, path):
            return True
        if health is None or not health.serves(path):
            return False
        start = None if self._started else self.start
        answer = await health.answer(scope["method"], path, start, draining=self.draining)
        await send_answer(send, answer)
        return True

    def _serves(self, path: str) -> bool:
        return path == self.path or (self._extra_apps is not None and self._extra_apps.serves(path))

    @property
    def well_known(self) -> WellKnownApp:
        """ASGI app for `/.well-known` at the root of a site that this app is mounted in.

        Clients look for the metadata of a server there: below `/.well-known` at the root, whatever
        the path of the server is.

        Raises:
            UsageError: there is no metadata: the app was made without `auth`.
        """
        if self._documents is None:
            raise UsageError("well_known: there is no metadata: make the app with `auth=`")
        return WellKnownApp(self._documents)

    async def _serve_extra_app(self, call: HttpRequest) -> None:
        if self._extra_apps is not None and self._extra_apps.serves(call.path):
            if call.scope["method"] == "OPTIONS" and call.extra_headers:
                granted = preflight_headers(call.headers, ("GET", "POST"))
                await send_answer(call.send, Answer(204), [*call.extra_headers, *granted])
                return
            await self._extra_apps.answer(call)
        else:
            await send_answer(call.send, Answer(404), call.extra_headers)

    async def start(self) -> None:
        """Run the `start` callable; without an ASGI lifespan the first request does it.

        Raises:
            Exception: what keeps the server from serving, as `start` raises it.
        """
        if self._start is not None:
            await self._start()
        self._started = True

    async def drain(self) -> None:
        """End long-lived streams, and take no new ones and no new sessions.

        Requests, new ones too, are still answered. Readiness checks fail from now on. Streams that
        have not ended one second later are interrupted.
        """
        self.draining = True
        await self._exchange.drain()
        if self._extra_apps is not None:
            await self._extra_apps.drain()
        if self._watch is not None:
            # They were asked to end gracefully above: interrupt those that have not.
            for reply in list(self._watch.long_lived):
                self._watch.loop.call_later(LAST_WORDS_S, reply.interrupt)

    async def aclose(self) -> None:
        """Close all streams and sessions, then run the `stop` callable.

        Requests in progress get a grace period of 5 seconds. Those left are answered with an error.
        """
        await self.drain()
        if self._extra_apps is not None:
            await self._extra_apps.aclose()
        await asyncio.gather(self._end_requests(), self._exchange.aclose())
        if self._stop is not None:
            await self._stop()
        if self._gate is not None:
            await self._gate.aclose()
        self._watch = None
        self.draining = self._started = False

    async def _end_requests(self) -> None:
        """Wait for the requests that run in the tasks of their POSTs; interrupt those left."""
        if self._watch is None or self._watch.loop is not asyncio.get_running_loop():
            return
        replies = {task: reply for reply in self._watch.open() if (task := reply.task) is not None}
        tasks = replies.keys() - {asyncio.current_task()}
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=GRACE_S)
            for task in late:
                replies[task].interrupt()
            if late:
                await asyncio.wait(late)

    # --- answering requests ---

    async def _enter(self, loop: asyncio.AbstractEventLoop) -> SlowRequestWatcher:
        """Start the server, on the first request or the first on another event loop."""
        await self.start()
        watch = self._watch
        if watch is None or watch.loop is not loop:
            watch = SlowRequestWatcher(
                loop,
                sse_after_s=self._sse_after_s,
                keep_alive_s=self._keep_alive_s,
                body_timeout_s=self._body_timeout_s,
            )
            self._watch = watch
        watch.thread = get_ident()
        return watch

    async def _answer(self, call: HttpRequest) -> None:
        method, exchange = call.scope["method"], self._exchange
        if method == "OPTIONS" and call.extra_headers:
            more = preflight_headers(call.headers, exchange.http_methods)
            await send_answer(call.send, Answer(204), [*call.extra_headers, *more])
        elif method not in exchange.http_methods:
            allowed = ", ".join(exchange.http_methods).encode()
            await call.refuse(405, f"{method} has no answer here", (b"allow", allowed))
        elif method == "GET":
            await self._listen(call)
        else:
            try:
                answer = await exchange.end_session(call.headers, call.reply(can_stream=False))
            except asyncio.CancelledError:
                answer = error_answer(503, ENDING)
            await send_answer(call.send, answer, call.extra_headers)

    async def _post(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: Headers,
        more: Sequence[Line],
        principal: str | None,
        watch: SlowRequestWatcher,
        grant: Grant | None,
    ) -> None:
        raw = headers.raw
        accept = raw.get(b"accept", b"*/*")
        # Long headers are not cached: an attacker chooses their length.
        parse = parse_accept_cached if len(accept) <= REMEMBERED_BYTES else parse_accept
        accepts = parse(accept)
        if not (accepts.json or accepts.events):
            expected = "application/json, text/event-stream"
            refusal = error_answer(406, f"expected the header `Accept: {expected}`")
            await send_answer(send, refusal, more)
            return
        kind = raw.get(b"content-type", JSON)
        length = raw.get(b"content-length", b"")
        if kind != JSON or b"content-encoding" in raw or len(length) >= LONG_LENGTH:
            call = HttpRequest(scope, receive, send, headers, self.path, more, principal, watch)
            objection = unreadable(call, self._max_body_bytes)
            if objection:
                await call.refuse(*objection)
                return
        # Same as `read_message`, inlined to save calls on the hot path.
        task = asyncio.current_task(watch.loop)
        watch.reading.add(task)
        if watch.ticking is None:
            watch.start_body_timer()
        try:
            message = await receive()
            body: bytes | None = message.get("body", b"")
            if not body or message.get("more_body") or len(body) > self._max_body_bytes:
                # Rare: most bodies arrive in one ASGI message.
                call = HttpRequest(scope, receive, send, headers, self.path, more, principal, watch)
                body = await read_on(call, self._max_body_bytes, message)
        except asyncio.CancelledError:
            if not watch.timed_out(task):
                await send_answer(send, error_answer(503, ENDING), more)
                return
            call = HttpRequest(scope, receive, send, headers, self.path, more, principal, watch)
            await refuse_late(call)
            return
        finally:
            watch.reading.discard(task)
            if watch.reading_long:
                watch.body_read(task)
        if body is None:
            return
        streams = not self._json_only
        reply = HttpReply(
            watch,
            receive,
            send,
            accepts.events and streams,
            not accepts.json and streams,
            principal,
            more,
        )
        if grant is not None:
            reply.use(grant)
        answering = self._exchange.answer(body, headers, reply)
        # A request that stays open for long must not keep its body in memory.
        del body, message, raw, headers, accept, kind, length, task
        try:
            answer = await answering
        except asyncio.CancelledError:
            if not reply.cancelled:
                reply.release()
                raise
            answer = None
        if reply.release():
            raise asyncio.CancelledError
        if not reply.streaming:
            # All requests of this turn are handled before one is answered: each step finds warm
            # caches, a tenth of a busy server's time.
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                # The server ends: what is there is still sent.
                await reply.finish(answer)
                raise
        await reply.finish(answer)

    async def _listen(self, call: HttpRequest) -> None:
        if not accepts_events(call.headers):
            await call.refuse(406, "expected the header `Accept: text/event-stream`")
            return
        reply = call.reply()
        try:
            answer = await self._exchange.listen(call.headers, reply)
        except asyncio.CancelledError:
            # As at `drain`: the stream ends in good order, and the client may open another.
            answer = None if reply.streaming else error_answer(503, ENDING)
        finally:
            reply.release()
        await reply.finish(answer)


def _path_below_mount(scope: Scope) -> str:
    """Return the path below the one that the app is mounted at."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    if root and path.startswith(root):
        # The slash may be missing at the root of a mount.
        return path[len(root) :] or "/"
    return path
