"""What an open HTTP session and an open stream weigh, and how fast news reaches many streams."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial

import uvloop

from bench.child import Child
from bench.http import HEADERS, begin_session, named
from bench.requests import (
    HANDSHAKE,
    PER_REQUEST,
    call,
    initialize,
    initialized,
    raw_post,
    request,
)
from bench.sampling import Row, Settings, at_most, compare

__all__ = ["rows"]

SESSIONS = 2000
STREAMS = 500
WAIT_S = 20.0
KB = 1024.0

_LISTEN = "subscriptions/listen"
_WANTED = {"notifications": {"toolsListChanged": True}}
NEWS = b"list_changed"


def rows(settings: Settings) -> Iterator[Row]:
    """Memory against its limits, then news against a bare program."""
    _allow_files(2 * STREAMS + 200)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:

        def measured(weigh: Callable[[Child, int], float]) -> Callable[[], float]:
            def measure() -> float:
                with Child("http", "ours") as ours:
                    return weigh(ours, int(ours.read_line()))

            return measure

        repetitions = settings.repetitions(3)
        yield compare(
            "idle session / 6 KB",
            "KB",
            measured(lambda child, port: runner.run(_session_kb(child, port))),
            lambda: 6.0,
            repetitions=repetitions,
            goal=at_most(1),
        )
        for name, opens in (
            (f"listening stream of {PER_REQUEST}", _listen),
            (f"stream of a session of {HANDSHAKE}", _get),
        ):
            yield compare(
                f"{name} / 16 KB",
                "KB",
                measured(lambda child, port, o=opens: runner.run(_stream_kb(child, port, o(port)))),
                lambda: 16.0,
                repetitions=repetitions,
                goal=at_most(1),
            )
        yield compare(
            f"memory after {SESSIONS} more sessions, opened and closed",
            "MB",
            *_before_and_after(runner),
            repetitions=repetitions,
            goal=at_most(1.02),
        )
        yield from _news(runner, settings)


# --- memory ---


async def _session_kb(child: Child, port: int) -> float:
    """What a session adds that has shaken hands and called a tool."""
    async with _Wire(port) as wire:
        await _sessions(wire, 200)
        before = child.resident_bytes()
        await _sessions(wire, SESSIONS)
        return (child.resident_bytes() - before) / KB / SESSIONS


async def _sessions(wire: _Wire, number: int) -> list[bytes]:
    """Begin sessions, and use each once; their ids."""
    return [await _session(wire) for _ in range(number)]


async def _session(wire: _Wire) -> bytes:
    head, _ = await wire.ask(raw_post(HEADERS, initialize(0)))
    id = _header(head, b"mcp-session-id")
    headers = {**HEADERS, "mcp-protocol-version": HANDSHAKE, "mcp-session-id": id.decode()}
    await wire.ask(raw_post(headers, initialized()))
    await wire.ask(raw_post(headers, call(1, HANDSHAKE)))
    return id


def _before_and_after(
    runner: asyncio.Runner,
) -> tuple[Callable[[], float], Callable[[], float]]:
    """Resident memory after twice as many sessions, and before the second half."""
    sizes: list[float] = []

    async def turn(wire: _Wire) -> None:
        for id in await _sessions(wire, SESSIONS):
            headers = {**HEADERS, "mcp-session-id": id.decode()}
            await wire.ask(raw_post(headers, b"", "DELETE"))

    async def measure(child: Child, port: int) -> float:
        async with _Wire(port) as wire:
            await turn(wire)
            sizes.append(child.resident_bytes() / KB / KB)
            await turn(wire)
            return child.resident_bytes() / KB / KB

    def after() -> float:
        with Child("http", "ours") as child:
            return runner.run(measure(child, int(child.read_line())))

    return after, lambda: sizes[-1]


async def _stream_kb(child: Child, port: int, opening: bytes) -> float:
    """What an open stream adds, with its connection."""
    async with _Streams(port) as warm, _Streams(port) as streams:
        await warm.open(opening, 50)
        await asyncio.sleep(0.2)
        before = child.resident_bytes()
        await streams.open(opening, STREAMS)
        # Until the server has begun to look whether its clients are still there.
        await asyncio.sleep(0.5)
        return (child.resident_bytes() - before) / KB / STREAMS


def _listen(port: int) -> bytes:
    """The bytes that open a stream where there are no sessions."""
    headers = {**named(""), "mcp-method": _LISTEN}
    del headers["mcp-name"]
    return raw_post(headers, request(1, PER_REQUEST, _LISTEN, _WANTED))


def _get(port: int) -> bytes:
    """The bytes that open one more stream of a session."""
    headers = {**begin_session(port), "accept": "text/event-stream"}
    return raw_post(headers, b"", "GET")


# --- news ---


def _news(runner: asyncio.Runner, settings: Settings) -> Iterator[Row]:
    """Until the last of many streams has heard of a change."""
    with Child("http", "ours") as ours, Child("http", "bare_streams") as bare:
        our_port, bare_port = int(ours.read_line()), int(bare.read_line())
        opened = [
            runner.run(_opened(port, opening))
            for port, opening in ((our_port, _listen(our_port)), (bare_port, _listen(bare_port)))
        ]
        change = raw_post(named("change"), call(1, PER_REQUEST, "change"))

        def spread(streams: _Streams) -> Callable[[], float]:
            return lambda: runner.run(streams.spread_ms(change))

        yield compare(
            f"a change told to {STREAMS} streams",
            "ms",
            spread(opened[0]),
            spread(opened[1]),
            repetitions=settings.repetitions(30),
            goal=at_most(2),
        )
        for streams in opened:
            runner.run(streams.close())


async def _opened(port: int, opening: bytes) -> _Streams:
    streams = _Streams(port)
    await streams.open(opening, STREAMS)
    return streams


# --- the wire ---


class _Stream(asyncio.Protocol):
    """One open stream."""

    def __init__(self, streams: _Streams) -> None:
        self._streams = streams
        self._begun = False

    def data_received(self, data: bytes) -> None:
        if not self._begun:
            if b"\r\n\r\n" in data:
                assert data.startswith(b"HTTP/1.1 200 "), data
                self._begun = True
                self._streams.count()
        elif NEWS in data:
            self._streams.count()


class _Streams:
    """Open streams, and what waits for all of them."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: list[asyncio.WriteTransport] = []
        self._missing = 0
        self._all: asyncio.Future[None] | None = None

    async def __aenter__(self) -> _Streams:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def count(self) -> None:
        """One more stream has got what is waited for."""
        self._missing -= 1
        if not self._missing and self._all and not self._all.done():
            self._all.set_result(None)

    async def open(self, opening: bytes, number: int) -> None:
        """Open streams, and wait until each has begun."""
        loop = asyncio.get_running_loop()
        self._missing, self._all = number, loop.create_future()
        for _ in range(number):
            transport, _ = await loop.create_connection(
                partial(_Stream, self), "127.0.0.1", self._port
            )
            self._open.append(transport)
            transport.write(opening)
        await asyncio.wait_for(self._all, WAIT_S)

    async def spread_ms(self, change: bytes) -> float:
        """Make a change, and wait until every stream has heard of it."""
        async with _Wire(self._port) as wire:
            self._missing = len(self._open)
            self._all = asyncio.get_running_loop().create_future()
            started = time.perf_counter()
            await wire.ask(change)
            await asyncio.wait_for(self._all, WAIT_S)
            return (time.perf_counter() - started) * 1000

    async def close(self) -> None:
        """Hang up on all of them."""
        for transport in self._open:
            transport.close()


class _Wire:
    """One keep-alive connection, asked one thing at a time."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> _Wire:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self, message: bytes) -> tuple[bytes, bytes]:
        """Send a request; the head and the body of its answer."""
        self._writer.write(message)
        head = await asyncio.wait_for(self._reader.readuntil(b"\r\n\r\n"), WAIT_S)
        assert head.startswith(b"HTTP/1.1 2"), head
        size = int(_header(head, b"content-length") or 0)
        return head, await self._reader.readexactly(size)


def _header(head: bytes, name: bytes) -> bytes:
    lines = (line.partition(b": ") for line in head.lower().split(b"\r\n"))
    found = [value for key, _, value in lines if key == name]
    # Ids are told apart by case: look them up again as they came.
    at = head.lower().find(found[0]) if found else 0
    return head[at : at + len(found[0])] if found else b""


def _allow_files(number: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < number:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(number, hard), hard))
