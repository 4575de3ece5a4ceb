"""What came of the HTTP soak: what was done, what it took, what is wrong."""

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
    """Filled while the soak runs."""

    seed: int
    complain: Callable[[str], None] = lambda what: None
    """Is told at once what is wrong."""
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each act was done, by its name and revision."""
    answers: int = 0
    """Requests that were answered as they must be; not those that were hung up on."""
    expired: int = 0
    """Sessions that were silent for too long because the machine was busy."""
    rounds: list[State] = field(default_factory=list)
    """How the server was after each round, when everybody had gone."""
    peak_kb: int = 0
    seconds: float = 0.0
    status: int | None = None
    """What the server ended with, told by SIGTERM to end; None if it did not."""
    warnings: Counter[str] = field(default_factory=Counter)
    """What the server's log says of its clients."""
    wrong: list[str] = field(default_factory=list)
    found_wrong: int = 0
    """How much is wrong, also beyond what is kept."""

    def blame(self, what: Iterable[str]) -> None:
        """Something is wrong."""
        for one in what:
            self.found_wrong += 1
            self.complain(one)
            if len(self.wrong) < MOST:
                self.wrong.append(one)

    def growth(self) -> dict[str, float]:
        """How much more there is of each at the end, as a part of what was there before."""
        return {name: growth([getattr(one, name) for one in self.rounds]) for name in LIMITS}

    def judge(self) -> None:
        """Blame what grows, and name the kinds of objects that there are more of."""
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
        """All of it."""
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
        """What was done, and what it took."""
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
