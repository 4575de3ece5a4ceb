"""One accepted HTTP request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mcp_gen.core import envelope
from mcp_gen.core.errors import InvalidRequest
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.transports.http_server.asgi import send_answer
from mcp_gen.transports.http_server.reply import HttpReply

if TYPE_CHECKING:
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.transports.http_server.asgi import Line, Receive, Scope, Send
    from mcp_gen.transports.http_server.slow_requests import SlowRequestWatcher

__all__ = ["HttpRequest", "error_answer"]


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
    """

    scope: Scope
    receive: Receive
    send: Send
    headers: Headers
    path: str
    extra_headers: Sequence[Line]
    principal: str | None
    watch: SlowRequestWatcher

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
        return HttpReply(
            self.watch,
            self.receive,
            self.send,
            can_stream,
            only_stream,
            self.principal,
            self.extra_headers,
        )


def error_answer(status: int, why: str) -> Answer:
    """Return the answer that refuses a request: a JSON-RPC error without an id."""
    return Answer(status, envelope.failure(None, envelope.error_object(InvalidRequest(why))))
