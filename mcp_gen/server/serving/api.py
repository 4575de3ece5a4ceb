"""Methods of `Server` that serve it: over stdio, HTTP, sockets and any transport."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from mcp_gen.core.mistakes.checks import check_options, checks_options
from mcp_gen.server.context.context import Context

if TYPE_CHECKING:
    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.core.stores.events import EventStore
    from mcp_gen.core.stores.sessions import SessionStore
    from mcp_gen.core.transport.authorizing import RequestGate
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.server.serving.parts import ServerParts
    from mcp_gen.server.serving.process import Serving, ServingOptions
    from mcp_gen.session.duplex.server import ServerConnection
    from mcp_gen.session.peer.session import Session
    from mcp_gen.transports.http_server.app import AsgiApp, Scope
    from mcp_gen.transports.http_server.connection_limits import ConnectionLimits

__all__ = ["ServingApi"]


class ServingApi:
    """Methods that serve a server."""

    runtime: ServerParts

    def run(
        self,
        transport: Literal["stdio", "http"] = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        connection_limits: ConnectionLimits | None = None,
        announce: bool = True,
        drain_s: float = 10.0,
        drain_delay_s: float = 0.0,
        freeze_gc: bool = True,
        **options: Any,
    ) -> None:
        """Serve in this process until the client disconnects or the process is told to stop.

        SIGINT (Ctrl-C), SIGTERM and SIGHUP end the process in good order: requests in progress
        get 5 seconds to finish over stdio, `drain_s` over HTTP, those left are answered with an
        error and cancelled, and the exit code is 0. A second signal ends the process at once, with
        the exit status of that signal.

        Args:
            transport: `"stdio"` for one client on stdin and stdout, `"http"` for Streamable HTTP.
            host: Address to listen on, for HTTP.
            port: Port to listen on, for HTTP. Port 0 takes a free one, which the start line and
                the logger `mcp_gen.server`, at level INFO, report.
            connection_limits: Limits on the bytes and the time of request headers and on open
                connections, for HTTP; None for the defaults.
            announce: True prints one line on stderr: name, address and protocol versions
                (revisions); over stdio only if stdin is a terminal.
            drain_s: Seconds that requests may still take after the signal, for HTTP. As long as one
                runs, new ones are answered, too: a call may wait for an answer of its client.
                Sessions and streams that would begin are refused (503).
            drain_delay_s: Seconds for which new requests are answered in any case, for HTTP: as
                long as a balancer needs to notice that the server is not ready.
            freeze_gc: True keeps the objects that the start has made out of garbage collections
                (`gc.freeze`), which makes pauses short; False leaves the collector as it is.
            options: Options of `asgi`, for HTTP: `path` and so on.

        Raises:
            LifespanError: the lifespan of the server did not start, or failed at its end.
            UsageError: an unknown transport, a port that is in use, or an event loop that runs in
                this thread: there, use `run_async`.
        """
        # Loaded when serving.
        from mcp_gen.server.serving.process import ServingOptions

        how = ServingOptions(
            transport, host, port, connection_limits, announce, drain_s, drain_delay_s, freeze_gc
        )
        self._serving(how, options).run()

    async def run_async(
        self,
        transport: Literal["stdio", "http"] = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        connection_limits: ConnectionLimits | None = None,
        announce: bool = True,
        drain_s: float = 10.0,
        drain_delay_s: float = 0.0,
        freeze_gc: bool = False,
        **options: Any,
    ) -> None:
        """Serve in the running event loop, as `run` does in one of its own.

        It ends when the client disconnects, when the process is told to stop, or when it is
        cancelled; requests in progress get the same time to finish. Signals are handled in the
        main thread alone.

        Args:
            transport: `"stdio"` for one client on stdin and stdout, `"http"` for Streamable HTTP.
            host: Address to listen on, for HTTP.
            port: Port to listen on, for HTTP; 0 takes a free one.
            connection_limits: Limits on the bytes and the time of request headers and on open
                connections, for HTTP; None for the defaults.
            announce: True prints the start line; see `run`.
            drain_s: Seconds that requests may still take at the end, for HTTP; see `run`.
            drain_delay_s: Seconds for which new requests are answered at the end, for HTTP; see
                `run`.
            freeze_gc: True does what it does in `run`, for the whole process.
            options: Options of `asgi`, for HTTP: `path` and so on.

        Raises:
            LifespanError: the lifespan of the server did not start, or failed at its end.
            UsageError: an unknown transport, or a port that is in use.
        """
        # Loaded when serving.
        from mcp_gen.server.serving.process import ServingOptions

        how = ServingOptions(
            transport, host, port, connection_limits, announce, drain_s, drain_delay_s, freeze_gc
        )
        await self._serving(how, options).run_async()

    def _serving(self, how: ServingOptions, options: dict[str, Any]) -> Serving:
        # Loaded when serving.
        from mcp_gen.core.code_loading import stop_import
        from mcp_gen.server.serving.process import Serving

        stop_import(self)
        if options and how.transport == "stdio":
            check_options("server.run over stdio", "server.run", options, ())
        make_app = partial(self.asgi, **options)
        runner = self.runtime.runner
        return Serving(how, lambda: runner, make_app)

    async def serve(self, transport: Duplex) -> None:
        """Serve one client over a transport until it disconnects.

        Tasks of the client go on after it; call `aclose` at the end.

        Args:
            transport: A transport of both directions, such as one end of a memory pair.

        Raises:
            LifespanError: the lifespan of the server did not start, or failed at its end.
            TransportError: the transport could not be started.
        """
        await self.runtime.runner.serve(transport)

    def connect(self, transport: Duplex) -> AbstractAsyncContextManager[ServerConnection[Context]]:
        """Serve one client while the context manager is open.

        The value is the connection. It knows nothing of the client before the handshake;
        `server.hooks.session_opened` is called after it. `await connection.wait_ended()` waits
        until the client disconnects. Tasks of the client go on after it; call `aclose` at the end.

        Args:
            transport: A transport of both directions, such as one end of a memory pair.

        Raises:
            LifespanError: the lifespan of the server did not start, or failed at its end.
            TransportError: the transport could not be started.
        """
        return self.runtime.runner.connect(transport)

    def serve_unix(
        self, path: str | os.PathLike[str]
    ) -> AbstractAsyncContextManager[asyncio.Server]:
        """Serve the clients that connect to a Unix socket, while the context manager is open.

        Messages are lines. Only the user of this process may connect. At the end no new client is
        accepted, requests in progress get a moment to finish, and the socket is removed.

        Args:
            path: Path of the socket. A socket that nobody listens on any more is replaced.

        Raises:
            UsageError: another process listens there, or the path is not a socket.
            LifespanError: the lifespan of the server did not start.
        """
        return self.runtime.runner.sockets.serve_unix(path)

    def serve_tcp(
        self, host: str = "127.0.0.1", port: int = 0
    ) -> AbstractAsyncContextManager[asyncio.Server]:
        """Serve the clients that connect to a TCP port, while the context manager is open.

        Messages are lines. There is no encryption and no authentication: every user of this
        machine can connect, and beyond loopback every machine that reaches the port.

        Args:
            host: Address to listen on.
            port: Port to listen on. Port 0 takes a free one:
                `listener.sockets[0].getsockname()` tells which.

        Raises:
            OSError: the port is taken, or the address is not one of this machine.
            LifespanError: the lifespan of the server did not start.
        """
        return self.runtime.runner.sockets.serve_tcp(host, port)

    @checks_options("server.asgi")
    def asgi(
        self,
        path: str = "/mcp",
        *,
        stateless: bool = False,
        json_only: bool = False,
        legacy_sse_path: str | None = None,
        event_store: EventStore | None = None,
        session_store: SessionStore | None = None,
        session_idle_s: float = 1800.0,
        session_lifetime_s: float = 86_400.0,
        max_sessions: int = 10_000,
        max_body_bytes: int | None = None,
        allowed_hosts: Collection[str] | None = None,
        allowed_origins: Collection[str] | None = None,
        cors: bool = False,
        sse_after_s: float = 10.0,
        keep_alive_s: float = 15.0,
        body_timeout_s: float = 60.0,
        principal: Callable[[Scope], str | None] | None = None,
        auth: RequestGate | None = None,
        cluster: Cluster | None = None,
        health: bool = False,
        freeze_gc: bool = False,
    ) -> AsgiApp:
        """Return an ASGI app that serves Streamable HTTP at every protocol revision.

        Mount it anywhere; it starts by itself. The lifespan events of ASGI tell it to shut down.
        A mounted app that receives none needs `await server.aclose()` at the end.

        The response is JSON. It becomes an SSE stream when a notification or request is sent
        before the result, or after `sse_after_s`.

        Host and Origin are validated (DNS-rebinding protection). A request over loopback must name
        a loopback host or an allowed one, and an Origin on a loopback host or an allowed one.
        A request from elsewhere must name an allowed host if there are any, and may have no Origin
        but an allowed one.

        Args:
            path: Path of the endpoint.
            stateless: Serve revisions with a handshake without sessions, so that any process can
                answer any request. Input requests, and notifications outside of a request, are
                then not possible at these revisions.
            json_only: Answer each request with JSON, never with SSE. Notifications of a request
                are dropped. Requests to the client are sent only on the SSE stream that the client
                opens itself.
            legacy_sse_path: Path of the event stream of the HTTP+SSE transport of 2024-11-05; None
                does not serve that transport.
            event_store: Store of SSE events, for clients that reconnect; the default keeps some
                megabytes in memory.
            session_store: Store of sessions, for other processes that go on with them; by default
                sessions end with this process.
            session_idle_s: Seconds after which a session without requests and open streams ends.
            session_lifetime_s: Seconds after which every session ends.
            max_sessions: Most open sessions. A new session replaces one that has been idle for a
                minute, or is refused with status 503.
            max_body_bytes: Longest message; a longer one is refused with status 413. The default
                is the `max_message_bytes` of the server, or 16 MiB.
            allowed_hosts: Values of `Host` to accept, without wildcards. Behind a proxy on the
                same machine, list the name of the proxy.
            allowed_origins: Values of `Origin` to accept, without wildcards.
            cors: Send CORS headers that let pages of the allowed origins read responses.
            sse_after_s: Seconds until a response that is not ready becomes an SSE stream.
            keep_alive_s: Seconds of silence on an SSE stream between heartbeats.
            body_timeout_s: Seconds that a client has to send a message after its headers; a later
                one is refused with status 408.
            principal: Function that returns the principal of a request from its ASGI scope. The
                default reads `scope["mcp_gen.principal"]`, which an authenticating ASGI middleware
                can set. A session belongs to the principal that opened it.
            auth: Verifies the access token of each request before its body is read:
                `ResourceServer(issuer=..., audience=...)` of `mcp_gen.auth`. It answers requests
                without a valid token with 401, names the principal, and serves the metadata that
                clients look for; `well_known` of the app serves it at the root of a site that the
                app is mounted in. `scopes=` of tools, resources and prompts need it. A session
                whose first token was bound to a key (DPoP) belongs to that key, too. A stream ends
                when the token of its request does: the client opens it again with a new one.
            cluster: Shares sessions, streams and changes with other processes, so that any of them
                can answer any request: an object of `mcp_gen.cluster`, of its own for each app. It
                replaces `event_store` and `session_store`. Values of `session.state` are then
                JSON, and `max_sessions` counts the sessions of all processes.
            health: True answers `GET /healthz` (200 while the process answers) and `GET /readyz`
                (503 before the server has started and from the moment it is about to end) beside
                the endpoint, below the path that the app is mounted at. No token and no `Host` is
                checked there; the answer names one state.
            freeze_gc: True keeps the objects of the whole process out of garbage collections once
                the server has started (`gc.freeze`), as `run` does; False leaves the collector to
                the program.

        Returns:
            The ASGI app, with `path`, `well_known` and `aclose`. It does not start while items have
            `scopes=` and there is no `auth`.

        Raises:
            UsageError: a limit that is not above 0, a wildcard, a path without a slash, a
                `legacy_sse_path` without a revision that has a handshake, `principal` together
                with `auth`, or `cluster` together with a store.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
        """
        return self.runtime.runner.asgi(
            path,
            stateless=stateless,
            json_only=json_only,
            legacy_sse_path=legacy_sse_path,
            event_store=event_store,
            session_store=session_store,
            session_idle_s=session_idle_s,
            session_lifetime_s=session_lifetime_s,
            max_sessions=max_sessions,
            max_body_bytes=max_body_bytes,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            cors=cors,
            sse_after_s=sse_after_s,
            keep_alive_s=keep_alive_s,
            body_timeout_s=body_timeout_s,
            principal=principal,
            auth=auth,
            cluster=cluster,
            health=health,
            freeze_gc=freeze_gc,
        )

    def sessions(self) -> list[Session]:
        """Return the open sessions."""
        return self.runtime.runner.sessions()

    def end_sessions(self) -> bool:
        """End the open sessions; requests in progress get a moment to finish.

        Returns:
            False if there was nothing to end.
        """
        return self.runtime.runner.end_sessions()

    async def aclose(self) -> None:
        """End every session and task, and leave the lifespan.

        Requests in progress get a moment to finish. `run` and ASGI apps that receive lifespan
        events do this themselves. Call it after `serve` and `connect`, and for an ASGI app that is
        mounted where no lifespan events arrive.
        """
        await self.runtime.runner.aclose()

    def _served(self) -> AbstractAsyncContextManager[None]:
        """Hold the lifespan and the mounts while the context manager is open."""
        return self.runtime.runner.served()
