"""A load generator for HTTP: requests made beforehand, sent as fast as they are answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial

__all__ = ["measure"]

LIMIT_S = 60.0

_HEAD_END = b"\r\n\r\n"
_LAST_CHUNK = b"\r\n0\r\n\r\n"


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
    """Sends the same request again and again."""

    def __init__(self, load: Load, request: bytes) -> None:
        self._load = load
        self._request = request
        self._buffer = b""
        self._usual_bytes = 0
        """The size of the last answer: most have it, and are not looked into."""
        self._transport: asyncio.WriteTransport | None = None

    def start(self, transport: asyncio.WriteTransport) -> None:
        """Send the first request."""
        self._transport = transport
        self._send()

    def _send(self) -> None:
        if self._load.to_send and self._transport:
            self._load.to_send -= 1
            self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        if len(self._buffer) != self._usual_bytes and not self._is_whole():
            return
        self._usual_bytes = len(self._buffer)
        self._buffer = b""
        self._load.count()
        self._send()

    def _is_whole(self) -> bool:
        """Whether a whole answer is there."""
        head, end, body = self._buffer.partition(_HEAD_END)
        if not end:
            return False
        if not head.startswith(b"HTTP/1.1 200 "):
            self._load.fail(f"expected 200, got {self._buffer[:2000]!r}")
            return False
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        size = fields.get(b"content-length")
        if size is None:
            return body.endswith(_LAST_CHUNK)
        if len(body) > int(size):
            self._load.fail(f"expected {size!r} bytes, got {self._buffer[:2000]!r}")
        return len(body) == int(size)

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.fail(f"the server hung up: {exc}")


async def measure(port: int, requests: Sequence[bytes], *, calls: int) -> float:
    """Answers per second over keep-alive connections to a port of this machine.

    Each connection sends one of the requests, again and again.
    """
    loop = asyncio.get_running_loop()
    load = Load(calls, loop.create_future())
    opened = [
        await loop.create_connection(partial(_Connection, load, request), "127.0.0.1", port)
        for request in requests
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
