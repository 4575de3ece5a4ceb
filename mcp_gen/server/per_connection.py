"""A server for each connection: what one client does to it, no other sees."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.revisions import listed, per_request
from mcp_gen.server.sockets import ServesSockets

if TYPE_CHECKING:
    from mcp_gen.core.transport import Duplex
    from mcp_gen.server.context import Context
    from mcp_gen.server.lifespan import AsgiLifespan
    from mcp_gen.server.server import Server
    from mcp_gen.session.peer import Session
    from mcp_gen.session.server import ServerSession
    from mcp_gen.transports.http import AsgiApp, Message, Receive, Scope, Send

__all__ = ["PerConnection", "PerConnectionApp"]

App: TypeAlias = "AsgiApp | AsgiLifespan"


class PerConnection(ServesSockets):
    """Serves each connection with a server of its own; see `Server.per_connection`."""

    def __init__(self, factory: Callable[[], Server]) -> None:
        self._factory = factory

    def make(self) -> Server:
        """A server for one more connection.

        Raises:
            UsageError: the factory gave something else.
        """
        from mcp_gen.server.server import Server

        made: Any = self._factory()
        if not isinstance(made, Server):
            raise UsageError(
                f"Server.per_connection: expected a Server, and the factory gave {made!r}"
            )
        return made

    def run(
        self,
        transport: Literal["stdio", "http"] = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
    ) -> None:
        """Serve until the client hangs up, or the process is told to stop; see `Server.run`."""
        if transport == "http":
            import uvicorn

            uvicorn.run(self.asgi(), host=host, port=port, log_level="warning")
        else:
            self.make().run(transport)

    async def serve(self, transport: Duplex) -> None:
        """Serve one client over a transport, until it hangs up; see `Server.serve`."""
        await self.make().serve(transport)

    @asynccontextmanager
    async def connect(self, transport: Duplex) -> AsyncGenerator[ServerSession[Context]]:
        """Serve one client over a transport while this lasts; see `Server.connect`."""
        async with self.make().connect(transport) as session:
            yield session

    def asgi(self, path: str = "/mcp") -> PerConnectionApp:
        """An ASGI app that answers POSTs at `path`, with a server for each session."""
        return PerConnectionApp(self, path)


class PerConnectionApp:
    """Hands each HTTP request to the app of its session's server.

    A request that names a session goes to that one; one that names a revision without sessions, or
    a session that is gone, to the one that is shared; any other may begin a session.
    """

    def __init__(self, servers: PerConnection, path: str) -> None:
        self._servers = servers
        self._path = path
        self._begun: dict[bytes, tuple[Server, App]] = {}
        self._common: tuple[Server, App] | None = None
        profiles = [mcp_wire.profile(revision) for revision in mcp_wire.REVISIONS]
        self._session_headers = _names(profile.session_header for profile in profiles)
        self._version_headers = _names(profile.version_header for profile in profiles)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI event."""
        if scope["type"] == "lifespan":
            await self._listen(receive, send)
            return
        headers: list[tuple[bytes, bytes]] = scope.get("headers", [])
        session = _value(headers, self._session_headers)
        revision = (_value(headers, self._version_headers) or b"").decode("latin-1")
        if session in self._begun:
            _, app = self._begun[session]
            await app(scope, receive, send)
        elif session is not None or listed(revision, per_request()) is not None:
            await self._shared(scope, receive, send)
        else:
            await self._begin(scope, receive, send)

    async def _shared(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._common is None:
            server = self._servers.make()
            self._common = server, server.asgi(self._path)
        _, app = self._common
        await app(scope, receive, send)

    async def _begin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a new server, which is kept if its answer names a session."""
        server = self._servers.make()
        app = server.asgi(self._path)
        begun: bytes | None = None

        async def watch(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = _value(message.get("headers", []), self._session_headers)
                if begun is not None:
                    self._begun[begun] = server, app
            await send(message)

        async def forget(session: Session) -> None:
            if begun is not None:
                self._begun.pop(begun, None)
            await server.aclose()

        server.hooks.session_closed(forget)
        try:
            await app(scope, receive, watch)
        finally:
            if begun is None:
                await server.aclose()

    async def _listen(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            kind = message["type"].removeprefix("lifespan.")
            if kind == "shutdown":
                await self._close()
            await send({"type": f"lifespan.{kind}.complete"})
            if kind == "shutdown":
                return

    async def _close(self) -> None:
        common = [self._common] if self._common else []
        for server, _ in [*self._begun.values(), *common]:
            await server.aclose()


def _names(headers: Iterable[str | None]) -> frozenset[bytes]:
    return frozenset(header.lower().encode() for header in headers if header)


def _value(headers: list[tuple[bytes, bytes]], names: frozenset[bytes]) -> bytes | None:
    return next((value for name, value in headers if name.lower() in names), None)
