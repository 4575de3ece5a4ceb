"""Alternating measurement of two sides, and its result as one row."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple, TypeVar

from msgspec import Struct

__all__ = [
    "Goal",
    "Row",
    "Settings",
    "at_least",
    "at_most",
    "compare",
    "cost_ns",
    "in_turn",
    "row_of",
]

T = TypeVar("T")


class Settings(NamedTuple):
    """Duration and event loop of the measurements."""

    quick: bool = False
    uvloop: bool = False
    smoke: bool = False
    """True measures each row once: it shows that the row runs, and no figure."""

    def repetitions(self, number: int) -> int:
        """Return the number of measurements of each side."""
        if self.smoke:
            return 1
        return max(3, number // 3) if self.quick else number

    def runs(self, number: int) -> int:
        """Return the number of runs of a program that is compared with a limit only."""
        return 1 if self.quick or self.smoke else number

    def calls(self, number: int) -> int:
        """Return the number of calls per measurement."""
        if self.smoke:
            return max(1, number // 30)
        return number // 3 if self.quick else number


class Goal(Struct, frozen=True):
    """Required ratio."""

    limit: float
    higher_is_better: bool

    def met(self, ratio: float) -> bool:
        """Return True if a ratio meets the goal."""
        return ratio >= self.limit if self.higher_is_better else ratio <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.higher_is_better else '≤'} {self.limit:g}"


def at_least(limit: float) -> Goal:
    """Return a lower bound, for rates."""
    return Goal(limit, higher_is_better=True)


def at_most(limit: float) -> Goal:
    """Return an upper bound, for times and sizes."""
    return Goal(limit, higher_is_better=False)


class Row(Struct, frozen=True, kw_only=True):
    """One comparison: `ratio` is ours / bare, `low` to `high` the middle half of its spread.

    A row of the speed contract is measured without a goal: the contract has it.
    """

    name: str
    unit: str
    ours: float
    bare: float
    ratio: float
    low: float
    high: float
    goal: Goal | None

    @property
    def met(self) -> bool | None:
        """True if the goal is met; None without one."""
        return None if self.goal is None else self.goal.met(self.ratio)

    @property
    def verdict(self) -> str:
        """The result as text."""
        return {None: "", True: "meets", False: "misses"}[self.met]


def compare(
    name: str,
    unit: str,
    ours: Callable[[], float],
    bare: Callable[[], float],
    *,
    repetitions: int,
    goal: Goal | None = None,
) -> Row:
    """Measure both sides with `in_turn` and return the row."""
    return row_of(name, unit, in_turn(ours, bare, repetitions), goal)


def in_turn(ours: Callable[[], T], bare: Callable[[], T], repetitions: int) -> list[tuple[T, T]]:
    """Measure both sides alternately, so that load on the machine affects both equally.

    Each ratio is that of two neighbours in time, of which once the one comes first and once the
    other: whoever comes second finds caches that are warmer. The first pair warms up, and does not
    count.
    """
    pairs = [(ours(), bare())]
    for number in range(repetitions):
        if number % 2:
            pairs.append((ours(), bare()))
        else:
            theirs = bare()
            pairs.append((ours(), theirs))
    return pairs[1:]


def row_of(
    name: str, unit: str, pairs: Sequence[tuple[float, float]], goal: Goal | None = None
) -> Row:
    """Return the row of measured pairs of ours and bare."""
    ratios = sorted(our / their for our, their in pairs)
    quarter = len(ratios) // 4
    return Row(
        name=name,
        unit=unit,
        ours=median(our for our, _ in pairs),
        bare=median(their for _, their in pairs),
        ratio=median(ratios),
        low=ratios[quarter],
        high=ratios[-1 - quarter],
        goal=goal,
    )


def cost_ns(run: Callable[[], object], times: int) -> float:
    """Return the CPU time of one run of a function, in nanoseconds."""
    started = time.process_time_ns()
    for _ in range(times):
        run()
    return (time.process_time_ns() - started) / times
