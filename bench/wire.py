"""HTTP connections of the benchmarks: one request at a time, or event streams."""

from __future__ import annotations

import asyncio
import http.client
import resource
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from bench.requests import HANDSHAKE, PER_REQUEST, call, initialize, initialized, raw_post, request

__all__ = [
    "HEADERS",
    "Streams",
    "Wire",
    "allowing_files",
    "begin_session",
    "check_answers",
    "get",
    "header",
    "listen",
    "named",
    "post",
]

HEADERS = {
    "host": "127.0.0.1",
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
NEWS = b"list_changed"
WAIT_S = 20.0

_LAST_CHUNK = b"0\r\n\r\n"
_LISTEN = "subscriptions/listen"
_WANTED = {"notifications": {"toolsListChanged": True}}


# --- requests ---


def named(method: str, name: str | None = None) -> dict[str, str]:
    """Return the headers of a sessionless request, with its method and name."""
    about = {} if name is None else {"mcp-name": name}
    return {**HEADERS, "mcp-protocol-version": PER_REQUEST, "mcp-method": method, **about}


def listen() -> bytes:
    """Return the request that opens a stream without a session."""
    return raw_post(named(_LISTEN), request(1, PER_REQUEST, _LISTEN, _WANTED))


def get(port: int) -> bytes:
    """Start a session and return the request that opens its stream; a second one ends the first."""
    return raw_post({**begin_session(port), "accept": "text/event-stream"}, b"", "GET")


def begin_session(port: int) -> dict[str, str]:
    """Shake hands, and return the headers of the session."""
    answered, _ = post(port, HEADERS, initialize(0))
    headers = {
        **HEADERS,
        "mcp-protocol-version": HANDSHAKE,
        "mcp-session-id": answered["mcp-session-id"],
    }
    post(port, headers, initialized())
    return headers


def check_answers(ours: int, bare: int, headers: Mapping[str, str], body: bytes) -> None:
    """Check that both do the same work."""
    answers: list[Any] = [
        msgspec.json.decode(post(port, headers, body)[1]) for port in (ours, bare)
    ]
    assert answers[0] == answers[1], answers


def post(
    port: int, headers: Mapping[str, str], body: bytes
) -> tuple[http.client.HTTPMessage, bytes]:
    """Send one request on its own connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", "/mcp", body, dict(headers))
        answer = connection.getresponse()
        return answer.headers, answer.read()
    finally:
        connection.close()


# --- one connection ---


class Wire:
    """One keep-alive connection with one request at a time."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Wire:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self, message: bytes) -> tuple[bytes, bytes]:
        """Send a request and return the head and body of the answer."""
        self._writer.write(message)
        head = await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), WAIT_S)
        assert head.startswith(b"HTTP/1.1 2"), head
        size = int(header(head, b"content-length") or 0)
        return head, await self._reader.readexactly(size)

    async def session(self) -> dict[str, str]:
        """Start a session, call a tool in it, and return its headers."""
        head, _ = await self.ask(raw_post(HEADERS, initialize(0)))
        id = header(head, b"mcp-session-id").decode()
        headers = {**HEADERS, "mcp-protocol-version": HANDSHAKE, "mcp-session-id": id}
        await self.ask(raw_post(headers, initialized()))
        await self.ask(raw_post(headers, call(1, HANDSHAKE)))
        return headers


def header(head: bytes, name: bytes) -> bytes:
    """Return the value of a header; empty if absent."""
    for line in head.split(b"\r\n"):
        key, _, value = line.partition(b": ")
        if key.lower() == name:
            return value
    return b""


# --- many streams ---


class Streams:
    """Open streams, with a wait for all of them."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: list[asyncio.WriteTransport] = []
        self.ended = 0
        """Number of streams that the server has ended."""
        self._missing = 0
        self._all: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Streams:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.aclose()

    async def open(self, opening: bytes, number: int) -> None:
        """Open streams with one request, and wait until each has started."""
        await self.open_each([opening] * number)

    async def open_each(self, openings: Sequence[bytes]) -> None:
        """Open a stream with each request, and wait until each has started."""
        loop = asyncio.get_running_loop()
        self._missing, self._all = len(openings), loop.create_future()
        for opening in openings:
            transport, _ = await loop.create_connection(
                partial(_Stream, self), "127.0.0.1", self._port
            )
            self._open.append(transport)
            transport.write(opening)
        await asyncio.wait_for(self._all, WAIT_S)

    async def spread_ms(self, change: bytes, *others: Streams) -> float:
        """Make a change, wait until every stream is notified, and return the time.

        Args:
            change: Request that makes the change.
            others: Streams of other nodes, which are notified, too.
        """
        async with Wire(self._port) as wire:
            notified = [one.expect() for one in (self, *others)]
            started = time.perf_counter()
            await wire.ask(change)
            await asyncio.wait_for(asyncio.gather(*notified), WAIT_S)
            return (time.perf_counter() - started) * 1000

    def expect(self) -> asyncio.Future[None]:
        """Return a future of the moment in which every stream has been notified."""
        self._missing = len(self._open)
        self._all = asyncio.get_running_loop().create_future()
        return self._all

    def count(self) -> None:
        """Count a stream that received the awaited message."""
        self._missing -= 1
        if not self._missing and self._all and not self._all.done():
            self._all.set_result(None)

    def aclose(self) -> None:
        """Close all connections."""
        for transport in self._open:
            transport.close()
        self._open.clear()


class _Stream(asyncio.Protocol):
    """One open stream."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._begun = False

    def data_received(self, data: bytes) -> None:
        if data.endswith(_LAST_CHUNK):
            self._streams.ended += 1
        if not self._begun:
            if b"\r\n\r\n" in data:
                assert data.startswith(b"HTTP/1.1 200 "), data
                self._begun = True
                self._streams.count()
        elif NEWS in data:
            self._streams.count()


@contextmanager
def allowing_files(number: int) -> Generator[None]:
    """Raise the open-file limit of this process and of the children started meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(number, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
