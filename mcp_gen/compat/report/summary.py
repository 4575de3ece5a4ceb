"""Summaries of a report: counts by area and revision, and findings by requirement."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from mcp_gen.compat.report.model import Finding, Level, Outcome, Report, Verdict

__all__ = [
    "SYMBOLS",
    "CheckRow",
    "SameFinding",
    "areas",
    "check_rows",
    "failed_rows",
    "reasons",
    "totals",
]

SYMBOLS: dict[Verdict, str] = {"passed": "✓", "failed": "✗", "not tested": "–"}  # noqa: RUF001 - a dash
"""One character for each verdict."""


class CheckRow(Struct, frozen=True):
    """The outcomes of one check, by revision.

    Args:
        requirement: Id of the requirement.
        level: Its level.
        says: What it demands.
        outcomes: One per revision at which it applies, in the order of the report.
    """

    requirement: str
    level: Level
    says: str
    outcomes: tuple[Outcome, ...]

    @property
    def area(self) -> str:
        """The area of the requirement."""
        return self.outcomes[0].area

    def at(self, revision: str) -> Outcome | None:
        """Return the outcome at a revision; None if the requirement does not apply there."""
        return next((one for one in self.outcomes if one.revision == revision), None)

    @property
    def findings(self) -> tuple[SameFinding, ...]:
        """The findings, each with all revisions at which it was found."""
        found: dict[tuple[str, str, str], tuple[Finding, list[str]]] = {}
        for outcome in self.outcomes:
            for one in outcome.findings:
                key = (one.expected, one.came, one.where)
                found.setdefault(key, (one, []))[1].append(outcome.revision)
        # A check may find the same thing several times at one revision.
        return tuple(
            SameFinding(one, tuple(dict.fromkeys(revisions))) for one, revisions in found.values()
        )


class SameFinding(Struct, frozen=True):
    """One finding, and the revisions at which it was found.

    Args:
        finding: The finding at the first of them, with its evidence.
        revisions: The revisions.
    """

    finding: Finding
    revisions: tuple[str, ...]


def check_rows(report: Report) -> tuple[CheckRow, ...]:
    """Return one row per check, by area, the areas and the checks of each in alphabetical order."""
    grouped: dict[str, list[Outcome]] = {}
    for outcome in sorted(report.outcomes, key=lambda one: (one.requirement, one.revision)):
        grouped.setdefault(outcome.requirement, []).append(outcome)
    return tuple(
        CheckRow(id, found[0].level, found[0].says, tuple(found)) for id, found in grouped.items()
    )


def failed_rows(report: Report) -> tuple[CheckRow, ...]:
    """Return the rows with findings, those of the level `must` first."""
    rows = [row for row in check_rows(report) if any(one.findings for one in row.outcomes)]
    return tuple(sorted(rows, key=lambda row: (row.level, row.requirement)))


def areas(rows: Iterable[CheckRow]) -> dict[str, list[CheckRow]]:
    """Return rows by area."""
    grouped: dict[str, list[CheckRow]] = {}
    for row in rows:
        grouped.setdefault(row.area, []).append(row)
    return grouped


def reasons(report: Report) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return why checks were not tested: by reason, the ids with their revisions.

    The reason that holds for most comes first.
    """
    grouped: dict[str, dict[str, list[str]]] = {}
    for outcome in report.outcomes:
        if outcome.verdict == "not tested":
            ids = grouped.setdefault(outcome.why, {})
            ids.setdefault(outcome.requirement, []).append(outcome.revision)
    return {
        why: {id: tuple(revisions) for id, revisions in sorted(ids.items())}
        for why, ids in sorted(grouped.items(), key=lambda one: -len(one[1]))
    }


def totals(report: Report) -> str:
    """Return one line: checks, revisions, verdicts, findings of each level."""
    counts = report.counts()
    failed = {level: len(report.failed(level)) for level in ("must", "should")}
    checks, revisions = len(check_rows(report)), len(report.revisions)
    return (
        f"{checks} check{'s' * (checks != 1)} at {revisions} revision{'s' * (revisions != 1)}: "
        f"{counts['passed']} passed, {counts['failed']} failed "
        f"({failed['must']} must, {failed['should']} should), "
        f"{counts['not tested']} not tested, in {report.took_s:.1f} s"
    )
