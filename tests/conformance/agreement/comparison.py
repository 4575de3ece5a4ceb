"""Comparison of what the suite and the doctor have found about one peer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from tests.conformance.agreement.table import ANY, Disagreement, Table

if TYPE_CHECKING:
    from mcp_gen.compat.report.model import Report
    from tests.conformance.suite import Cell, Outcome, Verdict

__all__ = ["Compared", "compare", "counted", "faults_of"]

Kind: TypeAlias = Literal[
    "agreed", "differ", "suite alone", "doctor alone", "neither", "apart", "no fixture", "unknown"
]


class Compared(NamedTuple):
    """One check of the suite at one revision, and what the doctor found about the same.

    Args:
        scenario: The scenario.
        check: The check.
        revision: The revision.
        suite: Verdict of the suite.
        doctor: Verdict of the doctor, on all requirements that cover the check together.
        kind: What comes of both.
    """

    scenario: str
    check: str
    revision: str
    suite: Verdict
    doctor: Verdict
    kind: Kind

    def __str__(self) -> str:
        return (
            f"{self.scenario} at {self.revision}, {self.check}: the suite says {self.suite}, "
            f"the doctor {self.doctor}"
        )


def compare(table: Table, outcomes: Mapping[Cell, Outcome], report: Report) -> tuple[Compared, ...]:
    """Compare all checks of the suite with a report, at the revisions that the peer speaks."""
    spoken = {one.agreed for one in report.openings if one.asked == one.agreed}
    return tuple(
        _compared(table, report, cell, check, verdict)
        for cell, outcome in outcomes.items()
        if cell.revision in spoken
        for check, verdict in outcome.verdicts.items()
    )


def _compared(table: Table, report: Report, cell: Cell, check: str, suite: Verdict) -> Compared:
    rows = table.rows(cell.scenario, check)
    doctor = _verdict(report, rows or (), cell.revision)
    kind: Kind
    if rows is None:
        kind = "unknown"
    elif not rows:
        kind = "apart"
    elif not _offers(report, cell.revision, table.needs(cell.scenario, check)):
        kind = "no fixture"
    elif suite == doctor:
        kind = "neither" if suite == "not tested" else "agreed"
    elif suite == "not tested":
        kind = "doctor alone"
    elif doctor == "not tested" and suite == "passed":
        kind = "suite alone"
    else:
        kind = "differ"
    return Compared(cell.scenario, check, cell.revision, suite, doctor, kind)


def _verdict(report: Report, rows: Iterable[str], revision: str) -> Verdict:
    wanted = set(rows)
    found = {
        one.verdict
        for one in report.outcomes
        if one.revision == revision and one.requirement in wanted
    }
    if "failed" in found:
        return "failed"
    return "passed" if "passed" in found else "not tested"


def _offers(report: Report, revision: str, needs: Iterable[str]) -> bool:
    for offer in report.listings:
        if offer.revision == revision:
            words = [need.split(" ", 1) for need in needs]
            return all(name in offer.items.get(kind, ()) for kind, name in words)
    return True


def counted(found: Iterable[Compared]) -> Counter[Kind]:
    """Return how many checks there are of each kind."""
    return Counter(one.kind for one in found)


def faults_of(peer: str, found: Iterable[Compared], known: Iterable[Disagreement]) -> Iterator[str]:
    """Yield checks that the table does not have, new disagreements, and known ones that are gone.

    Args:
        peer: The server or client.
        found: All that was compared.
        known: The disagreements that are known, of all peers.
    """
    lines = [line for line in known if line.peer == peer]
    met: set[tuple[Disagreement, str, str]] = set()
    for one in found:
        if one.kind == "unknown":
            yield f"the table has no line for {one.check} of {one.scenario}"
        if one.kind != "differ":
            continue
        told = [line for line in lines if _tells(line, one)]
        met |= {(line, one.check, one.revision) for line in told}
        if not told:
            yield str(one)
    for line in lines:
        for check, revision in product(line.checks, line.revisions):
            if (line, check, revision) not in met:
                yield f"{line.scenario} at {revision}, {check}: they agree now"


def _tells(line: Disagreement, one: Compared) -> bool:
    return (
        line.scenario in (ANY, one.scenario)
        and one.check in line.checks
        and one.revision in line.revisions
        and (line.suite, line.doctor) == (one.suite, one.doctor)
    )
