"""What a process takes while it runs, and whether that grows."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["compared", "growth", "resident_kb"]


def resident_kb() -> int:
    """How much memory this process has."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmRSS"].split()[0])


def compared(samples: Sequence[int]) -> tuple[int, int]:
    """How much it was after the beginning, and how much at the end.

    The first third warms up. Of the rest the first third is compared with the last, each by its
    least sample: what leaks is in all of them. Fewer than three samples are all beginning.
    """
    if len(samples) < 3:
        return 0, 0
    warm = samples[len(samples) // 3 :]
    third = len(warm) // 3 or 1
    return min(warm[:third]), min(warm[-third:])


def growth(samples: Sequence[int]) -> float:
    """How much more it is at the end, as a part of what it was after the beginning."""
    before, after = compared(samples)
    return after / before - 1 if before else 0.0
