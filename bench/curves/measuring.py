"""A curve: one figure at a few values of one quantity, measured in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from statistics import median
from typing import Any, TypeAlias

from msgspec import Struct

from bench.about import About
from bench.child import Child
from bench.load import Load
from bench.peers.measuring import Effort, in_rounds, timed
from bench.requests import PER_REQUEST, call, raw_post
from bench.wire import named

__all__ = [
    "CONNECTIONS",
    "Bench",
    "Curve",
    "Measure",
    "Point",
    "Report",
    "add",
    "cost_us",
    "measured",
]

CONNECTIONS = 16

Measure: TypeAlias = Callable[[], float]


class Point(Struct, frozen=True):
    """Measurements at one value, one of each round."""

    at: str
    """The value as text: a number, or what is there."""
    values: list[float]

    @property
    def middle(self) -> float:
        """Median of the measurements."""
        return median(self.values)


class Curve(Struct, frozen=True, kw_only=True):
    """Points of some series, along one axis."""

    name: str
    along: str
    """The quantity of the horizontal axis."""
    unit: str
    placed: str
    """Event loop, HTTP parser, allocator and processors."""
    series: dict[str, list[Point]]


class Report(Struct, frozen=True, kw_only=True):
    """All curves of a run, with its circumstances."""

    about: About
    curves: list[Curve]


class Bench:
    """Circumstances of all measurements: the loop of the load, and how long they take."""

    def __init__(self, runner: asyncio.Runner, effort: Effort, chosen: slice) -> None:
        self.runner = runner
        self.effort = effort
        self._chosen = chosen

    def some(self, *values: int) -> Sequence[int]:
        """Return the values that are measured: all, or fewer of them for a short run."""
        return values[self._chosen]

    def at_most(self, number: int) -> int:
        """Return a number of things to make, fewer for a run that shows no figure."""
        return min(number, self.effort.items)


def add(tool: str = "add", headers: Mapping[str, str] = {}) -> bytes:
    """Return a call without a session."""
    return raw_post({**named("tools/call", tool), **headers}, call(1, PER_REQUEST, tool))


def cost_us(bench: Bench, child: Child, port: int, requests: Sequence[bytes]) -> Measure:
    """Return the measurement of a call: CPU of the server in microseconds."""
    load = Load(child, port, requests)

    def rate(number: int) -> float:
        return bench.runner.run(load.rate(number))

    measure = timed(rate, bench.effort, least=len(requests))
    return lambda: 1e6 / measure()


def measured(
    bench: Bench, series: Mapping[str, Mapping[Any, Callable[[ExitStack], Measure]]]
) -> dict[str, list[Point]]:
    """Prepare every point of every series, then measure all in turn."""
    with ExitStack() as stack:
        prepared = {
            (name, str(at)): prepare(stack)
            for name, points in series.items()
            for at, prepare in points.items()
        }
        labels = {f"{name}\n{at}": measure for (name, at), measure in prepared.items()}
        values = in_rounds(labels, bench.effort.rounds)
    return {
        name: [Point(str(at), values[f"{name}\n{at}"]) for at in points]
        for name, points in series.items()
    }
