"""Summary of judged tests: a matrix of tests and revisions, and the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from mcp_gen.compat.plugin.judged_test import TestRow

if TYPE_CHECKING:
    from mcp_gen.compat.report.model import Outcome

__all__ = ["read_rows", "summary_lines"]

MAX_TESTS = 40
"""Maximum number of tests in the matrix; of more, those that passed everywhere are left out."""
MAX_NAME = 80
"""Maximum number of characters of the name of a test."""
NONE = "-"


def read_rows(rows: Sequence[str]) -> list[TestRow]:
    """Return the rows of tests from their JSON."""
    return [msgspec.json.decode(row, type=TestRow) for row in rows]


def summary_lines(rows: Sequence[TestRow]) -> Iterator[str]:
    """Yield the lines of the summary: the matrix, then findings of each requirement.

    Args:
        rows: One per test and revision.
    """
    yield from _matrix(rows)
    yield from _findings(rows)


def _matrix(rows: Sequence[TestRow]) -> Iterator[str]:
    revisions = sorted({row.revision for row in rows if row.revision})
    cells: dict[str, dict[str, str]] = {}
    # A test without a revision has connected to nothing.
    for row in (row for row in rows if row.revision):
        cells.setdefault(row.test, {})[row.revision] = _cell(row)
    shown = cells
    if len(cells) > MAX_TESTS:
        shown = {test: each for test, each in cells.items() if {*each.values()} != {"passed"}}
    width = max(map(len, (_short(test) for test in shown)), default=0)
    widths = [
        max(len(revision), *(len(each.get(revision, NONE)) for each in cells.values()))
        for revision in revisions
    ]

    def line(first: str, texts: Sequence[str]) -> str:
        padded = (text.ljust(size) for text, size in zip(texts, widths, strict=True))
        return f"{first.ljust(width)}  {'  '.join(padded)}".rstrip()

    yield line("", revisions)
    for test, each in shown.items():
        yield line(_short(test), [each.get(revision, NONE) for revision in revisions])
    if len(shown) < len(cells):
        yield f"and {len(cells) - len(shown)} more that passed everywhere"


def _cell(row: TestRow) -> str:
    parts = [
        row.verdict if row.verdict in ("passed", "skipped", "xfailed") else row.verdict.upper()
    ]
    parts += [
        f"{number} {level}" for level in ("must", "should") if (number := row.findings(level))
    ]
    return ", ".join(parts)


def _short(test: str) -> str:
    return test if len(test) <= MAX_NAME else f"…{test[1 - MAX_NAME :]}"


def _findings(rows: Sequence[TestRow]) -> Iterator[str]:
    """Yield a line per broken requirement: its revisions, and the number of tests."""
    tests: Counter[tuple[str, str]] = Counter()
    revisions: dict[tuple[str, str], set[str]] = {}
    outcomes: dict[tuple[str, str], Outcome] = {}
    for row in rows:
        for side, broken in row.broken.items():
            for outcome in broken:
                key = (side, outcome.requirement)
                tests[key] += 1
                revisions.setdefault(key, set()).add(outcome.revision)
                outcomes[key] = outcome
    if tests:
        yield ""
    for key in sorted(tests, key=lambda one: (outcomes[one].level != "must", one)):
        outcome = outcomes[key]
        level = "MUST" if outcome.level == "must" else "warning: SHOULD"
        number = "1 test" if tests[key] == 1 else f"{tests[key]} tests"
        yield f"{level} {outcome.requirement} (the {key[0]}), {number}: {outcome.says}"
        yield f"  {', '.join(sorted(revisions[key]))}  {outcome.link}"
