"""HTTP load generator: sends prepared requests as fast as they are answered."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Sequence
from functools import partial

from bench.child import Child

__all__ = ["Load"]

LIMIT_S = 60.0

_HEAD_END = b"\r\n\r\n"
_LAST_CHUNK = b"\r\n0\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class Load:
    """Keep-alive connections to a child, each of which repeats one request."""

    def __init__(self, child: Child, port: int, requests: Sequence[bytes]) -> None:
        self._child = child
        self._port = port
        self._requests = requests
        self._connections: list[_Connection] = []
        self.to_send = 0
        """Number of requests still to be sent, by whichever connection has its answer."""
        self._to_come = 0
        self._done: asyncio.Future[None] | None = None
        self._took_s: list[float] = []
        """Time of each answer since its request, of the last measurement."""

    async def rate(self, calls: int) -> float:
        """Return the answers per second of the child's CPU time.

        Not by the clock: another program that is at work here takes time from both sides, and a
        load generator that is slower than the server would make all servers alike.
        """
        if not self._connections:
            await self._connect()
        started_s = self._child.cpu_s()
        await self._answered(calls)
        return calls / self._child.cpu_since(started_s)

    async def clock_rate(self, calls: int) -> float:
        """Return the answers per second by the clock, for a child with processes of its own."""
        if not self._connections:
            await self._connect()
        started_s = time.perf_counter()
        await self._answered(calls)
        return calls / (time.perf_counter() - started_s)

    async def times_ms(self, calls: int) -> list[float]:
        """Return how long each answer took by the clock, the shortest first."""
        if not self._connections:
            await self._connect()
        await self._answered(calls)
        return sorted(1000 * one for one in self._took_s)

    async def _answered(self, calls: int) -> None:
        """Send a number of requests, and wait until all are answered."""
        self._took_s.clear()
        self.to_send = self._to_come = calls
        self._done = asyncio.get_running_loop().create_future()
        for connection in self._connections:
            connection.send()
        await asyncio.wait_for(self._done, LIMIT_S)

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        for request in self._requests:
            make = partial(_Connection, self, request)
            transport, connection = await loop.create_connection(make, "127.0.0.1", self._port)
            connection.transport = transport
            self._connections.append(connection)

    def count(self, took_s: float) -> None:
        """Count an answer."""
        self._took_s.append(took_s)
        self._to_come -= 1
        if not self._to_come and self._done is not None and not self._done.done():
            self._done.set_result(None)

    def fail(self, why: str) -> None:
        """Abort the measurement with an error."""
        if self._done is not None and not self._done.done():
            self._done.set_exception(RuntimeError(why))


class _Connection(asyncio.Protocol):
    def __init__(self, load: Load, request: bytes) -> None:
        self._load = load
        self._request = request
        self.transport: asyncio.WriteTransport | None = None
        self._head = b""
        self._begun = False
        """True if the head of the answer has come."""
        self._size_bytes = 0
        """Bytes of the answer that have come, its head included."""
        self._wanted_bytes: int | None = None
        """Bytes of the whole answer; None where only its end tells."""
        self._end = b""
        self._sent_s = 0.0

    def send(self) -> None:
        """Send the request again, if any are left to send."""
        if self._load.to_send and self.transport:
            self._load.to_send -= 1
            self._size_bytes, self._begun, self._head, self._end = 0, False, b"", b""
            self._sent_s = time.perf_counter()
            self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._size_bytes += len(data)
        if not self._begun:
            self._head += data
            if not self._read_head():
                return
        if self._wanted_bytes is None:
            self._end = (self._end + data[-len(_LAST_CHUNK) :])[-len(_LAST_CHUNK) :]
            whole = self._end == _LAST_CHUNK
        else:
            whole = self._size_bytes == self._wanted_bytes
        if whole:
            self._load.count(time.perf_counter() - self._sent_s)
            self.send()

    def _read_head(self) -> bool:
        """Parse the length of the answer; return True if its head is complete."""
        head, end, _ = self._head.partition(_HEAD_END)
        if not end:
            return False
        if not head.startswith(b"HTTP/1.1 200 "):
            self._load.fail(f"expected 200, got {self._head[:2000]!r}")
            return False
        self._begun = True
        found = _LENGTH.search(head + b"\r\n")
        self._wanted_bytes = len(head) + len(end) + int(found[1]) if found else None
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.fail(f"the server hung up: {exc}")
