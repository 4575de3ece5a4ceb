"""What HTTP sessions and open streams weigh, and what is left of them when they have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TypeAlias, TypeVar

import uvloop

from bench.child import Child
from bench.requests import HANDSHAKE, PER_REQUEST, raw_post
from bench.sampling import Row, Settings, at_most, row_of
from bench.wire import Streams, Wire, allowing_files, get, listen

__all__ = ["rows"]

M = TypeVar("M")

MANY = 2000
STREAMS = 500
KB = 1024.0

Turn: TypeAlias = Callable[[int], Awaitable[None]]
"""`(port)`: opens many of something, and closes them all."""


def rows(settings: Settings) -> Iterator[Row]:
    """Each in a process of its own, against the limit; memory is what the system counts as such."""
    repetitions = 1 if settings.quick else 3
    with (
        allowing_files(MANY + 200),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):

        def limited(
            name: str, limit_kb: float, weigh: Callable[[Child, int], Awaitable[float]]
        ) -> Row:
            pairs = [(_in_child(runner, weigh), limit_kb) for _ in range(repetitions)]
            return row_of(f"{name} / {limit_kb:g} KB", "KB", pairs, at_most(1))

        yield limited("idle session", 6, _session_kb)
        for name, opening in (
            (f"listening stream of {PER_REQUEST}", lambda _: listen()),
            (f"stream of a session of {HANDSHAKE}", get),
        ):

            def stream_kb(
                child: Child, port: int, opening: Callable[[int], bytes] = opening
            ) -> Awaitable[float]:
                return _stream_kb(child, port, opening(port))

            yield limited(name, 16, stream_kb)
        for name, turn in (("sessions", _sessions), ("listening streams", _streams)):
            pairs = [_in_child(runner, partial(_after_more, turn)) for _ in range(repetitions)]
            yield row_of(f"memory after {MANY:,} more {name}", "MB", pairs, at_most(1.02))


def _in_child(runner: asyncio.Runner, measure: Callable[[Child, int], Awaitable[M]]) -> M:
    async def measured(child: Child) -> M:
        return await measure(child, int(child.read_line()))

    with Child("http", "ours") as child:
        return runner.run(measured(child))


# --- what one weighs ---


async def _session_kb(child: Child, port: int) -> float:
    """What a session adds that has shaken hands and called a tool."""
    async with Wire(port) as wire:
        for _ in range(200):
            await wire.session()
        before = child.resident_bytes()
        for _ in range(MANY):
            await wire.session()
        return (child.resident_bytes() - before) / KB / MANY


async def _stream_kb(child: Child, port: int, opening: bytes) -> float:
    """What an open stream adds, with its connection."""
    async with Streams(port) as warm, Streams(port) as streams:
        await warm.open(opening, 50)
        await asyncio.sleep(0.2)
        before = child.resident_bytes()
        await streams.open(opening, STREAMS)
        # Until the server has begun to look whether its clients are still there.
        await asyncio.sleep(0.5)
        return (child.resident_bytes() - before) / KB / STREAMS


# --- what is left ---


async def _after_more(turn: Turn, child: Child, port: int) -> tuple[float, float]:
    """Resident memory when twice as many have been opened and closed, and after the first half."""
    await turn(port)
    before = child.resident_bytes() / KB / KB
    await turn(port)
    return child.resident_bytes() / KB / KB, before


async def _sessions(port: int) -> None:
    async with Wire(port) as wire:
        for headers in [await wire.session() for _ in range(MANY)]:
            await wire.ask(raw_post(headers, b"", "DELETE"))


async def _streams(port: int) -> None:
    async with Streams(port) as streams:
        await streams.open(listen(), MANY)
        # Until the server has begun to look whether its clients are still there.
        await asyncio.sleep(0.3)
    # Until it has noticed that they are not.
    await asyncio.sleep(0.3)
