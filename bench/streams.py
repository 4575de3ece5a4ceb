"""Notification benchmarks: time until a change reaches all listeners."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import uvloop

from bench.child import Child
from bench.requests import PER_REQUEST, call, raw_post
from bench.sampling import Row, Settings, compare
from bench.wire import Streams, allowing_files, listen, named

__all__ = ["rows"]

STREAMS = 500


def rows(settings: Settings) -> Iterator[Row]:
    """Measure the wall-clock time until the last of many streams is notified."""
    with (
        allowing_files(2 * STREAMS + 200),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        Child("http", "ours") as ours,
        Child("http", "bare_streams") as bare,
    ):
        change = raw_post(named("tools/call", "change"), call(1, PER_REQUEST, "change"))

        def spread(child: Child) -> Callable[[], float]:
            streams = Streams(int(child.read_line()))
            runner.run(streams.open(listen(), STREAMS))
            return lambda: runner.run(streams.spread_ms(change))

        yield compare(
            f"a change told to {STREAMS} streams",
            "ms",
            spread(ours),
            spread(bare),
            repetitions=settings.repetitions(30),
        )
