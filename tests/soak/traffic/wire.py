"""HTTP as bytes on a socket: a client that may stop, hang up or go slow wherever it likes."""

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
"""How long anything may take that is to come."""
SLOW_BYTES = 16_384
"""What the machine may hold for a client that reads slowly."""

Way: TypeAlias = Literal["reset", "close", "half"]
WAYS_TO_HANG_UP: tuple[Way, ...] = ("reset", "close", "half")


def request(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """One HTTP request, whole."""
    lines = [f"{method} {path} HTTP/1.1"]
    sent = {"host": HOST, **headers}
    if body or method == "POST":
        sent["content-length"] = str(len(body))
    lines += [f"{name}: {value}" for name, value in sent.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Connection:
    """One connection to the server. Every wait is bounded.

    Raises, wherever it waits: TimeoutError; ConnectionError and EOFError where the server hung up.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.asked_s = math.inf
        """When the last request was sent, by the clock of the event loop."""
        self.used_s = 0.0
        """When its answer had been read."""

    @classmethod
    async def open(cls, port: int, *, slow: bool = False) -> Connection:
        """A new connection. A slow one takes in no more than is read from it."""
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
        """Send bytes. Whether the server takes them is seen in its answer."""
        self._writer.write(data)
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(WAIT_S):
                await self._writer.drain()

    async def answer(self) -> Answer:
        """The head of the next answer."""
        async with asyncio.timeout(WAIT_S):
            head = await self._reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        pairs = (line.split(": ", 1) for line in lines)
        headers = {name.lower(): value for name, value in pairs}
        return Answer(self._reader, int(first.split(" ")[1]), headers)

    async def some(self) -> bytes:
        """What has come, or comes next; nothing if the server hung up."""
        async with asyncio.timeout(WAIT_S):
            return await self._reader.read(65_536)

    @property
    def usable(self) -> bool:
        """Whether another request can be sent."""
        return not (self._reader.at_eof() or self._writer.is_closing())

    async def hang_up(self, way: Way = "close") -> None:
        """Close it: orderly, rudely, or one half of it and then wait for the server."""
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
    """One answer, as it comes."""

    def __init__(
        self, reader: asyncio.StreamReader, status: int, headers: Mapping[str, str]
    ) -> None:
        self._reader = reader
        self.status = status
        self.headers = headers
        self.whole = False
        """Whether all of it has been read."""

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream of events."""
        return self.headers.get("content-type") == "text/event-stream"

    async def body(self) -> bytes:
        """All of it."""
        return b"".join([part async for part in self.parts()])

    async def events(self) -> AsyncGenerator[Event]:
        """The events, as they come."""
        rest = b""
        async for part in self.parts():
            *blocks, rest = (rest + part).split(b"\n\n")
            for block in blocks:
                for event in events_of(block + b"\n\n"):
                    yield event
        assert not rest, f"the stream ended in an event: {rest!r}"

    async def parts(self) -> AsyncGenerator[bytes]:
        """Its body, in the pieces in which it was sent."""
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
