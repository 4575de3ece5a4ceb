"""Benchmarks of pauses: the slowest of many calls, by the clock."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from functools import partial

import uvloop

from bench.child import Child, printed_by
from bench.http import per_request
from bench.load import Load
from bench.requests import PER_REQUEST
from bench.sampling import Row, Settings, compare, in_turn, row_of

__all__ = ["rows"]

CALLS = 4000

_PROGRAM = """
import gc, sys, time
from bench.programs.ours_http import server
app = server.asgi()
gc.collect()
if "frozen" in sys.argv:
    gc.freeze()
started = time.perf_counter()
gc.collect()
print((time.perf_counter() - started) * 1000)
"""


def rows(settings: Settings) -> Iterator[Row]:
    """Measure a server whose first objects are frozen, and one with the collector as it is."""
    with (
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        Child("http", "frozen") as frozen,
        Child("http", "ours") as usual,
    ):
        loads = [
            Load(child, int(child.read_line()), per_request("add")) for child in (frozen, usual)
        ]
        calls = settings.calls(CALLS)
        pairs = in_turn(
            lambda: runner.run(loads[0].times_ms(calls)),
            lambda: runner.run(loads[1].times_ms(calls)),
            settings.repetitions(20),
        )
        for name, place in (("99 of 100 calls", 0.99), ("the slowest call", 1.0)):
            yield row_of(
                f"{name}, HTTP, {PER_REQUEST}, objects of the start frozen",
                "ms",
                [(_at(place, ours), _at(place, others)) for ours, others in pairs],
            )
    yield compare(
        "a collection of all objects, those of the start frozen",
        "ms",
        partial(_collection_ms, "frozen"),
        partial(_collection_ms, "as it is"),
        repetitions=settings.repetitions(6),
    )


def _collection_ms(how: str) -> float:
    """Return how long the garbage collector looks through all objects of a server once."""
    (took_ms,) = printed_by([sys.executable, "-c", _PROGRAM, how])
    return took_ms


def _at(place: float, times_ms: list[float]) -> float:
    """Return the time that a share of all calls keeps to."""
    return times_ms[min(len(times_ms) - 1, int(place * len(times_ms)))]
