"""A server at work, over whatever transport, from its first client to its last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

from mcp_gen.core.errors import UsageError
from mcp_gen.server.serving.sockets import ServesSockets
from mcp_gen.session.duplex.server import ServerConnection

if TYPE_CHECKING:
    from mcp_gen.core.stores.events import EventStore
    from mcp_gen.core.stores.sessions import SessionStore
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.server.apps.apps import Apps
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.mounts import Mounts
    from mcp_gen.server.serving.lifespan import Lifespan
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.peer.session import Session
    from mcp_gen.transports.http_server.app import AsgiApp, Scope

__all__ = ["Serves"]


class Serves(ServesSockets):
    """The part of a server that serves."""

    kernel: Kernel[Context]
    max_message_bytes: int | None
    lifespan: Lifespan[Any] | None
    tools: ToolRegistry
    mounts: Mounts
    _needs: int
    """How many need what the server sets up."""
    _is_kept: bool
    tasks: TaskManager | None
    apps: Apps | None
    _served: dict[ServerConnection[Context], asyncio.Event]
    """The connections that are being served, and what is set when each has ended."""
    _apps: list[AsgiApp]
    """What serves it over HTTP."""

    def sessions(self) -> list[Session]:
        """The sessions that are open."""
        return list(self.kernel.sessions)

    def end_sessions(self) -> bool:
        """End whatever is open; what is in flight gets a moment. False if nothing was."""
        open_now = {*self._served, *self.kernel.sessions}
        for session in open_now:
            session.end()
        return bool(open_now)

    def run(
        self,
        transport: Literal["stdio", "http"] = "stdio",
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        **options: Any,
    ) -> None:
        """Serve until the client hangs up, or the process is told to stop.

        SIGTERM ends it in good order: what is in flight gets a moment, and the exit code is 0.
        For HTTP, `options` are those of `asgi`: `path` and so on. Port 0 takes one that is free;
        which one, the logger `mcp_gen.server` says at INFO.

        Raises:
            LifespanError: the server's lifespan did not start, or failed at its end.
        """
        if transport == "stdio":
            from mcp_gen.server.serving.stdio import run_stdio

            run_stdio(self)
        elif transport == "http":
            from mcp_gen.server.serving.http import run_http

            run_http(self.asgi(**options), host, port)
        else:
            raise UsageError(f"transport {transport!r}: expected 'stdio' or 'http'")

    async def serve(self, transport: Duplex) -> None:
        """Serve one client over a transport, until it hangs up.

        Raises:
            LifespanError: the server's lifespan did not start, or failed at its end.
            TransportError: the transport cannot be started.
        """
        async with self._session(transport) as session:
            await session.finish()

    @asynccontextmanager
    async def connect(self, transport: Duplex) -> AsyncGenerator[ServerConnection[Context]]:
        """Serve one client over a transport while this lasts, and do something else meanwhile.

        What it gives is the client's session, which knows nothing of the client before the
        handshake: `server.hooks.session_opened` tells of that. `await session.wait_ended()` waits
        for the client to hang up. Raises what `serve` raises.
        """
        async with self._session(transport) as session:
            finishing = asyncio.get_running_loop().create_task(session.finish())
            try:
                yield session
            finally:
                session.end()
                await finishing

    @asynccontextmanager
    async def _session(self, transport: Duplex) -> AsyncGenerator[ServerConnection[Context]]:
        """A session that has begun, to be finished inside; the lifespan is entered around it."""
        try:
            await self.need()
        except BaseException:
            # A client that cannot be served is not kept waiting.
            await transport.aclose()
            raise
        session = ServerConnection(self.kernel, transport)
        ended = self._served[session] = asyncio.Event()
        try:
            await session.start()
            yield session
        finally:
            del self._served[session]
            ended.set()
            await self.need_no_longer()

    def check(self) -> None:
        """See whether all is there that what is offered refers to.

        Raises:
            UsageError: something is not.
        """
        if self.apps is not None:
            self.apps.check()

    async def need(self) -> None:
        """Need what the server sets up; to be followed by `need_no_longer`, unless this raises.

        Raises:
            LifespanError: it could not be entered.
        """
        self.check()
        if self.lifespan is not None:
            await self.lifespan.acquire()
        self._needs += 1
        try:
            await self._enter_mounts()
        except BaseException:
            await self.need_no_longer()
            raise

    async def need_no_longer(self) -> None:
        """The end of `need`: what nobody needs is left."""
        self._needs -= 1
        try:
            if not self._needs:
                for mount in reversed(self.mounts):
                    await mount.leave()
        finally:
            if self.lifespan is not None:
                await self.lifespan.release()

    async def _enter_mounts(self) -> None:
        for mount in self.mounts:
            await mount.enter()

    async def keep(self) -> None:
        """Need what the server sets up until `let_go`, however often this is called.

        Raises:
            LifespanError: it could not be entered.
        """
        self.check()
        if self.lifespan is not None:
            await self.lifespan.hold()
        if not self._is_kept:
            self._is_kept = True
            self._needs += 1
        await self._enter_mounts()

    async def let_go(self) -> None:
        """The end of `keep`."""
        try:
            if self._is_kept:
                self._is_kept = False
                self._needs -= 1
                if not self._needs:
                    for mount in reversed(self.mounts):
                        await mount.leave()
        finally:
            if self.lifespan is not None:
                await self.lifespan.release_hold()

    @asynccontextmanager
    async def _listening(self) -> AsyncGenerator[None]:
        await self.need()
        try:
            yield
        finally:
            await self.need_no_longer()

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
    ) -> AsgiApp:
        """An ASGI app that serves every revision at `path`. Mount it anywhere; it starts itself.

        Its end is told by the lifespan events of ASGI; where a mounted app gets none, call
        `aclose`.

        A request is answered with JSON, unless something is sent before its answer, or it takes
        longer than `sse_after_s`: then with a stream of events, which `keep_alive_s` of silence
        makes send a sign of life. With `json_only` it is JSON always: notifications of a request
        are left out, and clients can only be asked on the stream that they open themselves.

        Revisions with a handshake have sessions. One ends after `session_idle_s` without a word
        from its client or anything open, and after `session_lifetime_s` in any case; if there are
        `max_sessions`, one that has been silent for a minute makes room, or else the next is told
        to come back later (503). `event_store` keeps what clients that lost their connection come
        back for; by default some megabytes of memory do. `session_store` keeps sessions for another
        process that is to go on with them; by default they end with this one. With `stateless`
        these revisions are served without sessions, so that any process can answer any request:
        clients can then be asked nothing, and told nothing but what belongs to a request.

        A message may have at most `max_body_bytes` (413), and must have come `body_timeout_s` after
        its headers, or soon after that (408).

        At `legacy_sse_path`, if it is given, clients of 2024-11-05 open their stream of events.

        What comes over loopback must name a loopback host, and an origin on one, or one of
        `allowed_hosts` and `allowed_origins` (both without wildcards; behind a proxy on the same
        machine, list the proxy's name). What comes otherwise must name an allowed host if any are
        listed, and no origin but an allowed one. With `cors` browsers are told that pages
        of these origins may ask.

        `principal` says who the client of an HTTP request is, from its scope; by default
        `scope["mcp_gen.principal"]` does, which an authenticating ASGI middleware can set. A
        session belongs to the one who began it.

        Raises:
            UsageError: a limit that is not above 0, a wildcard, a path without a slash.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
        """
        from mcp_gen.server.serving.http import HttpOptions, asgi_app

        options = HttpOptions(
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
        )
        app = asgi_app(self, path, options)
        self._apps.append(app)
        return app

    async def end_tasks(self) -> None:
        """End the tasks that run: a server that is served no more is not to go on with them.

        `run`, the end of an ASGI app and `aclose` see to it; `serve` and `connect` do not, because
        a client may come back on another connection.
        """
        if self.tasks is not None:
            await self.tasks.aclose()

    async def aclose(self) -> None:
        """End every session and task, and leave the lifespan: what is in flight gets a moment.

        Only needed where the server is served by something that does not tell of its end, such as
        an ASGI app that is mounted where no lifespan events come.
        """
        served = list(self._served.values())
        for app in self._apps:
            await app.aclose()
        self.end_sessions()
        for ended in served:
            await ended.wait()
        await self.end_tasks()
        await self.let_go()
