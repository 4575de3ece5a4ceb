"""What a process takes while it runs, and whether that grows."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["growth", "resident_kb"]


def resident_kb() -> int:
    """How much memory this process has."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmRSS"].split()[0])


def growth(samples: Sequence[int]) -> float:
    """How much more it is at the end, as a part of what it was after the beginning.

    The first third warms up. Of the rest the last third is compared with the first, each by its
    least sample: what leaks is in all of them. 0 where there are too few samples for that.
    """
    warm = samples[len(samples) // 3 :]
    third = len(warm) // 3 or 1
    if len(samples) < 3 or not min(warm[:third]):
        return 0.0
    return min(warm[-third:]) / min(warm[:third]) - 1
