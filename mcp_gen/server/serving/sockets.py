"""Listens on Unix and TCP sockets: one connection per client, messages as lines."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.duplex.server import ServerConnection

__all__ = ["SocketServer"]

Accept: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
Connect: TypeAlias = "Callable[[Duplex], AbstractAsyncContextManager[ServerConnection[Context]]]"

_log = logging.getLogger("mcp_gen.server")


class SocketServer:
    """Listens on Unix and TCP sockets for one server.

    Args:
        connect: Serves one client over a transport while the context manager is open.
        max_message_bytes: Longest message that is accepted; None for the default of the transport.
        served: Holds the lifespan and the mounts of the server while a socket is open.
    """

    def __init__(
        self,
        connect: Connect,
        max_message_bytes: int | None = None,
        served: Callable[[], AbstractAsyncContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self.connect = connect
        self.max_message_bytes = max_message_bytes
        self._served = served

    @asynccontextmanager
    async def serve_unix(self, path: str | os.PathLike[str]) -> AsyncGenerator[asyncio.Server]:
        """Serve the clients that connect to a Unix socket; see `Server.serve_unix`."""
        # Imported here: most servers have no Unix sockets, and the import takes milliseconds.
        from pathlib import Path

        with _bound(Path(path)) as bound:
            async with self._accepting(partial(asyncio.start_unix_server, sock=bound)) as listener:
                yield listener

    @asynccontextmanager
    async def serve_tcp(self, host: str, port: int) -> AsyncGenerator[asyncio.Server]:
        """Serve the clients that connect to a TCP port; see `Server.serve_tcp`."""
        async with self._accepting(partial(asyncio.start_server, host=host, port=port)) as listener:
            yield listener

    @asynccontextmanager
    async def _accepting(
        self, listen: Callable[[Accept], Awaitable[asyncio.Server]]
    ) -> AsyncGenerator[asyncio.Server]:
        connections = _Connections(self)
        async with self._served():
            listener = await listen(connections.accept)
            try:
                yield listener
            finally:
                listener.close()
                await connections.end()
                await listener.wait_closed()


class _Connections:
    """Open connections of one socket, each served in a task of its own."""

    def __init__(self, server: SocketServer) -> None:
        self._server = server
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions: set[ServerConnection[Context]] = set()
        self._ending = False

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a new connection."""
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """End every connection; requests in progress get a moment to finish."""
        self._ending = True
        for session in self._sessions:
            session.end()
        tasks = list(self._tasks)
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Loaded when serving over sockets.
        from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES
        from mcp_gen.transports.streams import StreamTransport

        limit = self._server.max_message_bytes or DEFAULT_MAX_MESSAGE_BYTES
        transport = StreamTransport(reader, writer, max_message_bytes=limit)
        try:
            async with self._server.connect(transport) as session:
                self._sessions.add(session)
                if self._ending:
                    session.end()
                await session.wait_ended()
                self._sessions.discard(session)
        except Exception:
            # A connection that fails must not end the others.
            _log.exception("a connection failed")


@contextmanager
def _bound(path: Path) -> Generator[socket.socket]:
    """Bind a Unix socket to a path, and remove it afterwards."""
    _remove_stale(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
        # The mask holds for the whole process, but no other task runs in between.
        before = os.umask(0o177)
        try:
            bound.bind(str(path))
        finally:
            os.umask(before)
        try:
            yield bound
        finally:
            path.unlink(missing_ok=True)


def _remove_stale(path: Path) -> None:
    if not path.exists():
        return
    if not stat.S_ISSOCK(path.stat().st_mode):
        raise UsageError(f"{path}: expected no file there, or a socket; choose another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError:
            pass  # another process listens, and is busy
    raise UsageError(f"{path}: somebody listens there already; choose another path")
