"""HTTP/1.1 as bytes: one request per connection, and what cuts it is one exception."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager

from tests.soak.traffic.wire import HOST, request
from tests.support.http.asgi import Event, events_of

__all__ = ["HEAD_S", "Cut", "Response", "exchange"]

HEAD_S = 19.0
"""Seconds until the head of a response: more than a node stands still, and all that follows."""
SILENCE_S = 30.0
"""Seconds of silence after which a stream is lost; nodes send heartbeats more often."""


class Cut(Exception):
    """The connection was lost, or never came about."""

    is_late = False
    """True if nobody has answered for `HEAD_S`."""


class Response:
    """Response that is read as it arrives."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        status: int,
        headers: Mapping[str, str],
        silence_s: float,
    ) -> None:
        self._reader = reader
        self._silence_s = silence_s
        self.status = status
        self.headers = headers

    @property
    def is_stream(self) -> bool:
        """True if the response is an SSE stream."""
        return self.headers.get("content-type", "").startswith("text/event-stream")

    async def body(self) -> bytes:
        """Return the whole body."""
        async with aclosing(self._parts()) as parts:
            return b"".join([part async for part in parts])

    async def events(self) -> AsyncGenerator[Event]:
        """Yield the events as they arrive.

        Raises:
            Cut: the stream was not ended in order.
        """
        rest = b""
        async with aclosing(self._parts()) as parts:
            async for part in parts:
                whole, _, rest = (rest + part).rpartition(b"\n\n")
                if whole:
                    for event in events_of(whole + b"\n\n"):
                        yield event
        if rest:
            raise Cut("in an event")

    async def _parts(self) -> AsyncGenerator[bytes]:
        try:
            size = self.headers.get("content-length")
            if size is not None:
                yield await self._exactly(int(size))
            elif self.headers.get("transfer-encoding") == "chunked":
                while length := int(await self._line(), 16):
                    yield (await self._exactly(length + 2))[:-2]
                await self._line()
            elif self.status not in (202, 204):
                async with asyncio.timeout(self._silence_s):
                    yield await self._reader.read()
        except (OSError, EOFError, ValueError) as error:
            raise Cut(repr(error)) from error

    async def _exactly(self, size: int) -> bytes:
        async with asyncio.timeout(self._silence_s):
            return await self._reader.readexactly(size)

    async def _line(self) -> bytes:
        async with asyncio.timeout(self._silence_s):
            return await self._reader.readuntil(b"\r\n")


@asynccontextmanager
async def exchange(
    port: int,
    method: str,
    path: str,
    headers: Mapping[str, str],
    body: bytes = b"",
    head_s: float = HEAD_S,
    silence_s: float = SILENCE_S,
) -> AsyncGenerator[Response]:
    """Send a request on a connection of its own, and yield the response.

    Raises:
        Cut: there is no connection, or it was lost before the response's head.
    """
    writer: asyncio.StreamWriter | None = None
    try:
        try:
            async with asyncio.timeout(head_s):
                reader, writer = await asyncio.open_connection(HOST, port)
                writer.write(request(method, path, {**headers, "connection": "close"}, body))
                head = await reader.readuntil(b"\r\n\r\n")
        except (OSError, EOFError, TimeoutError) as error:
            cut = Cut(repr(error))
            cut.is_late = isinstance(error, TimeoutError) and head_s >= HEAD_S
            raise cut from error
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        pairs = (line.split(": ", 1) for line in lines)
        found = {name.lower(): value for name, value in pairs}
        yield Response(reader, int(first.split(" ")[1]), found, silence_s)
    finally:
        if writer is not None:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
