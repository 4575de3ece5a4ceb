"""Memory figures of a running process, and their growth."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Sequence

__all__ = ["LIMITS", "give_back", "grown", "growth", "live_kb", "resident_kb"]

LIMITS = {"objects": 0.05, "blocks": 0.02, "resident_kb": 0.05}
"""Allowed growth, as a part of the figure after the warm-up."""
SLACK = {"objects": 300, "blocks": 1000, "resident_kb": 1024}
"""Allowed growth besides, in absolute numbers.

It covers objects made on first use, and cancelled timers that are not yet dropped.
"""


def resident_kb() -> int:
    """Return the resident memory of this process, in kB."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmRSS"].split()[0])


class _MallocInfo(ctypes.Structure):
    """Figures of the C library's allocator: `struct mallinfo2` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def live_kb() -> int:
    """Return the memory that is allocated and not freed, in kB.

    Resident memory counts what an allocator keeps, too: free pieces between those in use. They
    depend on the order of all that was allocated before, and look like a leak. Python's small
    objects are counted with `PYTHONMALLOC=malloc`. Without glibc it is the resident memory.
    """
    gc.collect()
    told = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if told is None:
        return resident_kb()
    told.restype = _MallocInfo
    figures = told()
    return int(figures.uordblks + figures.hblkhd) // 1024


def give_back() -> None:
    """Return free memory to the system where the C library can; its reserve comes and goes."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def compared(samples: Sequence[int]) -> tuple[int, int]:
    """Return the figure after the warm-up, and the figure at the end.

    The first third of the samples warms up. Of the rest, the first third is compared with the last,
    each by its least sample: a leak is in all of them. With fewer than three samples there is
    nothing to compare.
    """
    if len(samples) < 3:
        return 0, 0
    warm = samples[len(samples) // 3 :]
    third = len(warm) // 3 or 1
    return min(warm[:third]), min(warm[-third:])


def growth(samples: Sequence[int]) -> float:
    """Return the growth from the warm-up to the end, as a part of the former."""
    before, after = compared(samples)
    return after / before - 1 if before else 0.0


def grown(name: str, samples: Sequence[int]) -> list[str]:
    """Return a failure if samples of a limited figure grow beyond the limit."""
    before, after = compared(samples)
    if after <= before * (1 + LIMITS[name]) + SLACK[name]:
        return []
    return [f"{name} grow from {before:,} to {after:,}: {samples}"]
