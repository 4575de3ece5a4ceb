"""Changes of a contract: a table for people, JSON for scripts, Markdown for pull requests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from mcp_gen.cli.console.output import console, plain_table, plain_text
from mcp_gen.compat.report.texts import visible
from mcp_gen.contracts.changes import CHANGE_VERDICTS

if TYPE_CHECKING:
    from mcp_gen.contracts.changes import ContractChange

__all__ = ["changes_json", "changes_markdown", "print_changes"]

FORMAT = 1
"""Number of the format of the JSON: this one only gets more members."""
STYLES = {"breaks": "bold red", "cannot tell": "bold yellow", "changed": "bold", "compatible": ""}
MAX_ROWS = 500
"""Most changes in Markdown: GitHub takes comments of 65,536 characters."""
MAX_CELL = 300


def print_changes(changes: Sequence[ContractChange], lock: str, spoken: int) -> None:
    """Print changes on stdout: a table, if there are any, and the totals.

    Args:
        changes: The changes.
        lock: The file of the lock.
        spoken: Number of revisions in the lock.
    """
    out = console()
    if changes:
        table = plain_table("verdict", "what", "change", "at")
        for one in changes:
            table.add_row(
                plain_text(one.verdict, STYLES[one.verdict]),
                plain_text(visible(one.subject)),
                plain_text(visible(_with_example(one))),
                plain_text(_at(one, spoken), "dim"),
            )
        out.print(table)
    out.print(plain_text(_totals(changes, lock), "bold"))


def changes_json(changes: Sequence[ContractChange]) -> str:
    """Return changes as indented JSON in ASCII."""
    return (
        json.dumps({"format": FORMAT, "changes": [asdict(one) for one in changes]}, indent=2) + "\n"
    )


def changes_markdown(changes: Sequence[ContractChange], lock: str) -> str:
    """Return changes as a Markdown table; texts of the server stand in code."""
    lines = [f"## Changes against {_code(lock)}", "", f"{_totals(changes, lock)}.", ""]
    if changes:
        lines += ["| verdict | what | change | at |", "|---|---|---|---|"]
    for one in changes[:MAX_ROWS]:
        cells = (
            one.verdict,
            _code(one.subject),
            _code(_with_example(one)),
            ", ".join(one.revisions),
        )
        lines.append(f"| {' | '.join(cells)} |")
    if len(changes) > MAX_ROWS:
        lines += ["", f"and {len(changes) - MAX_ROWS} more changes"]
    return "\n".join(lines).rstrip() + "\n"


def _totals(changes: Sequence[ContractChange], lock: str) -> str:
    if not changes:
        return f"no changes against {lock}"
    counts = Counter(one.verdict for one in changes)
    told = [f"{counts[one]} {one}" for one in CHANGE_VERDICTS if counts[one]]
    changed = "1 change" if len(changes) == 1 else f"{len(changes)} changes"
    return f"{changed} against {lock}: {', '.join(told)}"


def _at(one: ContractChange, spoken: int) -> str:
    if 1 < spoken == len(one.revisions):
        return f"all {spoken} revisions"
    return "\n".join(one.revisions)


def _with_example(one: ContractChange) -> str:
    return f"{one.says}, as in {one.example}" if one.example else one.says


def _code(text: str) -> str:
    shown = visible(text).replace("`", "'").replace("|", "\\|")
    return f"`{shown if len(shown) <= MAX_CELL else shown[: MAX_CELL - 3] + '...'}`"
