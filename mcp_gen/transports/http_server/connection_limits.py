"""Limits on the connections of an HTTP server: bytes and time of request heads, open sockets."""

from __future__ import annotations

import asyncio
import math
from typing import Protocol
from weakref import WeakSet

from msgspec import Struct

from mcp_gen.core.errors import UsageError

__all__ = ["ConnectionLimits", "ConnectionWatch", "WatchedConnection"]

FILES_FOR_CONNECTIONS = 0.75
"""Part of the files that the process may open, for connections."""
DEFAULT_CONNECTIONS = 10_000
"""Most connections where the number of open files is not limited."""


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """Limits on the connections of an HTTP server that this library runs.

    Args:
        max_header_bytes: Bytes of a request line with its headers; more are refused with 431. The
            trailers of a body, and what its chunks add to it, may have as many, and one more for
            each byte of the body.
        header_timeout_s: Seconds from the connection, or from the first byte of a later request,
            until its headers are complete. Then the connection is closed, with 408 if they have
            begun. A closed connection whose client reads nothing is dropped after once to twice
            that time.
        idle_timeout_s: Seconds that a connection stays open after a response.
        max_connections: Most open connections. Beyond it the one is closed that has waited longest
            for headers, else one that is idle, else the new one. None takes three quarters of the
            files that this process may open.

    Raises:
        UsageError: a limit is not finite and above 0.
    """

    max_header_bytes: int = 64 * 1024
    header_timeout_s: float = 20.0
    idle_timeout_s: float = 5.0
    max_connections: int | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            limit: float | None = getattr(self, name)
            if limit is not None and not 0 < limit < math.inf:
                raise UsageError(f"{name}={limit}: expected a finite number above 0")

    def most_connections(self) -> int:
        """Return the number of connections that may be open."""
        if self.max_connections is not None:
            return self.max_connections
        try:
            # Not on every platform.
            from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit
        except ImportError:
            return DEFAULT_CONNECTIONS
        files, _ = getrlimit(RLIMIT_NOFILE)
        if files == RLIM_INFINITY:
            return DEFAULT_CONNECTIONS
        return max(1, int(files * FILES_FOR_CONNECTIONS))


class WatchedConnection(Protocol):
    """Connection, as its watch uses it."""

    @property
    def is_idle(self) -> bool:
        """True if no request is being received or answered."""
        ...

    @property
    def unsent_bytes(self) -> int | None:
        """Bytes that are left to send on a connection that is closing; None if it is open."""
        ...

    def refuse_late(self) -> None:
        """Close the connection: the head of a request took too long."""
        ...

    def drop(self) -> None:
        """Close the connection at once."""
        ...


class ConnectionWatch:
    """Timer over the connections of one HTTP server.

    Args:
        limits: Limits of the connections.
        loop: Event loop of the server.
    """

    def __init__(self, limits: ConnectionLimits, loop: asyncio.AbstractEventLoop) -> None:
        self._limits = limits
        self._loop = loop
        self._most = limits.most_connections()
        # Weak: a connection that becomes a WebSocket ends without notice.
        self._open: WeakSet[WatchedConnection] = WeakSet()
        self._awaited: dict[WatchedConnection, float] = {}
        """Connections that wait for the end of a head, with the loop time when that is late.

        All have the same time: the first one is the next.
        """
        self._closing: dict[WatchedConnection, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._sweep_s = 0.0

    def opened(self, connection: WatchedConnection) -> None:
        """Add a connection; another one may be closed for it."""
        if len(self._open) >= self._most:
            victim = next(iter(self._awaited), None)
            if victim is None:
                victim = next((one for one in self._open if one.is_idle), connection)
            self.closed(victim)
            victim.drop()
            if victim is connection:
                return
        self._open.add(connection)
        self.await_head(connection)

    def closed(self, connection: WatchedConnection) -> None:
        """Remove a connection."""
        self._open.discard(connection)
        self._awaited.pop(connection, None)
        self._closing.pop(connection, None)
        if not self._open and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def await_head(self, connection: WatchedConnection) -> None:
        """Close the connection unless `head_ended` is called in time."""
        if connection not in self._awaited:
            self._awaited[connection] = self._loop.time() + self._limits.header_timeout_s
            if self._timer is None:
                self._schedule()

    def head_ended(self, connection: WatchedConnection) -> None:
        """Stop to wait for the head of a connection."""
        self._awaited.pop(connection, None)

    def _schedule(self) -> None:
        now_s = self._loop.time()
        self._sweep_s = max(self._sweep_s, now_s)
        due_s = next(iter(self._awaited.values()), math.inf)
        due_s = min(due_s, self._sweep_s + self._limits.header_timeout_s)
        self._timer = self._loop.call_at(due_s, self._check)

    def _check(self) -> None:
        self._timer = None
        now_s = self._loop.time()
        late = [one for one, due_s in self._awaited.items() if due_s <= now_s]
        for connection in late:
            del self._awaited[connection]
            connection.refuse_late()
        if now_s >= self._sweep_s + self._limits.header_timeout_s:
            self._sweep_s = now_s
            self._drop_stuck()
        if self._open:
            self._schedule()

    def _drop_stuck(self) -> None:
        """Drop closed connections whose clients have read nothing since the last time."""
        before, self._closing = self._closing, {}
        for connection in list(self._open):
            unsent = connection.unsent_bytes
            if unsent is None:
                continue
            if before.get(connection, unsent + 1) <= unsent:
                connection.drop()
            else:
                self._closing[connection] = unsent
