"""What a process takes while it runs, and whether that grows."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

__all__ = ["growth", "resident_kb"]


def resident_kb() -> int:
    """How much memory this process has."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmRSS"].split()[0])


def growth(samples: Sequence[int]) -> float:
    """How much more it is at the end, as a part of what it was after the beginning.

    The first third warms up. Of the rest the last third is compared with the first, by their
    medians: 0 where there are too few samples for that.
    """
    warm = samples[len(samples) // 3 :]
    third = len(warm) // 3 or 1
    if len(samples) < 3:
        return 0.0
    before = statistics.median_low(warm[:third])
    return statistics.median_low(warm[-third:]) / before - 1 if before else 0.0
