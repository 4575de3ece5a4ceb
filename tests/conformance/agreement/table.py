"""Table of the suite's checks with the requirements that cover the same, and of disagreements."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from tests.conformance.suite import LegName, Verdict

__all__ = ["ANY", "Disagreement", "Scenario", "Side", "Table", "disagreements", "table"]

HERE = Path(__file__).parent
ANY = "*"
EVERY = "every"
"""Table of checks that any scenario may have."""

Side: TypeAlias = Literal["doctor", "suite"]


class Scenario(Struct, frozen=True, forbid_unknown_fields=True):
    """Scenario of the suite; the lines are about a check, or about those that begin alike (`*`).

    Args:
        covers: Requirements that say the same, by check.
        apart: Why no requirement does, by check.
        needs: What a server must offer for a check to be about it, such as `tools add`.
    """

    covers: dict[str, tuple[str, ...]] = {}
    apart: dict[str, str] = {}
    needs: dict[str, tuple[str, ...]] = {}


class Table:
    """Meaning of the checks of one leg of the suite, in requirements.

    Args:
        scenarios: The scenarios by name, or by how their names begin (`auth/*`); those of `every`
            have the checks of all of them.
    """

    def __init__(self, scenarios: dict[str, Scenario]) -> None:
        self._every = scenarios[EVERY]
        self.scenarios = {name: one for name, one in scenarios.items() if name != EVERY}

    def rows(self, scenario: str, check: str) -> tuple[str, ...] | None:
        """Return the requirements that cover a check; None if the table does not have it.

        They are empty for a check that none covers, for a reason.
        """
        own = self._lines(self._of(scenario), check)
        return self._lines(self._every, check) if own is None else own

    def needs(self, scenario: str, check: str) -> tuple[str, ...]:
        """Return what a server must offer for a check to be about it."""
        one = self._of(scenario)
        if self._lines(one, check) is None:
            return ()
        return (*one.needs.get(ANY, ()), *one.needs.get(check, ()))

    def _of(self, scenario: str) -> Scenario:
        named = [name for name in self.scenarios if _is_about(name, scenario)]
        return self.scenarios[max(named, key=len)] if named else Scenario()

    def _lines(self, one: Scenario, check: str) -> tuple[str, ...] | None:
        lines: dict[str, tuple[str, ...]] = {**dict.fromkeys(one.apart, ()), **one.covers}
        named = [line for line in lines if _is_about(line, check)]
        return lines[max(named, key=len)] if named else None

    def strangers(self, scenarios: Iterable[str]) -> list[str]:
        """Return the scenarios that are either in the suite or in the table, as sentences."""
        here, there = set(self.scenarios), set(scenarios)
        unknown = (one for one in there if not any(_is_about(name, one) for name in here))
        gone = (name for name in here if not any(_is_about(name, one) for one in there))
        return [
            *(f"the table has no scenario {name}" for name in sorted(unknown)),
            *(f"the suite has no scenario {name}" for name in sorted(gone)),
        ]

    def named(self) -> set[str]:
        """Return every requirement that the table names."""
        every = (self._every, *self.scenarios.values())
        return {id for one in every for rows in one.covers.values() for id in rows}


class Disagreement(Struct, frozen=True, forbid_unknown_fields=True):
    """Check on which the suite and the doctor disagree about a peer, and who is right.

    Args:
        leg: The leg of the suite.
        peer: The server or client.
        scenario: The scenario; `*` for all that have the check.
        checks: The checks of the suite.
        revisions: The revisions.
        suite: Verdict of the suite.
        doctor: Verdict of the doctor.
        right: Whose verdict the text of the specification confirms.
        why: Why.
        text: The place in the specification.
    """

    leg: LegName
    peer: str
    scenario: str
    checks: tuple[str, ...]
    revisions: tuple[str, ...]
    suite: Verdict
    doctor: Verdict
    right: Side
    why: str
    text: str


def _is_about(line: str, check: str) -> bool:
    return check.startswith(line[:-1]) if line.endswith(ANY) else check == line


def table(leg: LegName) -> Table:
    """Return the table of a leg."""
    read = (HERE / f"{leg}.toml").read_text("utf-8")
    return Table(msgspec.toml.decode(read, type=dict[str, Scenario]))


def disagreements() -> tuple[Disagreement, ...]:
    """Return the disagreements that are known."""
    read = (HERE / "disagreements.toml").read_text("utf-8")
    found = msgspec.toml.decode(read, type=dict[str, tuple[Disagreement, ...]])
    return found.get("disagreement", ())
