"""A peer that sends much at once leaves others their turns of the event loop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from typing import Any, cast

import pytest

from mcp_gen.core.transport.sse import StreamPosition
from mcp_gen.transports.command import CommandTransport
from mcp_gen.transports.http_client.endpoint import CHUNKS_AT_ONCE, read_whole
from mcp_gen.transports.http_client.listening import events_of
from mcp_gen.transports.lines import LINES_AT_ONCE
from mcp_gen.transports.streams import StreamTransport

WAIT_S = 30.0
MANY = 20_000
"""Lines or chunks that arrive at once."""
PROGRAM = f"import sys; sys.stdout.write('x\\n' * {MANY}); sys.stdout.flush(); sys.stdin.read()"


class Counted:
    """Receiver that counts its messages."""

    def __init__(self) -> None:
        self.count = 0
        self.first = asyncio.Event()
        self.all = asyncio.Event()
        self.ended = asyncio.Event()

    def receive(self, message: bytes) -> None:
        self.count += 1
        self.first.set()
        if self.count == MANY:
            self.all.set()

    def oversized(self, limit_bytes: int) -> None:
        raise AssertionError("no message is too long")

    def closed(self, error: BaseException | None) -> None:
        self.ended.set()


class Body:
    """Response whose body has arrived whole."""

    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, *chunks: bytes, passed: Callable[[bytes], None] | None = None) -> None:
        self._chunks = chunks
        self._passed = passed

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for chunk in self._chunks:
            yield chunk
            if self._passed is not None:
                self._passed(chunk)

    async def aclose(self) -> None:
        pass


@asynccontextmanager
async def turns_of(counted: Counted) -> AsyncIterator[list[int]]:
    """Note at each turn of the event loop how many messages there were."""
    noted = [0]

    async def note() -> None:
        while True:
            noted.append(counted.count)
            await asyncio.sleep(0)

    noting = asyncio.create_task(note())
    try:
        yield noted
    finally:
        noted.append(counted.count)
        noting.cancel()
        with suppress(asyncio.CancelledError):
            await noting


async def from_a_socket(counted: Counted) -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(b"x\n" * MANY)
    transport = StreamTransport(reader, cast("Any", Unused()))
    await transport.start(counted)
    await counted.all.wait()
    await transport.aclose()


class Unused:
    """Writer to which nothing is written."""

    transport: Any = None

    def write(self, data: bytes) -> None:
        raise AssertionError("nothing is sent")

    async def drain(self) -> None:
        pass

    def close(self) -> None:
        pass

    async def wait_closed(self) -> None:
        pass


async def from_a_command(counted: Counted) -> None:
    transport = CommandTransport([sys.executable, "-S", "-c", PROGRAM])
    await transport.start(counted)
    await counted.all.wait()
    await transport.aclose()


async def from_events(counted: Counted) -> None:
    await read_events(counted, b"data: x\n\n" * MANY)


async def from_events_in_chunks(counted: Counted) -> None:
    await read_events(counted, *[b"data: x\n\n" * 3] * (MANY // 3 + 1))


async def read_events(counted: Counted, *chunks: bytes) -> None:
    async for event in events_of(Body(*chunks), StreamPosition(), 1000):
        counted.receive(event.data)


async def from_chunks(counted: Counted) -> None:
    await read_whole(Body(*[b"x"] * MANY, passed=counted.receive), MANY)


@pytest.mark.parametrize(
    ("way", "most"),
    [
        (from_a_socket, LINES_AT_ONCE),
        (from_a_command, LINES_AT_ONCE),
        (from_events, LINES_AT_ONCE),
        (from_events_in_chunks, LINES_AT_ONCE),
        (from_chunks, CHUNKS_AT_ONCE),
    ],
)
async def test_what_arrives_at_once_is_read_in_many_turns_of_the_loop(
    way: Callable[[Counted], Awaitable[None]], most: int
) -> None:
    counted = Counted()
    async with asyncio.timeout(WAIT_S), turns_of(counted) as noted:
        await way(counted)
    assert counted.count >= MANY
    assert max(b - a for a, b in pairwise(noted)) <= most


async def test_all_lines_of_a_command_that_ends_at_once_are_read_before_its_end() -> None:
    counted = Counted()
    transport = CommandTransport([sys.executable, "-S", "-c", PROGRAM.partition("; sys.stdin")[0]])
    async with asyncio.timeout(WAIT_S):
        await transport.start(counted)
        await counted.ended.wait()
        await transport.aclose()
    assert counted.count == MANY


async def test_lines_that_are_left_at_the_end_of_a_command_are_read() -> None:
    counted = Counted()
    transport = CommandTransport([sys.executable, "-S", "-c", PROGRAM])
    async with asyncio.timeout(WAIT_S):
        await transport.start(counted)
        protocol: Any = transport._protocol
        await counted.first.wait()
        left = protocol._left.count(b"\n")
        before = counted.count
        protocol.pipe_connection_lost(1, None)
        assert counted.count - before == left > 0
        await transport.aclose()
