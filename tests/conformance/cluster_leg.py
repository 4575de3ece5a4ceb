"""Cluster leg: the server leg of the suite, over two nodes behind a round robin."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from tests.conformance import server_leg
from tests.conformance.suite import SUITES, Cell, Outcome, Suite

__all__ = ["cells", "run"]


def cells(suite: Suite) -> list[Cell]:
    """Return every scenario for servers of each version of the suite."""
    return [cell for version in SUITES for cell in server_leg.cells(suite, version)]


def run(suite: Suite, scenarios: Sequence[str]) -> tuple[dict[Cell, Outcome], int]:
    """Run the scenarios over two nodes; return outcomes and exit status. Every check must pass."""
    faults: list[str] = []
    wanted = [cell for cell in cells(suite) if not scenarios or cell.scenario in scenarios]
    outcomes = server_leg.run(suite, wanted, faults, "cluster_server")
    console = Console(width=None if sys.stdout.isatty() else 150)
    for fault in faults:
        console.print(f"[red]{fault}[/]", soft_wrap=True, markup=False)
    clean = [cell for cell, outcome in outcomes.items() if not outcome.faults]
    console.print(f"{len(clean)} of {len(wanted)} clean over two nodes")
    return outcomes, int(bool(faults) or len(clean) < len(wanted))
