"""Transport of a scripted server behind HTTP: each response is a stream on its own POST.

Other messages go to the last open request, or else to the GET stream. The two endpoints of HTTP+SSE
are served as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import msgspec

import mcp_wire
from mcp_gen.core.transport.protocols import Duplex, Receiver
from tests.support.http.loopback import Got, Line, Web, scripted_web

__all__ = ["Serves", "posted"]

EVENTS = "text/event-stream"
POSTS = "/post"


class Serves(Protocol):
    """Protocol of a server for one connection."""

    async def serve(self, transport: Duplex) -> None: ...


class _Stream:
    """SSE stream: messages in order, then its end."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def write(self, line: Line) -> None:
        while (message := await self.messages.get()) is not None:
            await line.raw(b"event: message\ndata: " + message + b"\n\n")


class _Posted:
    """Server end, as a duplex transport."""

    def __init__(self, revision: str) -> None:
        self._profile = mcp_wire.profile(revision)
        self._receiver: Receiver | None = None
        self._requests: dict[bytes, _Stream] = {}
        self._listening: list[_Stream] = []

    async def start(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def send(self, message: bytes) -> None:
        frame: Any = msgspec.json.decode(message)
        id = msgspec.json.encode(frame.get("id"))
        answers = "method" not in frame and id in self._requests
        streams = [*self._listening, *self._requests.values()]
        stream = self._requests.pop(id) if answers else streams[-1]
        stream.messages.put_nowait(message)
        if answers and stream not in self._listening:
            stream.messages.put_nowait(None)

    async def drain(self) -> None:
        """Return at once: everything is taken."""

    async def aclose(self) -> None:
        if self._receiver is not None:
            self._receiver.closed(None)

    async def got(self, got: Got, line: Line) -> None:
        assert self._receiver is not None
        if got.method == "GET":
            await self._stream(line)
        elif got.method != "POST":
            await line.answer(200)
        elif self._paired and got.path != POSTS:
            await line.answer(405)
        elif "id" not in got.json or "method" not in got.json:
            self._receiver.receive(got.body)
            await line.answer(202)
        else:
            await self._request(got, line)

    async def _stream(self, line: Line) -> None:
        if not (self._paired or self._profile.get_stream):
            await line.answer(405)
            return
        stream = _Stream()
        await line.head(200, EVENTS)
        if self._paired:
            await line.raw(f"event: endpoint\ndata: {POSTS}\n\n".encode())
        self._listening.append(stream)
        await stream.write(line)

    async def _request(self, got: Got, line: Line) -> None:
        assert self._receiver is not None
        stream = self._listening[0] if self._paired else _Stream()
        id = msgspec.json.encode(got.json["id"])
        self._requests[id] = stream
        self._receiver.receive(got.body)
        if self._paired:
            await line.answer(202)
            return
        try:
            await line.head(200, EVENTS)
            await stream.write(line)
        finally:
            self._requests.pop(id, None)

    @property
    def _paired(self) -> bool:
        return self._profile.http_transport == "sse_pair"


@asynccontextmanager
async def posted(server: Serves, revision: str) -> AsyncIterator[Web]:
    """Serve a scripted server by HTTP on loopback."""
    far = _Posted(revision)
    serving = asyncio.get_running_loop().create_task(server.serve(far))
    await asyncio.sleep(0)
    try:
        async with scripted_web(far.got) as web:
            yield web
    finally:
        await far.aclose()
        await serving
