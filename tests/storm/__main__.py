"""`python -m tests.storm --seconds 90 --runs 5`: see `nox -s cluster`."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

import mcp_wire
from tests.storm.plan import SABOTAGE, Plan
from tests.storm.processes import Missing
from tests.storm.storm import Report, storm
from tests.support.skips import in_ci


def main() -> int:
    """Run storms, print their reports, and return 1 if they are not as expected."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm", description=__doc__)
    parser.add_argument("--seconds", type=float, default=90.0, help="duration of the faults")
    parser.add_argument("--runs", type=int, default=1, help="number of storms, each with a seed")
    parser.add_argument("--seed", type=int, help="what chance is made of; the next run adds 1")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--clients", type=int, default=60, help="clients that write frames")
    parser.add_argument("--official", type=int, default=6, help="clients of the official SDK")
    parser.add_argument("--revision", action="append", help="of these clients; repeat for more")
    parser.add_argument("--alone", action="store_true", help="nodes without a shared store")
    parser.add_argument("--calm", action="store_true", help="nothing fails")
    parser.add_argument("--sabotage", choices=["", *SABOTAGE, "all"], default="")
    parser.add_argument("--json", action="store_true", help="print the reports for a script")
    parser.add_argument("--logs", type=Path, help="folder that keeps the logs of all processes")
    asked = parser.parse_args()
    plan = Plan(
        seed=random.randrange(10**6) if asked.seed is None else asked.seed,
        seconds=asked.seconds,
        nodes=asked.nodes,
        clients=asked.clients,
        official=asked.official,
        cluster=not asked.alone,
        revisions=tuple(asked.revision or mcp_wire.REVISIONS),
    )
    if asked.calm:
        plan = replace(plan, fault_every_s=None, store_faults=False)
    wanted = SABOTAGE if asked.sabotage == "all" else (asked.sabotage,)
    plans = [
        replace(plan, seed=plan.seed + run, sabotage=one)
        for one in wanted
        for run in range(asked.runs)
    ]
    return _run(plans, as_json=asked.json, logs=asked.logs)


def _run(plans: list[Plan], *, as_json: bool, logs: Path | None) -> int:
    console = Console(stderr=True)
    unexpected = 0
    for plan in plans:
        console.print(f"storm {plan.command}", highlight=False)

        def complain(what: str) -> None:
            console.print(f"violation: {what[:400]}", markup=False, highlight=False)

        try:
            report = asyncio.run(_until_interrupted(plan, console, complain, logs))
        except Missing as missing:
            console.print(f"no storm: {missing}", markup=False, highlight=False)
            # In CI nothing is left out.
            return 2 if in_ci() else 0
        except asyncio.CancelledError:
            console.print("interrupted; everything has ended")
            return 130
        print(json.dumps(report.json())) if as_json else _show(report)
        unexpected += bool(report.violations) is not bool(plan.sabotage)
    if len(plans) > 1:
        console.print(f"{len(plans) - unexpected} of {len(plans)} storms as expected")
    return bool(unexpected)


async def _until_interrupted(
    plan: Plan, console: Console, complain: object, logs: Path | None
) -> Report:
    own = asyncio.current_task()
    assert own is not None
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, own.cancel)

    def tell(line: str) -> None:
        console.print(line, markup=False, highlight=False)

    return await storm(plan, tell, complain, logs)  # type: ignore[arg-type]


def _show(report: Report) -> None:
    shown = Console(width=None if sys.stdout.isatty() else 120)
    for title, counted in (("answers", report.ledger.answers), ("errors", report.ledger.errors)):
        who = sorted({one for _, one in counted})
        table = Table(title, *who, title=f"{title} by who asked", title_justify="left")
        for what in sorted({what for what, _ in counted}):
            table.add_row(what, *(f"{counted[what, one] or '':}" for one in who))
        shown.print(table)
    checks = Table("what", "number", title="counted", title_justify="left")
    for name, number in sorted(report.ledger.checks.items()):
        checks.add_row(name, f"{number:,}")
    for name, number in sorted(report.json()["faults"].items()):
        checks.add_row(name, f"{number:,}")
    checks.add_row("slowest request", f"{report.ledger.slowest_s:.1f} s: {report.ledger.slowest}")
    checks.add_section()
    for name, number in sorted(report.ledger.violations.items()):
        checks.add_row(f"violation: {name}", f"{number:,}")
    shown.print(checks)
    print(
        f"{report.violations} violations in {report.seconds:.0f} s ({report.plan.command})"
        if report.violations
        else f"no violation in {report.seconds:.0f} s ({report.plan.command})"
    )


if __name__ == "__main__":
    sys.exit(main())
