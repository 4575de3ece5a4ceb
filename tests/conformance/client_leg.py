"""The suite against the client of this folder, which it starts anew for each scenario."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from tests.conformance.suite import Cell, Outcome, Suite

__all__ = ["LEFT_OUT", "cells", "run"]

LEFT_OUT = {
    "auth/": "authorization: the client is given its token",
    "sep-2640-client-": "the skills extension: in no requirement set, and the client has none",
}
"""Scenarios that begin with these words are not run: why."""

ALSO_AT = {"tools_call": "2025-03-26"}
"""Scenarios by the revision that they are run at and not about: without authorization none is.

The server that `initialize` plays refuses it.
"""

PINNED = frozenset({"2025-03-26", "2025-06-18"})
"""Servers of the suite speak newer ones as well, which the client would choose if it might."""

FORCED = {"0.2.0-alpha.12": ("--force",), "0.1.16": ()}
"""What makes the versions run a scenario at a revision that it is not about."""

NEVER_SENT = {
    "ClientMcpMethodHeader_initialize": "there is no handshake where there are these headers",
    "ClientMcpMethodHeader_notifications_initialized": "as there is no handshake",
}
"""Checks that are skipped because the client does not send what they are about: why it cannot."""

ALONE = ("sse-retry",)
"""What measures time is not disturbed."""

AT_ONCE = 3
CLIENT = f"exec {sys.executable} -m tests.conformance.client"


def cells(suite: Suite, version: str) -> list[Cell]:
    """Every scenario for clients, at every revision that it is about, and some at an older."""
    listed = suite.cells("client", version, LEFT_OUT)
    names = {cell.scenario for cell in listed} & set(ALSO_AT)
    return [*(Cell("client", name, ALSO_AT[name], version) for name in sorted(names)), *listed]


def run(suite: Suite, cells: list[Cell], faults: list[str]) -> dict[Cell, Outcome]:
    """Run the cells, a few at once where nothing is timed."""

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
