"""Builds the ASGI app of a server, and runs it in a uvicorn process."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.server.serving.header_params import HeaderParamLookup
from mcp_gen.server.serving.signals import EndingSignals
from mcp_gen.server.serving.workers import warn_of_workers
from mcp_gen.session.http_server.exchange import HttpExchange
from mcp_gen.session.http_server.sessions import SessionLimits
from mcp_gen.transports.http_server.app import MAX_BODY_BYTES, AsgiApp
from mcp_gen.transports.http_server.body import BODY_TIMEOUT_S
from mcp_gen.transports.http_server.connection_limits import ConnectionLimits
from mcp_gen.transports.http_server.legacy_sse import LegacySseEndpoint

if TYPE_CHECKING:
    from mcp_gen.core.stores.events import EventStore
    from mcp_gen.core.stores.sessions import SessionStore
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.server.serving.servable import Servable
    from mcp_gen.session.http_server.exchange import SessionServers
    from mcp_gen.transports.http_server.app import Scope

__all__ = ["HttpOptions", "asgi_app", "bound_sockets", "run_http", "serve_http", "url_at"]

Serve: TypeAlias = "Callable[[Duplex], Coroutine[Any, Any, None]]"

GRACE_S: float = 10
"""Seconds that requests may still take in a process that was told to stop."""

_log = logging.getLogger("mcp_gen.server")


class HttpOptions(Struct, frozen=True, kw_only=True):
    """Options of a server over HTTP; see `Server.asgi`."""

    stateless: bool = False
    json_only: bool = False
    legacy_sse_path: str | None = None
    event_store: EventStore | None = None
    session_store: SessionStore | None = None
    session_idle_s: float = 1800.0
    session_lifetime_s: float = 86_400.0
    max_sessions: int = 10_000
    max_body_bytes: int | None = None
    allowed_hosts: Collection[str] | None = None
    allowed_origins: Collection[str] | None = None
    cors: bool = False
    sse_after_s: float = 10.0
    keep_alive_s: float = 15.0
    body_timeout_s: float = BODY_TIMEOUT_S
    principal: Callable[[Scope], str | None] | None = None


def asgi_app(
    server: Servable,
    path: str,
    options: HttpOptions,
    *,
    serve: Serve | None = None,
    servers: SessionServers | None = None,
) -> AsgiApp:
    """Return the ASGI app of a server.

    Args:
        server: Server to serve.
        path: Path of the endpoint.
        options: Options of `Server.asgi`.
        serve: Serves the clients of the HTTP+SSE transport; the default is `server.serve`.
        servers: Makes a server for each session; None serves all sessions with `server`.
    """
    for one in (path, options.legacy_sse_path):
        if one is not None and not one.startswith("/"):
            raise UsageError(f"path {one!r}: expected it to begin with a slash")
    limits = SessionLimits(options.max_sessions, options.session_idle_s, options.session_lifetime_s)
    limit_bytes = options.max_body_bytes or server.max_message_bytes or MAX_BODY_BYTES
    legacy_sse: LegacySseEndpoint | None = None
    if options.legacy_sse_path is not None:
        if not server.kernel.handshakes:
            raise UsageError("legacy_sse_path: no revision that is offered has a handshake")
        legacy_sse = LegacySseEndpoint(
            options.legacy_sse_path,
            serve or server.serve,
            max_streams=limits.max_sessions,
            max_body_bytes=limit_bytes,
        )
    exchange = HttpExchange(
        server.kernel,
        stateless=options.stateless,
        event_store=options.event_store,
        session_store=options.session_store,
        limits=limits,
        header_params=HeaderParamLookup(server),
        servers=servers,
    )
    app = AsgiApp(
        exchange,
        path,
        json_only=options.json_only,
        max_body_bytes=limit_bytes,
        allowed_hosts=options.allowed_hosts,
        allowed_origins=options.allowed_origins,
        cors=options.cors,
        sse_after_s=options.sse_after_s,
        keep_alive_s=options.keep_alive_s,
        body_timeout_s=options.body_timeout_s,
        principal=options.principal,
        extra_app=legacy_sse,
        start=_startup_of(server, options),
        stop=_shutdown_of(server),
    )
    app.kernel = server.kernel
    return app


def _startup_of(server: Servable, options: HttpOptions) -> Callable[[], Awaitable[None]]:
    kernel, warned = server.kernel, False

    async def startup() -> None:
        nonlocal warned
        if not warned:
            warned = True
            without_store = not options.stateless and options.session_store is None
            warn_of_workers(
                sessions=bool(kernel.handshakes) and without_store,
                states=bool(kernel.per_request) and not server.has_state_keys,
            )
        await server.hold()

    return startup


def _shutdown_of(server: Servable) -> Callable[[], Awaitable[None]]:
    async def shutdown() -> None:
        await server.end_tasks()
        await server.release_hold()

    return shutdown


def url_at(host: str, port: int, path: str) -> str:
    """Return the URL of an app that is served on this machine."""
    return f"http://[{host}]:{port}{path}" if ":" in host else f"http://{host}:{port}{path}"


def _log_url(url: str) -> None:
    _log.info("listening at %s", url)


_MAX_PORT = 65_535


def bound_sockets(host: str, port: int) -> list[socket.socket]:
    """Return sockets at every address of a host, as asyncio binds them.

    Args:
        host: Address or name to listen on.
        port: Port to listen on; 0 takes a free one, the same at every address.

    Raises:
        UsageError: another program listens at the port, or the host is none of this machine.
    """
    if port.__class__ is not int or not 0 <= port <= _MAX_PORT:
        raise UsageError(f"port={port!r}: expected a number from 0 to {_MAX_PORT}, such as 8000")
    bound: list[socket.socket] = []
    try:
        for family, kind, proto, _, address in dict.fromkeys(
            socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        ):
            bound.append(one := socket.socket(family, kind, proto))
            if os.name == "posix":
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, True)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, True)
            taken = bound[0].getsockname()[1]
            one.bind((address[0], taken or port, *address[2:]))
            one.setblocking(False)
    except OSError as error:
        for one in bound:
            one.close()
        raise UsageError(_why_unbound(host, port, error)) from error
    return bound


def _why_unbound(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} of {host} is in use; end the program that listens there, or take another "
            "port: 0 takes any that is free"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"port {port} of {host}: {error.strerror}; take a port above 1023"
    why = error.strerror or str(error)
    return f"cannot listen at {host}: {why}; 127.0.0.1 is this machine alone, 0.0.0.0 every address"


def run_http(
    app: AsgiApp,
    host: str,
    port: int,
    *,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008  # it is frozen
    listening: Callable[[str], None] = _log_url,
) -> None:
    """Serve an app until the process is told to stop; requests in progress get a moment to finish.

    Args:
        app: App to serve.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        limits: Limits on the connections.
        listening: Called with the URL of the app as soon as clients can connect.

    Raises:
        LifespanError: the lifespan of the server did not start, or failed at its end.
        UsageError: the port is in use.
    """
    endpoint = _endpoint(app, host, port, limits, listening)
    # Around the event loop: asyncio would take SIGINT for itself.
    with suppress(KeyboardInterrupt), EndingSignals(endpoint.stop):
        endpoint.run()


async def serve_http(
    app: AsgiApp,
    host: str,
    port: int,
    *,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008  # it is frozen
    listening: Callable[[str], None] = _log_url,
) -> None:
    """Serve an app in this event loop until it is cancelled or the process is told to stop.

    Args:
        app: App to serve.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        limits: Limits on the connections.
        listening: Called with the URL of the app as soon as clients can connect.

    Raises:
        LifespanError: the lifespan of the server did not start, or failed at its end.
        UsageError: the port is in use.
    """
    endpoint = _endpoint(app, host, port, limits, listening)
    with EndingSignals(endpoint.stop):
        serving = asyncio.get_running_loop().create_task(endpoint.serve())
        try:
            # Shielded: requests in progress get a moment to finish when this is cancelled, too.
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            endpoint.stop()
            await serving
            raise


def _endpoint(
    app: AsgiApp,
    host: str,
    port: int,
    limits: ConnectionLimits,
    listening: Callable[[str], None],
) -> Any:
    # Loaded when serving over HTTP.
    import uvicorn

    # It imports uvicorn.
    from mcp_gen.transports.http_server.uvicorn_protocol import limited_protocol

    class Endpoint(uvicorn.Server):
        async def serve(self, sockets: Any = None) -> None:
            bound = bound_sockets(host, port)
            try:
                await app.start()
                try:
                    await super().serve(bound)
                finally:
                    await app.aclose()
            finally:
                for one in bound:
                    one.close()

        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            # Objects of the start-up live as long as the process: keep them out of collections.
            gc.freeze()
            listening(url_at(host, sockets[0].getsockname()[1], app.path))

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            # uvicorn's own takes a second SIGINT only, and raises what it has captured again.
            yield

        def stop(self) -> None:
            self.should_exit = True

        async def shutdown(self, sockets: Any = None) -> None:
            # uvicorn waits for all responses to end: end the open streams first.
            await app.drain()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        # Its errors are raised here, where uvicorn would log them and exit.
        lifespan="off",
        http=limited_protocol(limits),
        h11_max_incomplete_event_size=limits.max_header_bytes,
        # uvicorn's annotations say int, and it hands the numbers to asyncio as they are.
        timeout_keep_alive=cast("int", limits.idle_timeout_s),
        timeout_graceful_shutdown=cast("int", GRACE_S),
    )
    return Endpoint(config)
