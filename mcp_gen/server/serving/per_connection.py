"""Serves each connection with a server of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from mcp_gen.core.errors import UsageError
from mcp_gen.server.serving.sockets import SocketServer
from mcp_gen.session.messages.middleware import validate_middleware

if TYPE_CHECKING:
    import asyncio
    import os
    from contextlib import AbstractAsyncContextManager

    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.serving.process import Serving, ServingOptions
    from mcp_gen.server.serving.servable import Servable
    from mcp_gen.session.duplex.server import ServerConnection
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.messages.middleware import Middleware
    from mcp_gen.transports.http_server.app import AsgiApp
    from mcp_gen.transports.http_server.connection_limits import ConnectionLimits

__all__ = ["PerConnection"]

S = TypeVar("S")


class PerConnection(Generic[S]):
    """Serves each connection with a server of its own; see `Server.per_connection`.

    Args:
        factory: Makes the server of a new connection.
        kind: Class that the factory must return.
        runner_of: Returns the runner of a server.
    """

    def __init__(
        self, factory: Callable[[], S], kind: type[S], runner_of: Callable[[S], Servable]
    ) -> None:
        self._factory = factory
        self._kind = kind
        self._runner_of = runner_of
        self._middleware: list[Middleware] = []
        self._sockets = SocketServer(self.connect)

    def make(self) -> S:
        """Return the server of a new connection.

        Raises:
            UsageError: the factory returned another object.
        """
        made: Any = self._factory()
        if not isinstance(made, self._kind):
            raise UsageError(
                f"Server.per_connection: expected a Server, and the factory gave {made!r}"
            )
        server: S = made
        self._prepare(server)
        return server

    def _prepare(self, server: Any) -> None:
        for one in self._middleware:
            server.add_middleware(one)

    def add_middleware(self, middleware: Middleware) -> None:
        """Add a middleware around every message from clients, to every server made from now on.

        Args:
            middleware: See `Server.middleware`.

        Raises:
            UsageError: the function is not async, or takes other arguments.
        """
        self._middleware.append(validate_middleware(middleware))

    def make_runner(self) -> Servable:
        """Return the runner of the server of a new connection.

        Raises:
            UsageError: the factory returned another object.
        """
        return self._runner_of(self.make())

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
        """Serve in this process until the client disconnects; see `Server.run`.

        Args:
            transport: `"stdio"` or `"http"`.
            host: Address to listen on, for HTTP.
            port: Port to listen on, for HTTP.
            connection_limits: Limits on headers and connections, for HTTP; None for the defaults.
            announce: True prints the start line.
            drain_s: Seconds that requests may still take after a signal, for HTTP.
            drain_delay_s: Seconds for which requests are answered in any case, for HTTP.
            freeze_gc: True keeps objects of the start out of garbage collections.
            options: Options of `asgi`, for HTTP.
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
        """Serve in the running event loop; see `Server.run_async`.

        Args:
            transport: `"stdio"` or `"http"`.
            host: Address to listen on, for HTTP.
            port: Port to listen on, for HTTP.
            connection_limits: Limits on headers and connections, for HTTP; None for the defaults.
            announce: True prints the start line.
            drain_s: Seconds that requests may still take after a signal, for HTTP.
            drain_delay_s: Seconds for which requests are answered in any case, for HTTP.
            freeze_gc: True keeps objects of the start out of garbage collections.
            options: Options of `asgi`, for HTTP.
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
        make_app = partial(self.asgi, **options)
        return Serving(how, self.make_runner, make_app)

    async def serve(self, transport: Duplex) -> None:
        """Serve one client over a transport until it disconnects; see `Server.serve`."""
        server = self.make_runner()
        try:
            await server.serve(transport)
        finally:
            await server.end_tasks()

    @asynccontextmanager
    async def connect(self, transport: Duplex) -> AsyncGenerator[ServerConnection[Context]]:
        """Serve one client while the context manager is open; see `Server.connect`."""
        server = self.make_runner()
        try:
            async with server.connect(transport) as session:
                yield session
        finally:
            await server.end_tasks()

    def serve_unix(
        self, path: str | os.PathLike[str]
    ) -> AbstractAsyncContextManager[asyncio.Server]:
        """Serve the clients that connect to a Unix socket; see `Server.serve_unix`."""
        return self._sockets.serve_unix(path)

    def serve_tcp(
        self, host: str = "127.0.0.1", port: int = 0
    ) -> AbstractAsyncContextManager[asyncio.Server]:
        """Serve the clients that connect to a TCP port; see `Server.serve_tcp`."""
        return self._sockets.serve_tcp(host, port)

    def asgi(self, path: str = "/mcp", **options: Any) -> AsgiApp:
        """Return an ASGI app with one server per session.

        Requests of revisions without sessions share one server.

        Args:
            path: Path of the endpoint.
            options: Options of `Server.asgi`.
        """
        # Loaded when serving over HTTP.
        from mcp_gen.server.serving.http import HttpOptions, asgi_app

        return asgi_app(
            self.make_runner(),
            path,
            HttpOptions(**options),
            serve=self.serve,
            servers=_SessionServers(self),
        )


class _SessionServers:
    """Servers of the open HTTP sessions."""

    def __init__(self, servers: PerConnection[Any]) -> None:
        self._servers = servers
        self._open: dict[int, Servable] = {}

    async def open(self) -> Kernel[Context]:
        """Return the kernel of a server for a new session.

        Raises:
            LifespanError: the lifespan of the server did not start.
        """
        server = self._servers.make_runner()
        await server.hold()
        self._open[id(server.kernel)] = server
        return server.kernel

    async def aclose(self, kernel: Kernel[Any]) -> None:
        """Close the server of a session that has ended or could not start."""
        server = self._open.pop(id(kernel), None)
        if server is not None:
            await server.aclose()
