"""A load generator for HTTP: requests made beforehand, sent as fast as they are answered."""

from __future__ import annotations

import asyncio
import time

__all__ = ["measure"]

LIMIT_S = 60.0


class Load:
    """How many answers are still wanted, shared by all connections."""

    def __init__(self, calls: int, done: asyncio.Future[None]) -> None:
        self.to_send = calls
        self.to_come = calls
        self.done = done

    def count(self) -> None:
        """One more answer has come."""
        self.to_come -= 1
        if not self.to_come and not self.done.done():
            self.done.set_result(None)

    def fail(self, why: str) -> None:
        """End the measurement: it would mean nothing."""
        if not self.done.done():
            self.done.set_exception(RuntimeError(why))


class _Connection(asyncio.Protocol):
    """Sends the same request again and again. All answers must have the size of the first."""

    def __init__(self, load: Load, request: bytes) -> None:
        self._load = load
        self._request = request
        self._buffer = b""
        self._answer_bytes = 0
        self._came_bytes = 0
        self._transport: asyncio.WriteTransport | None = None

    def start(self, transport: asyncio.WriteTransport) -> None:
        """Send the first request."""
        self._transport = transport
        self._send()

    def _send(self) -> None:
        if self._load.to_send and self._transport:
            self._load.to_send -= 1
            self._came_bytes = 0
            self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._came_bytes += len(data)
        if not self._answer_bytes:
            self._learn(data)
        if not self._answer_bytes or self._came_bytes < self._answer_bytes:
            return
        if self._came_bytes > self._answer_bytes:
            self._load.fail(f"expected {self._buffer!r}, got {data!r}")
        self._load.count()
        self._send()

    def _learn(self, data: bytes) -> None:
        """Work out how long an answer is, from the first."""
        self._buffer += data
        head, end, _ = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        if not head.startswith(b"HTTP/1.1 200 "):
            self._load.fail(f"expected 200, got {self._buffer!r}")
            return
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        size = len(head) + len(end) + int(fields[b"content-length"])
        if len(self._buffer) >= size:
            self._answer_bytes = size

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.fail(f"the server hung up: {exc}")


async def measure(port: int, request: bytes, *, connections: int, calls: int) -> float:
    """Answers per second over keep-alive connections to a port of this machine."""
    loop = asyncio.get_running_loop()
    load = Load(calls, loop.create_future())
    opened = [
        await loop.create_connection(lambda: _Connection(load, request), "127.0.0.1", port)
        for _ in range(connections)
    ]
    started = time.perf_counter()
    for transport, connection in opened:
        connection.start(transport)
    try:
        await asyncio.wait_for(load.done, LIMIT_S)
        return calls / (time.perf_counter() - started)
    finally:
        for transport, _ in opened:
            transport.close()
