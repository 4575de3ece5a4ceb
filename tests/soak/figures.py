"""What a process takes while it runs, and whether that grows."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

__all__ = ["LIMITS", "give_back", "grown", "growth", "resident_kb"]

LIMITS = {"objects": 0.05, "blocks": 0.02, "resident_kb": 0.05}
"""How much more there may be at the end than after the beginning, as a part of it."""
SLACK = {"objects": 300, "blocks": 1000, "resident_kb": 1024}
"""How much more there may be besides: what is made when it is first used, timers that have been
cancelled and are not yet dropped."""


def resident_kb() -> int:
    """How much memory this process has."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmRSS"].split()[0])


def give_back() -> None:
    """Give free memory back, where the C library can: what it keeps for later comes and goes."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


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


def grown(name: str, samples: Sequence[int]) -> list[str]:
    """What is wrong with these samples of something that has a limit."""
    before, after = compared(samples)
    if after <= before * (1 + LIMITS[name]) + SLACK[name]:
        return []
    return [f"{name} grow from {before:,} to {after:,}: {samples}"]
