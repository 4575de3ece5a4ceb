"""An HTTP endpoint as a plain ASGI app, which starts itself wherever it is mounted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import lru_cache
from threading import get_ident
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mcp_gen.core.errors import McpGenError
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
from mcp_gen.transports.http_server.reply import HttpReply
from mcp_gen.transports.http_server.request import HttpRequest, error_answer
from mcp_gen.transports.http_server.security import REMEMBERED_BYTES, OriginGuard
from mcp_gen.transports.http_server.slow_requests import SlowRequestWatcher

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Exchange

__all__ = [
    "AsgiApp",
    "ExtraApp",
    "Message",
    "Receive",
    "Scope",
    "Send",
    "accepts_events",
]

_log = logging.getLogger("mcp_gen.server")

LAST_WORDS_S = 1.0
"""How long a request that would go on for ever may take to end when it is asked to."""
MAX_BODY_BYTES = 16 * 1024 * 1024
PRINCIPAL = "mcp_gen.principal"
"""Where in the scope it stands who the client is, unless the app is told otherwise."""


class ExtraApp(Protocol):
    """What serves other paths beside the endpoint, under the same rules."""

    def serves(self, path: str) -> bool:
        """Whether this path is one of its own."""
        ...

    async def answer(self, call: HttpRequest) -> None:
        """Answer one request."""
        ...

    async def drain(self) -> None:
        """End what would go on for ever."""
        ...

    async def aclose(self) -> None:
        """End what is open."""
        ...


class AsgiApp:
    """Serves one exchange at one path.

    `principal` says who the client of a request is; without it, `scope["mcp_gen.principal"]` does.
    With `cors` browsers are told that pages of the origins that are served may ask.
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
        beside: ExtraApp | None = None,
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
        self._extra_apps = beside
        self._start = start
        self._stop = stop
        self._watch: SlowRequestWatcher | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI event."""
        if scope["type"] != "http":
            await self._serve_other(scope, receive, send)
            return
        headers = Headers(scope["headers"])
        origin = headers.raw.get(b"origin")
        host = headers.raw.get(b"host")
        objection = self._guard.objection(scope.get("server"), host, origin)
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
        path: str = scope["path"]
        if path != self.path:
            path = _under(scope)
        principal = self._principal
        who = scope.get(PRINCIPAL) if principal is None else principal(scope)
        if path == self.path and scope["method"] == "POST":
            await self._post(scope, receive, send, headers, more, who, watch)
            return
        call = HttpRequest(scope, receive, send, headers, path, more, who, watch)
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

    async def _serve_extra_app(self, call: HttpRequest) -> None:
        if self._extra_apps is not None and self._extra_apps.serves(call.path):
            await self._extra_apps.answer(call)
        else:
            await send_answer(call.send, Answer(404), call.more)

    async def start(self) -> None:
        """Start what the server needs; without a lifespan the first request does it.

        `start` must bear to be called again, and raises what keeps the server from serving.
        """
        if self._start is not None:
            await self._start()

    async def drain(self) -> None:
        """End what would go on for ever; what is being answered goes on."""
        await self._exchange.drain()
        if self._extra_apps is not None:
            await self._extra_apps.drain()
        if self._watch is not None:
            # They have been asked to end in good order; who has no ears for it is stopped.
            for reply in list(self._watch.lasting):
                self._watch.loop.call_later(LAST_WORDS_S, reply.interrupt)

    async def aclose(self) -> None:
        """End what is open, then what the server has started."""
        await self.drain()
        if self._extra_apps is not None:
            await self._extra_apps.aclose()
        await self._exchange.aclose()
        if self._stop is not None:
            await self._stop()
        self._watch = None

    # --- what may be answered ---

    async def _enter(self, loop: asyncio.AbstractEventLoop) -> SlowRequestWatcher:
        """This is the first request, or the first on another event loop."""
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
        if method == "OPTIONS" and call.more:
            more = preflight_headers(call.headers, exchange.http_methods)
            await send_answer(call.send, Answer(204), [*call.more, *more])
        elif method not in exchange.http_methods:
            allowed = ", ".join(exchange.http_methods).encode()
            await call.refuse(405, f"{method} has no answer here", (b"allow", allowed))
        elif method == "GET":
            await self._listen(call)
        else:
            answer = await exchange.end_session(call.headers, call.reply(can_stream=False))
            await send_answer(call.send, answer, call.more)

    async def _post(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: Headers,
        more: Sequence[Line],
        principal: str | None,
        watch: SlowRequestWatcher,
    ) -> None:
        raw = headers.raw
        accept = raw.get(b"accept", b"*/*")
        # What is long is not remembered: headers may be as long as an attacker likes.
        accepts = _accepted(accept) if len(accept) <= REMEMBERED_BYTES else _read_accepted(accept)
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
        # As in `read_message`, at the price of fewer calls.
        task = asyncio.current_task(watch.loop)
        watch.reading.add(task)
        if watch.ticking is None:
            watch.tick()
        try:
            message = await receive()
            body: bytes | None = message.get("body", b"")
            if not body or message.get("more_body") or len(body) > self._max_body_bytes:
                # Most messages come whole.
                call = HttpRequest(scope, receive, send, headers, self.path, more, principal, watch)
                body = await read_on(call, self._max_body_bytes, message)
        except asyncio.CancelledError:
            if not watch.was_late(task):
                raise
            call = HttpRequest(scope, receive, send, headers, self.path, more, principal, watch)
            await refuse_late(call)
            return
        finally:
            watch.reading.discard(task)
            if watch.reading_long:
                watch.has_read(task)
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
        answering = self._exchange.answer(body, headers, reply)
        # What is open for long is not to keep its message.
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
        await reply.finish(answer)

    async def _listen(self, call: HttpRequest) -> None:
        if not accepts_events(call.headers):
            await call.refuse(406, "expected the header `Accept: text/event-stream`")
            return
        reply = call.reply()
        try:
            answer = await self._exchange.listen(call.headers, reply)
        finally:
            reply.release()
        await reply.finish(answer)


def accepts_events(headers: Headers) -> bool:
    """Whether a client takes a stream of events."""
    return _read_accepted(headers.raw.get(b"accept", b"*/*")).events


class _Accepts(NamedTuple):
    json: bool
    events: bool


def _read_accepted(header: bytes) -> _Accepts:
    """What of the two kinds of answers a client takes.

    Source: https://www.rfc-editor.org/rfc/rfc9110.html#name-accept
    """
    taken: dict[bytes, bool] = {}
    for item in header.lower().split(b","):
        kind, *parameters = (part.strip() for part in item.split(b";"))
        taken[kind] = not any(part.rstrip(b"0.") == b"q=" for part in parameters)
    return _Accepts(
        _most_exact(taken, (b"application/json", b"application/*", b"*/*")),
        _most_exact(taken, (b"text/event-stream", b"text/*", b"*/*")),
    )


_accepted = lru_cache(maxsize=256)(_read_accepted)


def _most_exact(taken: dict[bytes, bool], names: tuple[bytes, ...]) -> bool:
    return next((taken[name] for name in names if name in taken), False)


def _under(scope: Scope) -> str:
    """The path behind the one under which the app is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    if root and path.startswith(root):
        # At the root of a mount the slash may be missing.
        return path[len(root) :] or "/"
    return path
