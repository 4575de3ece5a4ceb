"""A server over HTTP: its ASGI app, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import UsageError
from mcp_gen.server.header_params import HeaderParamsOf
from mcp_gen.session.exchange import HttpExchange
from mcp_gen.transports.http import AsgiApp
from mcp_gen.transports.sse_pair import SsePair

if TYPE_CHECKING:
    from mcp_gen.core.event_store import EventStore
    from mcp_gen.server.server import Server
    from mcp_gen.session.http_sessions import SessionLimits

__all__ = ["asgi_app"]


def asgi_app(
    server: Server,
    path: str,
    sse_path: str | None,
    *,
    stateless: bool,
    event_store: EventStore | None,
    limits: SessionLimits,
    max_body_bytes: int,
    **options: Any,
) -> AsgiApp:
    """See `Server.asgi`."""
    for one in (path, sse_path):
        if one is not None and not one.startswith("/"):
            raise UsageError(f"path {one!r}: expected it to begin with a slash")
    exchange = HttpExchange(
        server.kernel,
        stateless=stateless,
        event_store=event_store,
        limits=limits,
        header_params=HeaderParamsOf(server),
    )
    pair: SsePair | None = None
    if sse_path is not None:
        if not server.kernel.handshakes:
            raise UsageError("sse_path: no revision that is offered has a handshake")
        pair = SsePair(
            sse_path, server.serve, max_streams=limits.max_sessions, max_body_bytes=max_body_bytes
        )
    return AsgiApp(exchange, path, beside=pair, max_body_bytes=max_body_bytes, **options)
