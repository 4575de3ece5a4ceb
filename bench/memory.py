"""Memory benchmarks: HTTP sessions and open streams, and the memory left after they end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import uvloop

from bench.child import Child
from bench.programs.long_contents import BLOB_URI, TEXT_URI
from bench.requests import HANDSHAKE, PER_REQUEST, raw_post, request
from bench.sampling import Row, Settings, at_most, row_of
from bench.wire import Streams, Wire, allowing_files, get, listen, named

__all__ = ["rows"]

T = TypeVar("T")

MANY = 2000
STREAMS = 500
READS = 200
KB = 1024.0


class Weights(NamedTuple):
    """Memory of one item of many, and of the whole process after two runs."""

    each_kb: float
    after_mb: float
    after_more_mb: float


def rows(settings: Settings) -> Iterator[Row]:
    """Measure each in its own process against the limit, by resident memory."""
    with (
        allowing_files(MANY + 200),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):

        def measured(measure: Callable[[Child, int], Awaitable[T]]) -> list[T]:
            return [_in_child(runner, measure) for _ in range(settings.runs(3))]

        for each, many, limit_kb, measure in (
            ("idle session", "sessions", 3.0, _sessions),
            (f"listening stream of {PER_REQUEST}", "listening streams", 12.0, _streams),
        ):
            weights = measured(measure)
            yield _limited(each, [one.each_kb for one in weights], limit_kb)
            yield row_of(
                f"memory after {MANY:,} {many}, and {MANY:,} more",
                "MB",
                [(one.after_more_mb, one.after_mb) for one in weights],
            )
        yield _limited(f"stream of a session of {HANDSHAKE}", measured(_session_stream_kb), 16.0)
        yield row_of(f"memory after reads of 1 MiB, and {READS} more", "MB", measured(_reads_mb))


def _limited(name: str, sizes_kb: Sequence[float], limit_kb: float) -> Row:
    pairs = [(size_kb, limit_kb) for size_kb in sizes_kb]
    return row_of(f"{name} / {limit_kb:g} KB", "KB", pairs, at_most(1))


def _in_child(runner: asyncio.Runner, measure: Callable[[Child, int], Awaitable[T]]) -> T:
    async def measured(child: Child) -> T:
        return await measure(child, int(child.read_line()))

    with Child("http", "ours") as child:
        return runner.run(measured(child))


async def _sessions(child: Child, port: int) -> Weights:
    """Measure sessions after the handshake and one tool call."""
    async with Wire(port) as wire:

        async def turn() -> tuple[float, float]:
            before = child.resident_bytes()
            opened = [await wire.session() for _ in range(MANY)]
            added = child.resident_bytes() - before
            for headers in opened:
                await wire.ask(raw_post(headers, b"", "DELETE"))
            return added / KB / MANY, child.resident_bytes() / KB / KB

        for _ in range(200):
            await wire.session()
        each_kb, after_mb = await turn()
        _, after_more_mb = await turn()
        return Weights(each_kb, after_mb, after_more_mb)


async def _streams(child: Child, port: int) -> Weights:
    """Measure streams without sessions, with their connections."""

    async def turn() -> tuple[float, float]:
        each_kb = await _stream_kb(child, port, [listen()] * MANY)
        # Until the server has noticed that they are gone.
        await asyncio.sleep(0.3)
        return each_kb, child.resident_bytes() / KB / KB

    async with Streams(port) as warm:
        await warm.open(listen(), 50)
        each_kb, after_mb = await turn()
        _, after_more_mb = await turn()
        return Weights(each_kb, after_mb, after_more_mb)


async def _session_stream_kb(child: Child, port: int) -> float:
    # What the sessions take is a row of its own.
    openings = [get(port) for _ in range(50 + STREAMS)]
    async with Streams(port) as warm:
        await warm.open_each(openings[:50])
        return await _stream_kb(child, port, openings[50:])


async def _reads_mb(child: Child, port: int) -> tuple[float, float]:
    """Return the memory of the process after many long answers, and after the first of them."""
    reads = [
        raw_post(
            named("resources/read", uri),
            request(1, PER_REQUEST, "resources/read", {"uri": uri}),
        )
        for uri in (TEXT_URI, BLOB_URI)
    ]

    async def after_mb(times: int) -> float:
        for number in range(times):
            await wire.ask(reads[number % len(reads)])
        return child.resident_bytes() / KB / KB

    async with Wire(port) as wire:
        before_mb = await after_mb(READS // 10)
        return await after_mb(READS), before_mb


async def _stream_kb(child: Child, port: int, openings: Sequence[bytes]) -> float:
    """Return the memory that each open stream adds, with its connection."""
    async with Streams(port) as streams:
        await asyncio.sleep(0.2)
        before = child.resident_bytes()
        await streams.open_each(openings)
        # Until the server has begun to look whether its clients are still there.
        await asyncio.sleep(0.5)
        assert streams.ended == 0
        return (child.resident_bytes() - before) / KB / len(openings)
