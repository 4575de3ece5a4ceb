"""HTTP as bytes on a socket: a client that may stop, disconnect or slow down at any point."""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import struct
from collections.abc import AsyncGenerator, Mapping
from typing import Literal, TypeAlias

from tests.support.http.asgi import Event, events_of

__all__ = ["WAIT_S", "WAYS_TO_HANG_UP", "Answer", "Connection", "Way", "request"]

HOST = "127.0.0.1"
WAIT_S = 20.0
"""Time limit of every expected message, in seconds."""
SLOW_BYTES = 16_384
"""Socket buffer size of a client that reads slowly, in bytes."""

Way: TypeAlias = Literal["reset", "close", "half"]
WAYS_TO_HANG_UP: tuple[Way, ...] = ("reset", "close", "half")


def request(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """Return one HTTP request as bytes."""
    lines = [f"{method} {path} HTTP/1.1"]
    sent = {"host": HOST, **headers}
    if body or method == "POST":
        sent["content-length"] = str(len(body))
    lines += [f"{name}: {value}" for name, value in sent.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Connection:
    """Connection to the server. Every wait has a time limit.

    Raises, in every wait: TimeoutError; ConnectionError and EOFError if the server disconnects.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.asked_s = math.inf
        """Time of the last request, by the clock of the event loop, in seconds."""
        self.used_s = 0.0
        """Time at which its response was read, in seconds."""

    @classmethod
    async def open(cls, port: int, *, slow: bool = False) -> Connection:
        """Open a connection. A slow one buffers little beyond what is read."""
        if not slow:
            return cls(*await asyncio.open_connection(HOST, port))
        own = socket.socket()
        try:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_BYTES)
            own.setblocking(False)
            await asyncio.get_running_loop().sock_connect(own, (HOST, port))
        except BaseException:
            own.close()
            raise
        return cls(*await asyncio.open_connection(sock=own, limit=SLOW_BYTES))

    async def send(self, data: bytes) -> None:
        """Send bytes. The response shows if the server has accepted them."""
        self._writer.write(data)
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(WAIT_S):
                await self._writer.drain()

    async def answer(self) -> Answer:
        """Return the head of the next response."""
        async with asyncio.timeout(WAIT_S):
            head = await self._reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        pairs = (line.split(": ", 1) for line in lines)
        headers = {name.lower(): value for name, value in pairs}
        return Answer(self._reader, int(first.split(" ")[1]), headers)

    async def some(self) -> bytes:
        """Return the received or the next bytes; empty if the server has disconnected."""
        async with asyncio.timeout(WAIT_S):
            return await self._reader.read(65_536)

    @property
    def usable(self) -> bool:
        """Return True if another request can be sent."""
        return not (self._reader.at_eof() or self._writer.is_closing())

    async def hang_up(self, way: Way = "close") -> None:
        """Close the connection: in order, by reset, or one half first, waiting for the server."""
        if way == "reset":
            own: socket.socket = self._writer.get_extra_info("socket")
            with contextlib.suppress(OSError):
                own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._writer.transport.abort()
        elif way == "half":
            with contextlib.suppress(ConnectionError, OSError):
                self._writer.write_eof()
                while await self.some():
                    pass
        self._writer.close()
        with contextlib.suppress(ConnectionError, TimeoutError):
            await self._writer.wait_closed()


class Answer:
    """Response that is read as it arrives."""

    def __init__(
        self, reader: asyncio.StreamReader, status: int, headers: Mapping[str, str]
    ) -> None:
        self._reader = reader
        self.status = status
        self.headers = headers
        self.whole = False
        """True if the whole response was read."""

    @property
    def is_stream(self) -> bool:
        """True if the response is an SSE stream."""
        return self.headers.get("content-type") == "text/event-stream"

    async def body(self) -> bytes:
        """Return the whole body."""
        return b"".join([part async for part in self.parts()])

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the events as they arrive."""
        rest = b""
        async for part in self.parts():
            *blocks, rest = (rest + part).split(b"\n\n")
            for block in blocks:
                for event in events_of(block + b"\n\n"):
                    yield event
        assert not rest, f"the stream ended in an event: {rest!r}"

    async def parts(self) -> AsyncGenerator[bytes]:
        """Yield the body in its pieces."""
        size = self.headers.get("content-length")
        if size is not None:
            yield await self._exactly(int(size))
        elif self.headers.get("transfer-encoding") == "chunked":
            while length := int(await self._line(), 16):
                yield (await self._exactly(length + 2))[:-2]
            await self._line()
        elif self.status not in (202, 204):
            while part := await self._some():
                yield part
            return
        self.whole = self.headers.get("connection") != "close"

    async def _exactly(self, size: int) -> bytes:
        async with asyncio.timeout(WAIT_S):
            return await self._reader.readexactly(size)

    async def _line(self) -> bytes:
        async with asyncio.timeout(WAIT_S):
            return await self._reader.readuntil(b"\r\n")

    async def _some(self) -> bytes:
        async with asyncio.timeout(WAIT_S):
            return await self._reader.read(65_536)
