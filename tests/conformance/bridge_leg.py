"""Bridge leg: the server leg of the suite, through a bridge to a server of one revision alone."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.console import Console

from tests.conformance import server_leg
from tests.conformance.suite import SUITES, Cell, Outcome, Suite

__all__ = ["CANNOT_PASS", "Reason", "cells", "reason_for", "run"]

_SPEC = "https://modelcontextprotocol.io/specification"
_TASKS = "https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md"


class Reason(NamedTuple):
    """Why a scenario cannot pass through a bridge.

    Args:
        why: What the other revision cannot say.
        spec: Where the specification says so.
    """

    why: str
    spec: str


_POLLING = Reason(
    "the server may close a stream before its response: which one is known to its own HTTP client "
    "alone, and the bridge has streams of its own",
    f"{_SPEC}/2025-11-25/basic/transports#sending-messages-to-the-server",
)
_KEYS = Reason(
    "questions have keys in results only: those of a server that sends them as requests get theirs "
    "from the bridge, and the suite wants certain ones",
    f"{_SPEC}/2026-07-28/basic/patterns/mrtr",
)
_EXTENSION = Reason(
    "tasks of this revision begin when the client asks for one, those of the extension when the "
    "server wants it: the bridge offers none, and answers calls of tools that need one when their "
    "task has ended",
    _TASKS,
)
CANNOT_PASS: Mapping[str, Mapping[str, Reason]] = {
    "2025-11-25": {
        "server-sse-polling": _POLLING,
        "input-required-result-basic-elicitation": _KEYS,
        "input-required-result-ignore-extra-params": _KEYS,
        "tasks-": _EXTENSION,
    },
    "2026-07-28": {"server-sse-polling": _POLLING},
}
"""Scenarios that cannot pass, by the revision of the server: names or their beginnings."""


def reason_for(inside: str, scenario: str) -> Reason | None:
    """Return why a scenario cannot pass in front of a server of a revision; None if it can."""
    found = CANNOT_PASS.get(inside, {})
    return next((why for name, why in found.items() if scenario.startswith(name)), None)


def cells(suite: Suite) -> list[Cell]:
    """Return every scenario for servers of each version of the suite."""
    return [cell for version in SUITES for cell in server_leg.cells(suite, version)]


def judged(inside: str, outcomes: Mapping[Cell, Outcome]) -> tuple[list[Cell], list[str]]:
    """Return the cells with faults that must have none, and the reasons that nothing needs."""
    faulty = [cell for cell, outcome in outcomes.items() if outcome.faults]
    listed = CANNOT_PASS.get(inside, {})
    needed = {name for name in listed for cell in faulty if cell.scenario.startswith(name)}
    met = {name for name in listed for cell in outcomes if cell.scenario.startswith(name)}
    bad = [cell for cell in faulty if reason_for(inside, cell.scenario) is None]
    return bad, sorted(met - needed)


def run(suite: Suite, inside: str, scenarios: Sequence[str]) -> tuple[dict[Cell, Outcome], int]:
    """Run the scenarios in front of a server of a revision; return outcomes and exit status."""
    faults: list[str] = []
    wanted = [cell for cell in cells(suite) if not scenarios or cell.scenario in scenarios]
    outcomes = server_leg.run(suite, wanted, faults, "bridge_server", "--revision", inside)
    bad, unused = judged(inside, outcomes)
    console = Console(width=None if sys.stdout.isatty() else 150)
    for cell in outcomes:
        if (why := reason_for(inside, cell.scenario)) is not None:
            console.print(
                f"cannot pass: {cell.scenario} at {cell.revision}: {why.why} ({why.spec})"
            )
    for name in unused:
        console.print(f"[red]passes, and is listed as one that cannot: {name}[/]")
    for fault in faults:
        console.print(f"[red]{fault}[/]", soft_wrap=True, markup=False)
    console.print(f"{len(outcomes) - len(bad)} of {len(wanted)} as expected, before {inside}")
    return outcomes, int(bool(bad or unused or faults or len(outcomes) < len(wanted)))
