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
    """One HTTP request that has passed the Host and Origin checks."""

    scope: Scope
    receive: Receive
    send: Send
    headers: Headers
    path: str
    """Without the path under which the app is mounted."""
    more: Sequence[Line]
    """Headers that every answer to it has."""
    principal: str | None
    watch: SlowRequestWatcher

    async def refuse(self, status: int, why: str, *more: Line) -> None:
        """Answer with a JSON-RPC error without an id."""
        await send_answer(self.send, error_answer(status, why), [*self.more, *more])

    def reply(self, *, can_stream: bool = True, only_stream: bool = False) -> HttpReply:
        """Return what the request is answered on."""
        return HttpReply(
            self.watch,
            self.receive,
            self.send,
            can_stream,
            only_stream,
            self.principal,
            self.more,
        )


def error_answer(status: int, why: str) -> Answer:
    """Return the answer that refuses an HTTP request, as a JSON-RPC error without an id."""
    return Answer(status, envelope.failure(None, envelope.error_object(InvalidRequest(why))))
