"""Serving at a Unix socket or a TCP port: one client for each connection, messages as lines."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import stat
from abc import ABC, abstractmethod
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

__all__ = ["ServesSockets"]

Accept: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]

_log = logging.getLogger("mcp_gen.server")


class ServesSockets(ABC):
    """The part of a server that listens at sockets."""

    max_message_bytes: int | None = None

    @abstractmethod
    def connect(self, transport: Duplex) -> AbstractAsyncContextManager[ServerConnection[Context]]:
        """Serve one client over a transport while this lasts."""

    @asynccontextmanager
    async def serve_unix(self, path: str | os.PathLike[str]) -> AsyncGenerator[asyncio.Server]:
        """Serve whoever connects to a Unix socket, while this lasts: messages are lines.

        Only this user may connect. A socket that somebody left behind at `path` is replaced. At the
        end nobody else is let in, what is in flight gets a moment, and the socket is removed.

        Raises:
            UsageError: somebody listens there, or something else is there.
            LifespanError: the server's lifespan did not start.
        """
        # Only now: most servers have no sockets, and importing it takes milliseconds.
        from pathlib import Path

        with _bound(Path(path)) as bound:
            async with self._accepting(partial(asyncio.start_unix_server, sock=bound)) as listener:
                yield listener

    @asynccontextmanager
    async def serve_tcp(
        self, host: str = "127.0.0.1", port: int = 0
    ) -> AsyncGenerator[asyncio.Server]:
        """Serve whoever connects to a TCP port, while this lasts: messages are lines.

        Port 0 takes one that is free: `listener.sockets[0].getsockname()` tells which. There is
        neither encryption nor a password: everybody on this machine can connect, and beyond
        loopback everybody else.

        Raises:
            OSError: the port is taken, or not this machine's to have.
            LifespanError: the server's lifespan did not start.
        """
        async with self._accepting(partial(asyncio.start_server, host=host, port=port)) as listener:
            yield listener

    @asynccontextmanager
    async def _accepting(
        self, listen: Callable[[Accept], Awaitable[asyncio.Server]]
    ) -> AsyncGenerator[asyncio.Server]:
        connections = _Connections(self)
        async with self._listening():
            listener = await listen(connections.accept)
            try:
                yield listener
            finally:
                listener.close()
                await connections.end()
                await listener.wait_closed()

    def _listening(self) -> AbstractAsyncContextManager[None]:
        """What lasts as long as somebody may connect."""
        return contextlib.nullcontext()


class _Connections:
    """Those who have connected, each with a task of its own."""

    def __init__(self, server: ServesSockets) -> None:
        self._server = server
        self._tasks: set[asyncio.Task[None]] = set()
        self._sessions: set[ServerConnection[Context]] = set()
        self._ending = False

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one who has connected."""
        task = asyncio.get_running_loop().create_task(self._talk(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """End every connection; what is in flight gets a moment."""
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

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
            # One connection that fails is no reason to refuse the others.
            _log.exception("a connection failed")


@contextmanager
def _bound(path: Path) -> Generator[socket.socket]:
    """A Unix socket at a path, which is removed afterwards."""
    _clear(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
        # The mask is set for all of the process, but only while nothing else has a turn.
        before = os.umask(0o177)
        try:
            bound.bind(str(path))
        finally:
            os.umask(before)
        try:
            yield bound
        finally:
            path.unlink(missing_ok=True)


def _clear(path: Path) -> None:
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
            pass  # somebody is there, and busy
    raise UsageError(f"{path}: somebody listens there already; choose another path")
