"""Connections to one origin: opened on demand, kept while they are idle."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpcore2

__all__ = ["KeptConnections"]

MAX_IDLE = 20
"""Maximum number of connections that are kept while nothing is sent."""


class KeptConnections:
    """Connections that serve one request at a time. The newest idle one is used first.

    Args:
        make: Makes a connection, which is opened with its first request.
    """

    def __init__(self, make: Callable[[], httpcore2.AsyncConnectionInterface]) -> None:
        self._make = make
        self._all: set[httpcore2.AsyncConnectionInterface] = set()
        self._idle: deque[httpcore2.AsyncConnectionInterface] = deque()

    async def send(
        self, request: httpcore2.Request
    ) -> tuple[httpcore2.Response, httpcore2.AsyncConnectionInterface]:
        """Send a request.

        Returns:
            The response once its head has arrived, and the connection, to be released when the
            response is closed.
        """
        connection = None
        while self._idle:
            newest = self._idle.pop()
            if not newest.has_expired():
                connection = newest
                break
            await self._close(newest)
        if connection is None:
            connection = self._make()
            self._all.add(connection)
        try:
            return await connection.handle_async_request(request), connection
        except BaseException:
            await self._close(connection)
            raise

    async def release(self, connection: httpcore2.AsyncConnectionInterface) -> None:
        """Take a connection back whose response is closed."""
        if connection not in self._all:
            return  # all were closed meanwhile
        if not connection.is_idle():
            await self._close(connection)
            return
        self._idle.append(connection)
        if len(self._idle) > MAX_IDLE or (len(self._idle) > 1 and self._idle[0].has_expired()):
            await self._close(self._idle.popleft())

    async def aclose(self) -> None:
        """Close all connections, also those in use."""
        connections, self._all = self._all, set()
        self._idle.clear()
        for connection in connections:
            await connection.aclose()

    async def _close(self, connection: httpcore2.AsyncConnectionInterface) -> None:
        self._all.discard(connection)
        await connection.aclose()
