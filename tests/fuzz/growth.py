"""Growth of a target's memory over one run of a worker."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MOST", "SAMPLES", "Growth", "growth"]

MOST = 0.05
"""Allowed growth, as a part of the memory in the second tenth."""
SAMPLES = 20
"""Least number of samples that can be compared: with fewer the caches are still being filled."""


class Growth:
    """Memory in the second and in the last tenth of a run: the least of each, as a leak stays."""

    def __init__(self, second_kb: float, last_kb: float) -> None:
        self.second_kb = second_kb
        self.last_kb = last_kb

    @property
    def part(self) -> float:
        """Growth as a part of the memory in the second tenth."""
        return self.last_kb / self.second_kb - 1 if self.second_kb else 0.0

    @property
    def is_too_much(self) -> bool:
        """Return True if it is beyond what is allowed."""
        return self.part > MOST

    def __str__(self) -> str:
        return f"{self.second_kb:,.0f} KB to {self.last_kb:,.0f} KB ({self.part:+.1%})"


def growth(samples: Sequence[int]) -> Growth | None:
    """Return the growth from the second tenth to the last; None for too few samples."""
    if len(samples) < SAMPLES:
        return None
    tenth = len(samples) // 10
    return Growth(min(samples[tenth : 2 * tenth]), min(samples[-tenth:]))
