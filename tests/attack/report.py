"""Report of the attacks: one row each, with the limits that nightly runs hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import msgspec
from rich.table import Table

from tests.attack.attacks import Outcome
from tests.attack.measure import Felt

__all__ = ["P99_MS", "SLOWEST_MS", "Row", "json_of", "table_of"]

SLOWEST_MS = 100.0
"""Most that an attack may add to the slowest call of another client."""
P99_MS = 20.0
"""Most that it may add to the time within which 99 of 100 calls of another client end."""


_OURS = re.compile(r"Traceback|never awaited|Task exception|Task was destroyed")
"""Pattern of the log lines that no peer may cause."""


@dataclass
class Row:
    """One attack, and what another client felt meanwhile."""

    on: str
    name: str
    times: int = 0
    answers: dict[str, int] = field(default_factory=dict[str, int])
    calls: int = 0
    p99_ms: float = 0.0
    slowest_ms: float = 0.0
    calm_p99_ms: float = 0.0
    """Time of 99 of 100 calls in the same seconds without the attack: the noise of the machine."""
    calm_slowest_ms: float = 0.0
    """Time of the slowest call without the attack."""
    peak_mb: float = 0.0
    """Memory at its peak beyond that before the attack."""
    log_lines: int = 0
    log_bytes: int = 0
    wrong: list[str] = field(default_factory=list[str])

    def take(self, said: bytes) -> None:
        """Take the outcome that an attacking process has printed."""
        try:
            outcome = msgspec.json.decode(said, type=Outcome)
        except msgspec.DecodeError:
            self.wrong.append("the attack did not come to an end")
            return
        self.times = outcome.answers.pop("times", 0)
        self.answers = dict(outcome.answers)
        self.wrong += outcome.wrong[:5]

    def felt(self, felt: Felt, calm: Felt | None = None) -> None:
        """Take the times of another client.

        Args:
            felt: Times during the attack.
            calm: Times before it; None if they were not measured.
        """
        self.calls, self.p99_ms, self.slowest_ms = len(felt.times_ms), felt.p99_ms, felt.slowest_ms
        self.wrong += felt.wrong[:5]
        if calm is not None:
            self.calm_p99_ms, self.calm_slowest_ms = calm.p99_ms, calm.slowest_ms
            self.wrong += calm.wrong[:5]

    def logged(self, lines: Sequence[str]) -> None:
        """Take the lines of the log; what is a failure of ours is wrong."""
        self.log_lines, self.log_bytes = len(lines), sum(map(len, lines))
        self.wrong += [line for line in lines if _OURS.search(line)][:5]

    def slow(self) -> list[str]:
        """Return what another client felt beyond the limits.

        What it feels without the attack, too, is no effect of the attack.
        """
        found: list[str] = []
        if self.slowest_ms - self.calm_slowest_ms > SLOWEST_MS:
            calm = f"without the attack {self.calm_slowest_ms:.0f} ms"
            found.append(f"the slowest call took {self.slowest_ms:.0f} ms, {calm}")
        if self.p99_ms - self.calm_p99_ms > P99_MS:
            calm = f"without the attack {self.calm_p99_ms:.0f} ms"
            found.append(f"one call of 100 took over {self.p99_ms:.0f} ms, {calm}")
        return found


def table_of(rows: Sequence[Row]) -> Table:
    """Return the report as a table."""
    table = Table(title="what another client feels, in ms", title_justify="left")
    for name in (
        "on",
        "attack",
        "times",
        "answers",
        "calls",
        "p99 (calm)",
        "slowest (calm)",
        "MB",
        "log",
        "wrong",
    ):
        table.add_column(name, justify="left" if name in ("on", "attack", "answers") else "right")
    for row in rows:
        answers = ", ".join(f"{count:,} of {what}" for what, count in sorted(row.answers.items()))
        table.add_row(
            *(row.on, row.name, f"{row.times:,}", answers, f"{row.calls:,}"),
            f"{row.p99_ms:.1f} ({row.calm_p99_ms:.1f})",
            f"{row.slowest_ms:.1f} ({row.calm_slowest_ms:.1f})",
            f"{row.peak_mb:.0f}",
            f"{row.log_lines} ({row.log_bytes:,} B)",
            str(len(row.wrong) + len(row.slow()) or ""),
        )
    return table


def json_of(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the report as JSON."""
    return [{**asdict(row), "slow": row.slow()} for row in rows]
