"""Transports to a bad server: each plays a misdeed in its own way."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec

from mcp_gen.transports.memory import MemoryTransport, memory_pair
from tests.client.bad_servers import misdeeds
from tests.client.bad_servers.misdeeds import Flood, Half, HangUp, steps_of
from tests.support.http.loopback import Got, Line, scripted_web

__all__ = ["REDIRECTS", "WAYS", "Opens"]

Opens = Callable[[str, str], AbstractAsyncContextManager[Any]]
"""Function of a misdeed and a revision that returns a target for `connect`."""
EVENTS = "text/event-stream"


class _InMemory:
    """Server end of a memory pair."""

    def __init__(self, name: str, revision: str) -> None:
        self._name, self._revision = name, revision
        self.ours, self._theirs = memory_pair()
        self._ending: list[asyncio.Task[None]] = []

    async def start(self) -> MemoryTransport:
        await self._theirs.start(self)
        return self.ours

    def receive(self, message: bytes) -> None:
        frame = msgspec.json.decode(message)
        if "id" not in frame or "method" not in frame:
            return
        for step in steps_of(self._name, self._revision, frame):
            if isinstance(step, HangUp):
                closing = self._theirs.aclose()
                self._ending.append(asyncio.get_running_loop().create_task(closing))
            else:
                self._theirs.send(step)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        raise AssertionError("the client sent too much")

    def closed(self, error: BaseException | None) -> None:
        """Handle the disconnect of the client."""

    async def end(self) -> None:
        await self._theirs.aclose()
        await asyncio.gather(*self._ending)


@asynccontextmanager
async def in_memory(name: str, revision: str) -> AsyncIterator[Any]:
    server = _InMemory(name, revision)
    yield await server.start()
    await server.end()


@asynccontextmanager
async def command(name: str, revision: str) -> AsyncIterator[Any]:
    yield [sys.executable, "-S", "-E", misdeeds.__file__, name, revision]


REDIRECTS = {
    "redirects to another origin": "http://127.0.0.2:9/mcp",
    "redirects to no web address": "file:///etc/passwd",
    "redirects to itself": "/mcp",
}
"""Redirect targets of misdeeds that exist over HTTP alone."""


def _script(name: str, revision: str, play: Any) -> Any:
    async def script(got: Got, line: Line) -> None:
        frame = got.json if got.body else {}
        if got.method != "POST":
            await line.answer(405)
        elif "id" not in frame or "method" not in frame:
            await line.answer(202)
        elif name in REDIRECTS:
            await line.answer(307, location=REDIRECTS[name])
        else:
            await play(line, steps_of(name, revision, frame))

    return script


@asynccontextmanager
async def http_json(name: str, revision: str) -> AsyncIterator[Any]:
    async def play(line: Line, steps: list[Any]) -> None:
        for step in steps:
            if isinstance(step, HangUp):
                return
            if isinstance(step, Half):
                await line.head(200, "application/json", content_length=str(len(step)))
                await line.raw(step[: len(step) // 2])
            else:
                await line.answer(200, step)
            return
        await line.silence()

    async with scripted_web(_script(name, revision, play)) as web:
        yield web.url


@asynccontextmanager
async def http_events(name: str, revision: str) -> AsyncIterator[Any]:
    async def play(line: Line, steps: list[Any]) -> None:
        if not steps:
            await line.silence()
        if not isinstance(steps[0], HangUp):
            await line.head(200, EVENTS)
            await _events(line, steps)

    async with scripted_web(_script(name, revision, play)) as web:
        yield web.url


@asynccontextmanager
async def sse_pair(name: str, revision: str) -> AsyncIterator[Any]:
    """Serve the two HTTP+SSE endpoints: all server messages go to the stream."""
    streams: list[tuple[Line, asyncio.Event]] = []

    async def script(got: Got, line: Line) -> None:
        if got.method == "GET" and name in REDIRECTS:
            await line.answer(307, location=REDIRECTS[name])
        elif got.method == "GET":
            ended = asyncio.Event()
            streams.append((line, ended))
            await line.head(200, EVENTS)
            await line.raw(b"event: endpoint\ndata: /messages\n\n")
            await ended.wait()
        elif got.path != "/messages":
            await line.answer(405)
        else:
            await line.answer(202)
            stream, ended = streams[-1]
            if "id" in got.json and await _events(stream, steps_of(name, revision, got.json)):
                ended.set()

    async with scripted_web(script) as web:
        yield web.url


async def _events(line: Line, steps: list[Any]) -> bool:
    """Send all messages; return True if the stream ends after them."""
    for step in steps:
        if isinstance(step, HangUp):
            return True
        if isinstance(step, Half):
            await line.raw(b"event: message\ndata: " + step[: len(step) // 2])
            return True
        await line.raw(b"event: message\ndata: " + step + b"\n\n")
        while isinstance(step, Flood):
            await line.raw((b"event: message\ndata: " + step + b"\n\n") * 20)
    return False


WAYS: dict[str, Opens] = {
    "command": command,
    "memory": in_memory,
    "HTTP, JSON": http_json,
    "HTTP, events": http_events,
    "HTTP+SSE": sse_pair,
}
