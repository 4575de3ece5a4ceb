"""Client leg: the suite against the client of this folder, started once per scenario."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from tests.conformance.suite import Cell, Outcome, Suite

__all__ = ["LEFT_OUT", "cells", "run"]

LEFT_OUT = {
    "auth/": "authorization: the client is given its token",
    "sep-2640-client-": "the skills extension: in no requirement set, and the client has none",
}
"""Prefixes of scenarios that are not run, with the reason."""

ALSO_AT = {"tools_call": "2025-03-26"}
"""Scenarios that are also run at an older revision, which none is about without authorization.

The suite's server for `initialize` refuses it.
"""

PINNED = frozenset({"2025-03-26", "2025-06-18"})
"""Revisions to pin: the suite's servers also support newer ones, which the client would choose."""

FORCED = {"0.2.0-alpha.12": ("--force",), "0.1.16": ()}
"""Options by suite version that force a scenario to run at a revision that it is not about."""

NEVER_SENT = {
    "ClientMcpMethodHeader_initialize": "there is no handshake where there are these headers",
    "ClientMcpMethodHeader_notifications_initialized": "as there is no handshake",
}
"""Checks that are skipped because the client cannot send what they are about, with the reason."""

ALONE = ("sse-retry",)
"""Scenarios that measure time, and therefore run alone."""

AT_ONCE = 3
CLIENT = f"exec {sys.executable} -m tests.conformance.client"


def cells(suite: Suite, version: str) -> list[Cell]:
    """Return every scenario for clients at its revisions, and some at an older revision."""
    listed = suite.cells("client", version, LEFT_OUT)
    names = {cell.scenario for cell in listed} & set(ALSO_AT)
    return [*(Cell("client", name, ALSO_AT[name], version) for name in sorted(names)), *listed]


def run(suite: Suite, cells: list[Cell], faults: list[str]) -> dict[Cell, Outcome]:
    """Run the cells, a few at once; those that measure time run alone."""

    def outcome(cell: Cell) -> Outcome:
        return _outcome(suite, cell)

    together = [cell for cell in cells if cell.scenario not in ALONE]
    with ThreadPoolExecutor(AT_ONCE) as workers:
        outcomes = dict(zip(together, workers.map(outcome, together), strict=True))
    return outcomes | {cell: outcome(cell) for cell in cells if cell.scenario in ALONE}


def _outcome(suite: Suite, cell: Cell) -> Outcome:
    command = f"{CLIENT} --revision {cell.revision}" if cell.revision in PINNED else CLIENT
    force = FORCED[cell.suite] if cell.revision == ALSO_AT.get(cell.scenario) else ()
    outcome = suite.outcome(cell, "--command", command, *force)
    untried = [name for name in outcome.skipped if name not in NEVER_SENT]
    outcome.faults += [f"the client did not try what is for {name}" for name in untried]
    return outcome
