"""A server for each connection: what one client does to it, no other sees."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from mcp_gen.core.errors import UsageError
from mcp_gen.server.serving.sockets import ServesSockets

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.serving.servable import Servable
    from mcp_gen.session.duplex.server import ServerConnection
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.transports.http_server.app import AsgiApp

__all__ = ["PerConnection"]

S = TypeVar("S", bound="Servable")


class PerConnection(ServesSockets, Generic[S]):
    """Serves each connection with a server of its own; see `Server.per_connection`."""

    def __init__(self, factory: Callable[[], S], kind: type[S]) -> None:
        self._factory = factory
        self._kind = kind

    def make(self) -> S:
        """A server for one more connection.

        Raises:
            UsageError: the factory gave something else.
        """
        made: Any = self._factory()
        if not isinstance(made, self._kind):
            raise UsageError(
                f"Server.per_connection: expected a Server, and the factory gave {made!r}"
            )
        server: S = made
        return server

    def run(
        self,
        transport: Literal["stdio", "http"] = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        **options: Any,
    ) -> None:
        """Serve until the client hangs up, or the process is told to stop; see `Server.run`."""
        if transport == "http":
            from mcp_gen.server.serving.http import run_http

            run_http(self.asgi(**options), host, port)
        else:
            self.make().run(transport)

    async def serve(self, transport: Duplex) -> None:
        """Serve one client over a transport, until it hangs up; see `Server.serve`."""
        server = self.make()
        try:
            await server.serve(transport)
        finally:
            await server.end_tasks()

    @asynccontextmanager
    async def connect(self, transport: Duplex) -> AsyncGenerator[ServerConnection[Context]]:
        """Serve one client over a transport while this lasts; see `Server.connect`."""
        server = self.make()
        try:
            async with server.connect(transport) as session:
                yield session
        finally:
            await server.end_tasks()

    def asgi(self, path: str = "/mcp", **options: Any) -> AsgiApp:
        """An ASGI app with a server for each session; `options` are those of `Server.asgi`.

        Requests of revisions without sessions share one server.
        """
        from mcp_gen.server.serving.http import HttpOptions, asgi_app

        return asgi_app(
            self.make(),
            path,
            HttpOptions(**options),
            serve=self.serve,
            servers=_SessionServers(self),
        )


class _SessionServers(Generic[S]):
    """The servers of the sessions that are open."""

    def __init__(self, servers: PerConnection[S]) -> None:
        self._servers = servers
        self._open: dict[int, S] = {}

    async def open(self) -> Kernel[Context]:
        """A server for one more session.

        Raises:
            LifespanError: its lifespan did not start.
        """
        server = self._servers.make()
        await server.keep()
        self._open[id(server.kernel)] = server
        return server.kernel

    async def aclose(self, kernel: Kernel[Any]) -> None:
        """The session of that server has ended, or has not begun."""
        server = self._open.pop(id(kernel), None)
        if server is not None:
            await server.aclose()
