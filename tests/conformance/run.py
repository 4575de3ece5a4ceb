"""Runs the official conformance suite against what is ours: `nox -s conformance`.

Ours are a server, a client, and the example authorization server.

Each scenario of each version of the suite is a process of its own, at each of its revisions.
There is no list of expected failures: every check passes, or the run fails. What the doctor finds
about the same server and client is compared with a whole leg.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tests.conformance import authorization_leg, bridge_leg, client_leg, cluster_leg, server_leg
from tests.conformance.agreement.comparison import Compared, counted, faults_of
from tests.conformance.agreement.ours import OURS, compared
from tests.conformance.agreement.table import disagreements, table
from tests.conformance.suite import SUITES, Cell, LegName, Outcome, Suite, Unusable

LEGS: tuple[LegName, ...] = ("server", "client")
"""Legs of our server and client, which the doctor examines, too."""
ALL_LEGS: tuple[LegName, ...] = (*LEGS, "authorization")
OF = {"server": server_leg, "client": client_leg, "authorization": authorization_leg}


def show(console: Console, outcomes: dict[Cell, Outcome]) -> None:
    """Print a row per scenario, a column per version and revision, and the faults below."""
    columns = sorted({(cell.suite, cell.revision) for cell in outcomes})
    table = Table(title="passed/failed/warnings (skipped)")
    table.add_column("scenario")
    for suite, revision in columns:
        table.add_column(f"{revision}\n{suite}", justify="right")
    for leg in ALL_LEGS:
        for scenario in dict.fromkeys(cell.scenario for cell in outcomes if cell.leg == leg):
            cells = (Cell(leg, scenario, revision, suite) for suite, revision in columns)
            found = (outcomes.get(cell) for cell in cells)
            table.add_row(scenario, *("" if one is None else str(one) for one in found))
        table.add_section()
    console.print(table)
    for cell, outcome in outcomes.items():
        for fault in outcome.faults:
            named = f"{cell.scenario} at {cell.revision}, {cell.suite}"
            console.print(f"[red]{named}[/]: {escape(fault)}", soft_wrap=True)


def show_agreement(console: Console, found: tuple[Compared, ...]) -> None:
    """Print how many checks the doctor agrees on, and those that it did not come to judge."""
    counts = ", ".join(f"{number} {kind}" for kind, number in counted(found).most_common())
    console.print(f"compared with the doctor: {counts}")
    for one in dict.fromkeys(str(one) for one in found if one.kind == "suite alone"):
        console.print(f"  {one}", soft_wrap=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=Path, required=True, help="where npm installed it")
    parser.add_argument("--leg", choices=ALL_LEGS, help="which is run; without it all")
    parser.add_argument(
        "--bridge",
        metavar="REVISION",
        help="run the server leg through a bridge to a server of this revision alone",
    )
    parser.add_argument(
        "--cluster",
        action="store_true",
        help="run the server leg over two nodes that share a store, behind a round robin",
    )
    parser.add_argument(
        "--newest",
        action="store_true",
        help="run the newest version of the suite alone, as CI does",
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    told = parser.parse_args()
    suite = Suite(told.suite)
    if told.bridge:
        bridged, status = bridge_leg.run(suite, told.bridge, told.scenarios)
        show(Console(width=None if sys.stdout.isatty() else 150), bridged)
        return status
    if told.cluster:
        clustered, status = cluster_leg.run(suite, told.scenarios)
        show(Console(width=None if sys.stdout.isatty() else 150), clustered)
        return status
    legs: list[LegName] = [leg for leg in ALL_LEGS if told.leg in (None, leg)]
    versions = SUITES[:1] if told.newest else SUITES
    cells = [cell for leg in legs for version in versions for cell in OF[leg].cells(suite, version)]
    if unknown := set(told.scenarios) - {cell.scenario for cell in cells}:
        raise Unusable(f"no version that is run has: {', '.join(sorted(unknown))}")
    cells = [cell for cell in cells if not told.scenarios or cell.scenario in told.scenarios]
    faults: list[str] = []
    if "client" in legs and not told.scenarios:
        of_clients = (cell for cell in cells if cell.leg == "client")
        faults += client_leg.miscounted(of_clients, versions)
    outcomes: dict[Cell, Outcome] = {}
    for leg in legs:
        if wanted := [cell for cell in cells if cell.leg == leg]:
            outcomes |= OF[leg].run(suite, wanted, faults)
    console = Console(width=None if sys.stdout.isatty() else 150)
    show(console, outcomes)
    for leg in () if told.scenarios else [leg for leg in legs if leg in LEGS]:
        faults += table(leg).strangers(cell.scenario for cell in cells if cell.leg == leg)
        of_leg = {cell: outcome for cell, outcome in outcomes.items() if cell.leg == leg}
        found = compared(leg, of_leg)
        show_agreement(console, found)
        known = [line for line in disagreements() if line.leg == leg]
        faults += faults_of(OURS, found, known)
    for fault in faults:
        console.print(f"[red]{escape(fault)}[/]", soft_wrap=True)
    for leg in legs:
        for prefix, reason in OF[leg].LEFT_OUT.items():
            console.print(f"left out: {prefix}*: {reason}")
    clean = [cell for cell, outcome in outcomes.items() if not outcome.faults]
    console.print(f"{len(clean)} of {len(cells)} clean")
    return 0 if len(clean) == len(cells) and not faults else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unusable as error:
        sys.exit(str(error))
