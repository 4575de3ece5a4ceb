"""Measurement of several sides in turn, and its result as one row."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct, field

from bench.about import About

__all__ = ["OURS", "Better", "Effort", "Report", "Row", "in_rounds", "status_of", "timed"]

Better: TypeAlias = Literal["more", "less"]

OURS = "mcp_gen"
"""Name of our side."""


class Effort(NamedTuple):
    """Length of the measurements; the default is that of a full run."""

    rounds: int = 5
    run_s: float = 0.25
    """Length of one measurement of one side."""
    warm_s: float = 1.0
    """Length of the calls before the first: a compiler at run time needs some seconds."""
    items: int = 500
    """Number of sessions, and of listeners."""
    runs: int = 5
    """Number of starts of a program, and of imports."""


class Row(Struct, frozen=True, kw_only=True):
    """Measurements of all sides, one of each side in each round."""

    name: str
    unit: str
    better: Better
    setting: str
    """`fast` or `plain`: with the packages of our extra `fast` on both sides, or on neither."""
    placed: str
    """Event loop, HTTP parser, allocator and processors of the sides."""
    values: dict[str, list[float]]
    not_offered: dict[str, str] = field(default_factory=dict[str, str])
    """Sides that cannot do this, with the reason."""

    def advantages(self, peer: str) -> list[float]:
        """Return how many times as good as a peer we were, round by round."""
        pairs = zip(self.values[OURS], self.values[peer], strict=True)
        if self.better == "more":
            return [ours / theirs for ours, theirs in pairs]
        return [theirs / ours for ours, theirs in pairs]

    @property
    def peers(self) -> list[str]:
        """Sides that were measured, but for ours."""
        return [name for name in self.values if name != OURS]

    def advantage(self, peer: str) -> float:
        """Return the median of `advantages`."""
        return median(self.advantages(peer))

    @property
    def worst(self) -> float:
        """Smallest advantage over any peer; infinite where no peer was measured."""
        return min(map(self.advantage, self.peers), default=float("inf"))

    @property
    def slower_than(self) -> list[str]:
        """Peers that were better than we in the median."""
        return [peer for peer in self.peers if self.advantage(peer) < 1]

    @property
    def verdict(self) -> str:
        """The result as text; empty if there was nothing to compare with."""
        if slower := self.slower_than:
            return f"slower than {', '.join(slower)}"
        return "first" if self.peers else ""


class Report(Struct, frozen=True, kw_only=True):
    """All rows of a run, with its circumstances."""

    about: About
    rows: list[Row]


def status_of(rows: Sequence[Row], *, strict: bool) -> int:
    """Return the exit status: 1 if a row is slower than a peer, and that matters."""
    return int(strict and any(row.slower_than for row in rows))


LONGEST_S = 15.0
"""No round of a row begins later: on a slow machine a row has fewer rounds."""


def in_rounds(sides: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """Measure every side in each round, each time beginning with another one.

    What slows the machine for a while slows neighbours, and whoever comes second finds caches that
    are warmer.
    """
    until_s = time.monotonic() + LONGEST_S
    values: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(rounds):
        if number and time.monotonic() > until_s:
            break
        first = number % len(names)
        for name in names[first:] + names[:first]:
            values[name].append(sides[name]())
    return values


def timed(
    rate: Callable[[int], float], effort: Effort, *, least: int = 1, most: int = 1 << 16
) -> Callable[[], float]:
    """Warm up a side, and return the measurement of as many calls as fill the time.

    Args:
        rate: Makes a number of calls and returns the figure.
        effort: Length of the measurement and of the calls before it.
        least: Smallest number of calls.
        most: Largest number of calls.
    """
    calls = least
    until_s = time.perf_counter() + effort.warm_s
    while True:
        started_s = time.perf_counter()
        rate(calls)
        now_s = time.perf_counter()
        per_call_s = (now_s - started_s) / calls
        calls = max(least, min(most, round(effort.run_s / per_call_s), calls * 8))
        if now_s >= until_s:
            break
    return lambda: rate(calls)
