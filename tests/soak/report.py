"""Report of the HTTP soak: acts, figures and failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

import mcp_wire
from tests.soak.figures import LIMITS, grown, growth
from tests.soak.server import State

__all__ = ["Report"]

MOST = 50


@dataclass
class Report:
    """Report that is filled while the soak runs."""

    seed: int
    complain: Callable[[str], None] = lambda what: None
    """Called at once with each failure."""
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of acts, by name and revision."""
    answers: int = 0
    """Requests that were answered correctly, without those that the client disconnected from."""
    expired: int = 0
    """Sessions that expired because the machine was busy."""
    rounds: list[State] = field(default_factory=list)
    """State of the server after each round, without clients."""
    peak_kb: int = 0
    seconds: float = 0.0
    status: int | None = None
    """Exit status of the server after SIGTERM; None if it did not exit."""
    warnings: Counter[str] = field(default_factory=Counter)
    """Lines of the server's log about its clients, by text."""
    wrong: list[str] = field(default_factory=list)
    found_wrong: int = 0
    """Number of failures, including those that are not kept."""

    def blame(self, what: Iterable[str]) -> None:
        """Record failures."""
        for one in what:
            self.found_wrong += 1
            self.complain(one)
            if len(self.wrong) < MOST:
                self.wrong.append(one)

    def growth(self) -> dict[str, float]:
        """Return the growth of each figure, as a part of its value after the warm-up."""
        return {name: growth([getattr(one, name) for one in self.rounds]) for name in LIMITS}

    def judge(self) -> None:
        """Record growth beyond the limits, with the kinds of objects that grow."""
        for name in LIMITS:
            what = grown(name, [getattr(one, name) for one in self.rounds])
            self.blame(f"{one}; {self._more()}" for one in what)

    def _more(self) -> str:
        known = [one.kinds for one in self.rounds if one.kinds]
        if len(known) < 2:
            return "no kinds"
        more = Counter(known[-1])
        more.subtract(known[0])
        return ", ".join(f"{kind} +{number}" for kind, number in more.most_common(8))

    def json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "answers": self.answers,
            "done": {f"{name} ({revision})": n for (name, revision), n in self.done.items()},
            "expired": self.expired,
            "rounds": [
                {name: getattr(one, name) for name in one.__struct_fields__ if name != "kinds"}
                for one in self.rounds
            ],
            "growth": {name: round(part, 4) for name, part in self.growth().items()},
            "peak_kb": self.peak_kb,
            "warnings": dict(self.warnings),
            "status": self.status,
            "wrong": self.wrong,
            "found_wrong": self.found_wrong,
        }

    def tables(self) -> list[Table]:
        """Return tables of the acts and the figures."""
        acts = Table("act", *mcp_wire.REVISIONS, title="how often", title_justify="left")
        for name in sorted({name for name, _ in self.done}):
            counts = [self.done[name, revision] for revision in mcp_wire.REVISIONS]
            acts.add_row(name, *(str(number or "") for number in counts))
        rounds = Table("after round", *LIMITS, title="the server, at rest", title_justify="left")
        for number, one in enumerate(self.rounds, 1):
            rounds.add_row(str(number), *(f"{getattr(one, name):,}" for name in LIMITS))
        parts = self.growth()
        rounds.add_section()
        rounds.add_row("growth", *(f"{parts[name]:+.2%}" for name in LIMITS))
        rounds.add_row("at most", *(f"{limit:+.2%}" for limit in LIMITS.values()))
        return [acts, rounds]
