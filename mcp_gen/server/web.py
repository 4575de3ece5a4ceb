"""A server over HTTP: its ASGI app, put together."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import UsageError
from mcp_gen.server.header_params import HeaderParamsOf
from mcp_gen.session.exchange import HttpExchange
from mcp_gen.transports.http import AsgiApp
from mcp_gen.transports.sse_pair import SsePair

if TYPE_CHECKING:
    from mcp_gen.core.event_store import EventStore
    from mcp_gen.server.lifespan import AsgiLifespan
    from mcp_gen.server.server import Server
    from mcp_gen.session.http_sessions import SessionLimits

__all__ = ["asgi_app", "run_http"]

GRACE_S = 10
"""How long requests may still take in a process that was told to stop."""


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


def run_http(app: AsgiApp | AsgiLifespan, host: str, port: int) -> None:
    """Serve an app until the process is told to stop; what is being answered gets a moment."""
    import uvicorn

    class Endpoint(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            # What is there now stays: the collector need not look at it again.
            gc.freeze()

        async def shutdown(self, sockets: Any = None) -> None:
            # It waits for every answer to end: those that would not must be ended first.
            await app.drain()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    with suppress(KeyboardInterrupt), _ended_by_sigterm():
        Endpoint(config).run()


@contextmanager
def _ended_by_sigterm() -> Generator[None]:
    """SIGTERM ends what is inside, and not the process: uvicorn raises it anew at its end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _ignore)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _ignore(number: int, frame: Any) -> None:
    """It has been heard: what was to end has ended."""
