"""The report: a table per package, the faults that were not found, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.mutants.places import MIN_PER_PACKAGE, PACKAGES, Place, diff
from tests.mutants.running import Outcome

__all__ = ["Line", "Report", "Result"]

SHOWN_FILES = 6
NOT_FOUND = ("only full", "survived", "unreached")


@dataclass(frozen=True, slots=True)
class Result:
    """One fault and what became of it; without an outcome it is equivalent, or was not tried."""

    place: Place
    outcome: Outcome | None
    reason: str = ""
    """Why it is equivalent, or ""."""


@dataclass(frozen=True, slots=True)
class Line:
    """Numbers of one package, or of all."""

    name: str
    killed: int
    timeout: int
    only_full: int
    survived: int
    equivalent: int
    left: int

    @property
    def tried(self) -> int:
        return self.killed + self.timeout + self.only_full + self.survived

    @property
    def says_something(self) -> bool:
        """Return True unless the run ended when few faults had been tried."""
        return not self.left or self.tried >= MIN_PER_PACKAGE

    @property
    def found(self) -> int:
        """Number of faults that `nox -s tests` finds."""
        return self.killed + self.timeout

    @property
    def percent(self) -> float:
        """Share of the faults that were found; 100 if none was tried."""
        return _percent(self.found, self.tried)

    @property
    def percent_of_full(self) -> float:
        """Share that `nox -s tests` finds of the faults that `nox -s tests_full` finds."""
        return _percent(self.found, self.found + self.only_full)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 100.0


class Report:
    """Report of one run.

    Args:
        results: Every chosen fault.
        root: The checkout.
        min_total: Percentage of faults to be found over all.
        min_package: The same for each package.
        min_full: The same of the faults that `nox -s tests_full` finds; None if it was not asked.
    """

    def __init__(
        self,
        results: Sequence[Result],
        root: Path,
        min_total: float,
        min_package: float,
        min_full: float | None = None,
    ) -> None:
        self._results = results
        self._root = root
        self._min_total = min_total
        self._min_package = min_package
        self._min_full = min_full

    def lines(self) -> list[Line]:
        """Return the numbers of each package that has any, and then those of all."""
        named = {one.place.package for one in self._results}
        packages = [package for package in PACKAGES if package in named]
        return [*(self._line(package, package) for package in packages), self._line("all", "")]

    def _line(self, name: str, package: str) -> Line:
        of_package = [one for one in self._results if package in ("", one.place.package)]
        statuses = [one.outcome.status for one in of_package if one.outcome and not one.reason]
        return Line(
            name,
            statuses.count("killed"),
            statuses.count("timeout"),
            statuses.count("only full"),
            statuses.count("survived") + statuses.count("unreached"),
            sum(bool(one.reason) for one in of_package),
            sum(one.outcome is None and not one.reason for one in of_package),
        )

    def survivors(self) -> list[Result]:
        """Return the faults that `nox -s tests` does not find."""
        return [
            one
            for one in self._results
            if one.outcome and not one.reason and one.outcome.status in NOT_FOUND
        ]

    def faults(self) -> list[str]:
        """Return the thresholds that were missed, as far as what was tried says something."""
        *packages, total = self.lines()
        if not total.says_something:
            return [f"{total.tried} faults were tried: too few to judge by"]
        missed = [
            f"{line.name}: {line.percent:.0f} % found, expected {self._min_package:g} %"
            for line in packages
            if line.says_something and line.percent < self._min_package
        ]
        if total.percent < self._min_total:
            missed.append(f"all: {total.percent:.1f} % found, expected {self._min_total:g} %")
        if self._min_full is not None and total.percent_of_full < self._min_full:
            missed.append(f"{self._of_full(total)}, expected {self._min_full:g} %")
        return missed

    def show(self, console: Console) -> None:
        """Print the faults that were not found as diffs, and then the table."""
        for one in self.survivors():
            console.print(self.about(one), markup=False, highlight=False, soft_wrap=True)
        table = Table()
        full = ("only full",) if self._min_full is not None else ()
        columns = ("package", "found", "by time", *full, "not found", "equivalent", "left", "%")
        for column in columns:
            table.add_column(column, justify="left" if column == "package" else "right")
        *packages, total = self.lines()
        for line in (*packages, None, total):
            if line is None:
                table.add_section()
                continue
            only = (line.only_full,) if full else ()
            left = (line.survived, line.equivalent, line.left)
            numbers = (line.killed, line.timeout, *only, *left)
            table.add_row(line.name, *map(str, numbers), f"{line.percent:.1f}")
        console.print(table)
        if full:
            console.print(self._of_full(total), markup=False, highlight=False)
        for missed in self.faults():
            console.print(missed, markup=False, highlight=False)

    def _of_full(self, total: Line) -> str:
        every = total.found + total.only_full
        share = f"{total.percent_of_full:.1f} %"
        return f"of {every} faults that all cases find, `nox -s tests` finds {total.found}: {share}"

    def about(self, result: Result) -> str:
        """Return the diff of a fault that was not found, with the tests that were tried."""
        outcome = result.outcome
        assert outcome is not None
        more = len(outcome.files) - SHOWN_FILES
        files = [*outcome.files[:SHOWN_FILES], *([f"and {more} more files"] if more > 0 else [])]
        tried = f"{outcome.tried} tests in {', '.join(files)}" if files else "no test reaches it"
        full = f"found with --full alone: {outcome.by}\n" if outcome.by else ""
        return f"{result.place.id}\n{diff(result.place, self._root)}tried: {tried}\n{full}"

    def json(self) -> dict[str, Any]:
        """Return the report for a script."""
        return {
            "packages": {
                line.name: {
                    "killed": line.killed,
                    "timeout": line.timeout,
                    "only_full": line.only_full,
                    "survived": line.survived,
                    "equivalent": line.equivalent,
                    "left": line.left,
                    "percent": round(line.percent, 1),
                }
                for line in self.lines()
            },
            "survivors": [
                {"id": one.place.id, "diff": diff(one.place, self._root)}
                for one in self.survivors()
            ],
            "missed": self.faults(),
        }
