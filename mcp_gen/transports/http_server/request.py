"""One accepted HTTP request, and the media types that it accepts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from mcp_gen.core import envelope
from mcp_gen.core.errors import InvalidRequest
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.transports.http_server.asgi import send_answer
from mcp_gen.transports.http_server.reply import HttpReply

if TYPE_CHECKING:
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.transports.http_server.asgi import Line, Receive, Scope, Send
    from mcp_gen.transports.http_server.grant import Grant
    from mcp_gen.transports.http_server.slow_requests import SlowRequestWatcher

__all__ = ["HttpRequest", "accepts_events", "error_answer", "parse_accept", "parse_accept_cached"]


class HttpRequest(NamedTuple):
    """One HTTP request that has passed the Host and Origin checks.

    Args:
        scope: The ASGI scope.
        receive: The ASGI receive callable.
        send: The ASGI send callable.
        headers: The headers of the request.
        path: The path below the one that the app is mounted at.
        more: Header lines of every response to the request.
        principal: The client principal; None if clients are not told apart.
        watch: The watcher of the event loop.
        grant: Admission of the request; None without a gate.
    """

    scope: Scope
    receive: Receive
    send: Send
    headers: Headers
    path: str
    extra_headers: Sequence[Line]
    principal: str | None
    watch: SlowRequestWatcher
    grant: Grant | None = None

    def __repr__(self) -> str:
        # Neither headers nor query: they may hold credentials.
        return f"HttpRequest({self.scope['method']} {self.path!r})"

    async def refuse(self, status: int, why: str, *more: Line) -> None:
        """Answer with a JSON-RPC error without an id.

        Args:
            status: The HTTP status.
            why: The message of the error.
            more: Further header lines.
        """
        await send_answer(self.send, error_answer(status, why), [*self.extra_headers, *more])

    def reply(self, *, can_stream: bool = True, only_stream: bool = False) -> HttpReply:
        """Return the reply of this request.

        Args:
            can_stream: True if the client accepts an SSE stream.
            only_stream: True if it accepts nothing else.
        """
        reply = HttpReply(
            self.watch,
            self.receive,
            self.send,
            can_stream,
            only_stream,
            self.principal,
            self.extra_headers,
        )
        if self.grant is not None:
            reply.use(self.grant)
        return reply


def error_answer(status: int, why: str) -> Answer:
    """Return the answer that refuses a request: a JSON-RPC error without an id."""
    return Answer(status, envelope.failure(None, envelope.error_object(InvalidRequest(why))))


def accepts_events(headers: Headers) -> bool:
    """Return True if the client accepts an SSE stream (`Accept: text/event-stream`)."""
    return parse_accept(headers.raw.get(b"accept", b"*/*")).events


class _Accepts(NamedTuple):
    json: bool
    events: bool


def parse_accept(header: bytes) -> _Accepts:
    """Parse an `Accept` header into the two media types that are offered.

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


parse_accept_cached = lru_cache(maxsize=256)(parse_accept)
"""`parse_accept` for short headers."""


def _most_exact(taken: dict[bytes, bool], names: tuple[bytes, ...]) -> bool:
    return next((taken[name] for name in names if name in taken), False)
