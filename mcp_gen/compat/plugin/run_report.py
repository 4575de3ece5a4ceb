"""Report of a test run, in the form of an examination: every rule at every revision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from mcp_gen.compat.checks.found import Found
from mcp_gen.compat.checks.judging import applicable, outcome_of
from mcp_gen.compat.report.model import Opening, Outcome, Report

if TYPE_CHECKING:
    from mcp_gen.compat.plugin.judged_test import TestRow
    from mcp_gen.compat.report.model import Side
    from mcp_gen.compat.transcript import Transport

__all__ = ["reports_of", "write_html"]

SIDES: tuple[Side, ...] = ("server", "client")


def reports_of(rows: Sequence[TestRow]) -> list[Report]:
    """Return the report on the servers under test, and that on the clients, of those there are.

    Args:
        rows: One per test and revision.
    """
    talked = [row for row in rows if row.target]
    sides: list[Side] = [side for side in SIDES if any(row.side == side for row in talked)]
    return [_report(side, [row for row in talked if row.side == side]) for side in sides]


def write_html(rows: Sequence[TestRow], file: Path) -> list[Path]:
    """Write the reports as pages of HTML, and return their paths.

    Args:
        rows: One per test and revision.
        file: The file; a second report goes beside it, to `NAME-client.html`.

    Raises:
        OSError: it cannot be written.
    """
    # The page is made by what makes it for an examination.
    page: Any = import_module("mcp_gen.compat.report.html")
    written: list[Path] = []
    for report in reports_of(rows):
        path = file.with_name(f"{file.stem}-{report.side}{file.suffix}") if written else file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page.html_report(report), "utf-8")
        written.append(path)
    return written


def _report(side: Side, rows: Sequence[TestRow]) -> Report:
    by_revision: dict[str, list[TestRow]] = defaultdict(list)
    for row in rows:
        by_revision[row.revision].append(row)
    return Report(
        target=", ".join(dict.fromkeys(row.target for row in rows)),
        side=side,
        transport=", ".join(dict.fromkeys(row.transport for row in rows)),
        version=version("mcp-gen"),
        took_s=sum(row.took_s for row in rows),
        openings=tuple(
            Opening(asked=revision, answer=_tests(those), agreed=revision)
            for revision, those in sorted(by_revision.items())
        ),
        outcomes=tuple(
            outcome
            for revision, those in sorted(by_revision.items())
            for outcome in _outcomes(side, revision, those)
        ),
    )


def _outcomes(side: Side, revision: str, rows: Sequence[TestRow]) -> Iterator[Outcome]:
    """Yield the outcome of each rule over all tests at a revision."""
    broken: dict[str, Outcome] = {}
    for row in rows:
        for outcome in row.broken.get(side, ()):
            before = broken.get(outcome.requirement)
            findings = (before.findings if before else ()) + outcome.findings
            broken[outcome.requirement] = msgspec.structs.replace(outcome, findings=findings)
    passed = {id for row in rows for id in row.passed.get(side, ())}
    known: set[str] = set()
    for transport in dict.fromkeys(row.transport for row in rows):
        for check in applicable(side, revision, cast("Transport", transport)):
            id = check.requirement.id
            if check.rule is None or id in known:
                continue
            known.add(id)
            found = broken.get(id)
            why = "" if id in passed else check.unseen
            yield found if found is not None else outcome_of(check, Found(), revision, why)


def _tests(rows: Sequence[TestRow]) -> str:
    failed = sum(row.verdict in ("failed", "error") for row in rows)
    tests = "1 test" if len(rows) == 1 else f"{len(rows)} tests"
    return f"{tests}, {failed} failed"
