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
    survived: int
    equivalent: int
    left: int

    @property
    def tried(self) -> int:
        return self.killed + self.timeout + self.survived

    @property
    def says_something(self) -> bool:
        """Return True unless the run ended when few faults had been tried."""
        return not self.left or self.tried >= MIN_PER_PACKAGE

    @property
    def percent(self) -> float:
        """Share of the faults that were found; 100 if none was tried."""
        return 100 * (self.killed + self.timeout) / self.tried if self.tried else 100.0


class Report:
    """Report of one run.

    Args:
        results: Every chosen fault.
        root: The checkout.
        min_total: Percentage of faults to be found over all.
        min_package: The same for each package.
    """

    def __init__(
        self, results: Sequence[Result], root: Path, min_total: float, min_package: float
    ) -> None:
        self._results = results
        self._root = root
        self._min_total = min_total
        self._min_package = min_package

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
            statuses.count("survived") + statuses.count("unreached"),
            sum(bool(one.reason) for one in of_package),
            sum(one.outcome is None and not one.reason for one in of_package),
        )

    def survivors(self) -> list[Result]:
        return [
            one
            for one in self._results
            if one.outcome and not one.reason and one.outcome.status in ("survived", "unreached")
        ]

    def faults(self) -> list[str]:
        """Return the thresholds that were missed, as far as what was tried says something."""
        *packages, total = self.lines()
        missed = [
            f"{line.name}: {line.percent:.0f} % found, expected {self._min_package:g} %"
            for line in packages
            if line.says_something and line.percent < self._min_package
        ]
        if total.says_something and total.percent < self._min_total:
            missed.append(f"all: {total.percent:.1f} % found, expected {self._min_total:g} %")
        return missed

    def show(self, console: Console) -> None:
        """Print the faults that were not found as diffs, and then the table."""
        for one in self.survivors():
            console.print(self.about(one), markup=False, highlight=False, soft_wrap=True)
        table = Table()
        for column in ("package", "found", "by time", "not found", "equivalent", "left", "%"):
            table.add_column(column, justify="left" if column == "package" else "right")
        *packages, total = self.lines()
        for line in (*packages, None, total):
            if line is None:
                table.add_section()
                continue
            numbers = (line.killed, line.timeout, line.survived, line.equivalent, line.left)
            table.add_row(line.name, *map(str, numbers), f"{line.percent:.1f}")
        console.print(table)
        for missed in self.faults():
            console.print(missed, markup=False, highlight=False)

    def about(self, result: Result) -> str:
        """Return the diff of a fault that was not found, with the tests that were tried."""
        outcome = result.outcome
        assert outcome is not None
        more = len(outcome.files) - SHOWN_FILES
        files = [*outcome.files[:SHOWN_FILES], *([f"and {more} more files"] if more > 0 else [])]
        tried = f"{outcome.tried} tests in {', '.join(files)}" if files else "no test reaches it"
        return f"{result.place.id}\n{diff(result.place, self._root)}tried: {tried}\n"

    def json(self) -> dict[str, Any]:
        """Return the report for a script."""
        return {
            "packages": {
                line.name: {
                    "killed": line.killed,
                    "timeout": line.timeout,
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
