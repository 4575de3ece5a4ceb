"""Builds the ASGI app of a server, and runs it in a uvicorn process."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import Struct

from mcp_gen.core.errors import UsageError
from mcp_gen.server.serving.header_params import HeaderParamLookup
from mcp_gen.server.serving.option_checks import check_auth, check_cluster, check_scoped
from mcp_gen.server.serving.signals import EndingSignals
from mcp_gen.server.serving.workers import warn_of_workers
from mcp_gen.session.http_server.exchange import HttpExchange
from mcp_gen.session.http_server.sessions import SessionLimits
from mcp_gen.transports.health import HEALTH_PATHS, HealthChecks
from mcp_gen.transports.http_server.app import MAX_BODY_BYTES, AsgiApp
from mcp_gen.transports.http_server.body import BODY_TIMEOUT_S
from mcp_gen.transports.http_server.connection_limits import ConnectionLimits
from mcp_gen.transports.http_server.legacy_sse import LegacySseEndpoint

if TYPE_CHECKING:
    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.core.stores.events import EventStore
    from mcp_gen.core.stores.sessions import SessionStore
    from mcp_gen.core.transport.authorizing import RequestGate
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.server.serving.servable import Servable
    from mcp_gen.server.sharing.shared import SharedServer
    from mcp_gen.session.http_server.exchange import SessionServers
    from mcp_gen.transports.http_server.app import Scope

__all__ = [
    "Draining",
    "HttpOptions",
    "asgi_app",
    "bound_sockets",
    "run_http",
    "serve_http",
    "url_at",
]

Serve: TypeAlias = "Callable[[Duplex], Coroutine[Any, Any, None]]"

DRAIN_S: float = 10
"""Seconds that requests may still take in a process that was told to stop."""
CLOSE_S: float = 1
"""Seconds for connections to close, once all requests have been answered."""

_log = logging.getLogger("mcp_gen.server")


class Draining(Struct, frozen=True):
    """End of a process that was told to stop; see `Server.run`.

    Args:
        limit_s: Seconds that requests may still take, from the signal on.
        delay_s: Seconds for which requests are answered in any case, as balancers go on sending
            some until they have noticed that the server is not ready.

    Raises:
        UsageError: one of them is below 0.
    """

    limit_s: float = DRAIN_S
    delay_s: float = 0

    def __post_init__(self) -> None:
        for option, value in (("drain_s", self.limit_s), ("drain_delay_s", self.delay_s)):
            if not value >= 0:
                raise UsageError(f"{option}={value}: expected a number of seconds, such as 10")


DRAINING = Draining()


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
    auth: RequestGate | None = None
    cluster: Cluster | None = None
    health: bool = False
    freeze_gc: bool = False


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
        if options.health and one in HEALTH_PATHS:
            raise UsageError(f"path {one!r}: health=True answers there: choose another path")
    if options.auth is not None:
        check_auth(options.auth, has_principal=options.principal is not None)
    limits = SessionLimits(options.max_sessions, options.session_idle_s, options.session_lifetime_s)
    limit_bytes = options.max_body_bytes or server.max_message_bytes or MAX_BODY_BYTES
    shared: SharedServer | None = None
    if options.cluster is not None:
        # Loaded with a cluster.
        from mcp_gen.server.sharing.shared import SharedServer

        check_cluster(options, has_servers=servers is not None)
        shared = SharedServer(server, options.cluster, limits)
    legacy_sse: LegacySseEndpoint | None = None
    if options.legacy_sse_path is not None:
        if not server.kernel.handshakes:
            raise UsageError("legacy_sse_path: no revision that is offered has a handshake")
        legacy_sse = LegacySseEndpoint(
            options.legacy_sse_path,
            serve or server.serve,
            max_streams=limits.max_sessions,
            max_body_bytes=limit_bytes,
            relay=None if shared is None else shared.posts,
        )
        if shared is not None:
            shared.posts.endpoint = legacy_sse
    exchange = (
        HttpExchange(
            server.kernel,
            stateless=options.stateless,
            event_store=options.event_store,
            session_store=options.session_store,
            limits=limits,
            header_params=HeaderParamLookup(server),
            servers=servers,
        )
        if shared is None or options.stateless
        else shared.exchange(HeaderParamLookup(server))
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
        gate=options.auth,
        extra_app=legacy_sse,
        health=_health_of(options),
        start=_startup_of(server, options, shared),
        stop=_shutdown_of(server, shared),
    )
    app.kernel = server.kernel
    return app


def _health_of(options: HttpOptions) -> HealthChecks | None:
    if not options.health:
        return None
    cluster = options.cluster
    return HealthChecks() if cluster is None else HealthChecks(lambda: cluster.is_up)


def _startup_of(
    server: Servable, options: HttpOptions, shared: SharedServer | None
) -> Callable[[], Awaitable[None]]:
    kernel, warned, frozen = server.kernel, False, False

    async def startup() -> None:
        nonlocal frozen, warned
        if not warned:
            if options.auth is None:
                # Items that come later are refused when they are called.
                check_scoped(server.scoped_items())
            warned = True
            without_store = not options.stateless and options.session_store is None
            without_store = without_store and shared is None
            warn_of_workers(
                sessions=bool(kernel.handshakes) and without_store,
                states=bool(kernel.per_request) and not server.has_state_keys and shared is None,
            )
        if shared is not None:
            await shared.start()
        await server.hold()
        if options.freeze_gc and not frozen:
            frozen = True
            gc.freeze()

    return startup


def _shutdown_of(server: Servable, shared: SharedServer | None) -> Callable[[], Awaitable[None]]:
    async def shutdown() -> None:
        await server.end_tasks()
        if shared is not None:
            await shared.aclose()
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
    limits: ConnectionLimits = ConnectionLimits(),
    draining: Draining = DRAINING,
    listening: Callable[[str], None] = _log_url,
    bound: Sequence[socket.socket] = (),
    freeze_gc: bool = True,
) -> None:
    """Serve an app until the process is told to stop; requests in progress get a moment to finish.

    Args:
        app: App to serve.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        limits: Limits on the connections.
        draining: How the process ends.
        listening: Called with the URL of the app as soon as clients can connect.
        bound: Sockets that are bound already; host and port are those of the first.
        freeze_gc: True keeps the objects of the start out of garbage collections.

    Raises:
        LifespanError: the lifespan of the server did not start, or failed at its end.
        UsageError: the port is in use.
    """
    endpoint = _endpoint(app, host, port, limits, draining, listening, bound, freeze_gc)
    # Around the event loop: asyncio would take SIGINT for itself.
    with suppress(KeyboardInterrupt), EndingSignals(endpoint.stop):
        endpoint.run()


async def serve_http(
    app: AsgiApp,
    host: str,
    port: int,
    *,
    limits: ConnectionLimits = ConnectionLimits(),
    draining: Draining = DRAINING,
    listening: Callable[[str], None] = _log_url,
    bound: Sequence[socket.socket] = (),
    freeze_gc: bool = False,
) -> None:
    """Serve an app in this event loop until it is cancelled or the process is told to stop.

    Args:
        app: App to serve.
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        limits: Limits on the connections.
        draining: How the process ends.
        listening: Called with the URL of the app as soon as clients can connect.
        bound: Sockets that are bound already; host and port are those of the first.
        freeze_gc: True keeps the objects of the start out of garbage collections.

    Raises:
        LifespanError: the lifespan of the server did not start, or failed at its end.
        UsageError: the port is in use.
    """
    endpoint = _endpoint(app, host, port, limits, draining, listening, bound, freeze_gc)
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
    draining: Draining,
    listening: Callable[[str], None],
    given: Sequence[socket.socket],
    freeze_gc: bool,
) -> Any:
    # Loaded when serving over HTTP.
    import uvicorn
    from uvicorn.config import LOGGING_CONFIG

    # It imports uvicorn.
    from mcp_gen.transports.http_server.uvicorn_protocol import limited_protocol

    class Endpoint(uvicorn.Server):
        async def serve(self, sockets: Any = None) -> None:
            bound = list(given) or bound_sockets(host, port)
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
            if freeze_gc:
                gc.freeze()
            listening(url_at(host, sockets[0].getsockname()[1], app.path))

        @contextmanager
        def capture_signals(self) -> Generator[None]:
            # uvicorn's own takes a second SIGINT only, and raises what it has captured again.
            yield

        def stop(self) -> None:
            self.should_exit = True

        async def shutdown(self, sockets: Any = None) -> None:
            now_s = asyncio.get_running_loop().time
            begun_s = now_s()
            # uvicorn waits for all responses to end: end the open streams first.
            await app.drain()
            # A call may wait for an answer of its client, which comes with a request of its own.
            await self._answered(begun_s + draining.delay_s, begun_s + draining.limit_s)
            left_s = begun_s + draining.limit_s - now_s()
            at_least_s = 0 if self.server_state.tasks else CLOSE_S
            self.config.timeout_graceful_shutdown = cast("int", max(left_s, at_least_s))
            await super().shutdown(sockets)

        async def _answered(self, earliest_s: float, latest_s: float) -> None:
            """Wait until no request is open, between two times of the event loop."""
            loop = asyncio.get_running_loop()
            if earliest_s > loop.time():
                await asyncio.sleep(earliest_s - loop.time())
            while (tasks := set(self.server_state.tasks)) and latest_s > loop.time():
                await asyncio.wait(tasks, timeout=latest_s - loop.time())

    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        # A program that has set up its own log gets these lines, too.
        log_config=None if logging.getLogger().handlers else LOGGING_CONFIG,
        access_log=False,
        # Its errors are raised here, where uvicorn would log them and exit.
        lifespan="off",
        http=limited_protocol(limits),
        h11_max_incomplete_event_size=limits.max_header_bytes,
        # uvicorn's annotations say int, and it hands the numbers to asyncio as they are.
        timeout_keep_alive=cast("int", limits.idle_timeout_s),
    )
    return Endpoint(config)
