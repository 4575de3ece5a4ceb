"""A server at work, over whatever transport, from its first client to its last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal

from mcp_gen.core.errors import UsageError
from mcp_gen.server.sockets import ServesSockets
from mcp_gen.session.server import ServerSession

if TYPE_CHECKING:
    from mcp_gen.core.transport import Duplex
    from mcp_gen.server.context import Context
    from mcp_gen.server.lifespan import AsgiLifespan, Lifespan
    from mcp_gen.session.kernel import Kernel
    from mcp_gen.session.peer import Session
    from mcp_gen.transports.http import AsgiApp

__all__ = ["Serves"]


class Serves(ServesSockets):
    """The part of a server that serves."""

    kernel: Kernel[Context]
    max_message_bytes: int | None
    _lifespan: Lifespan | None
    _served: dict[ServerSession[Context], asyncio.Event]
    """The connections that are being served, and what is set when each has ended."""

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
    ) -> None:
        """Serve until the client hangs up, or the process is told to stop.

        SIGTERM ends it in good order: what is in flight gets a moment, and the exit code is 0.

        Raises:
            LifespanError: the server's lifespan did not start, or failed at its end.
        """
        if transport == "stdio":
            from mcp_gen.server.process import run_stdio

            run_stdio(self)
        elif transport == "http":
            import uvicorn

            uvicorn.run(self.asgi(), host=host, port=port, log_level="warning")
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
    async def connect(self, transport: Duplex) -> AsyncGenerator[ServerSession[Context]]:
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
    async def _session(self, transport: Duplex) -> AsyncGenerator[ServerSession[Context]]:
        """A session that has begun, to be finished inside; the lifespan is entered around it."""
        try:
            await self._need()
        except BaseException:
            # A client that cannot be served is not kept waiting.
            await transport.close()
            raise
        session = ServerSession(self.kernel, transport)
        ended = self._served[session] = asyncio.Event()
        try:
            await session.start()
            yield session
        finally:
            del self._served[session]
            ended.set()
            await self._need_no_longer()

    async def _need(self) -> None:
        if self._lifespan is not None:
            await self._lifespan.acquire()

    async def _need_no_longer(self) -> None:
        if self._lifespan is not None:
            await self._lifespan.release()

    @asynccontextmanager
    async def _listening(self) -> AsyncGenerator[None]:
        await self._need()
        try:
            yield
        finally:
            await self._need_no_longer()

    def asgi(self, path: str = "/mcp") -> AsgiApp | AsgiLifespan:
        """An ASGI app that answers POSTs at `path`. Mount it anywhere."""
        from mcp_gen.session.exchange import HttpExchange
        from mcp_gen.transports.http import MAX_BODY_BYTES, AsgiApp

        limit = self.max_message_bytes or MAX_BODY_BYTES
        app = AsgiApp(HttpExchange(self.kernel), path, max_body_bytes=limit)
        if self._lifespan is None:
            return app
        from mcp_gen.server.lifespan import AsgiLifespan

        return AsgiLifespan(app, self._lifespan)

    async def aclose(self) -> None:
        """End every session, and leave the lifespan: what is in flight gets a moment.

        Only needed where the server is served by something that does not tell of its end, such as
        an ASGI app that is mounted where no lifespan events come.
        """
        served = list(self._served.values())
        self.end_sessions()
        for ended in served:
            await ended.wait()
        if self._lifespan is not None:
            await self._lifespan.let_go()
