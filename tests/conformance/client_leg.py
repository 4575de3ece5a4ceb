"""Client leg: the suite against the client of this folder, started once per scenario."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.conformance.suite import SUITES, Cell, Outcome, Suite

__all__ = ["LEFT_OUT", "cells", "miscounted", "run"]

LEFT_OUT = {
    "sep-2640-client-": "the skills extension: in no requirement set, and the client has none",
}
"""Prefixes of scenarios that are not run, with the reason."""

DRAFTS = {
    "auth/offline-access-": "a draft there: the newer version has it at a revision",
    "auth/resource-mismatch": "a draft there: the newer version has it at a revision",
}
"""Prefixes of scenarios that version 0.1.16 has without a revision."""
LEFT_OUT_OF = {"0.2.0-alpha.12": LEFT_OUT, "0.1.16": LEFT_OUT | DRAFTS}
"""Scenarios that are not run by version."""

AUTH_EXTENSIONS = frozenset(
    (
        "auth/client-credentials-basic",
        "auth/client-credentials-jwt",
        "auth/cross-app-access-complete-flow",
        "auth/dpop",
        "auth/dpop-nonce",
        "auth/enterprise-managed-authorization",
        "auth/wif-jwt-bearer",
    )
)
"""Scenarios of extensions for authorization."""
EXTENSIONS = {"auth/": "2025-11-25"}
"""Prefixes of extension scenarios, which name no revision, with the revision to run them at."""

AUTHORIZATION = "auth/"
AUTHORIZED = {
    "0.2.0-alpha.12": {"2025-03-26": 2, "2025-06-18": 3, "2025-11-25": 14, "2026-07-28": 25},
    "0.1.16": {"2025-03-26": 2, "2025-06-18": 3, "2025-11-25": 14},
}
"""Number of scenarios of authorization by version and revision: none is left out unseen."""
AUTHORIZED_BY_EXTENSION = {"0.2.0-alpha.12": 6, "0.1.16": 3}
"""Number of those of extensions by version."""

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
    listed = suite.cells("client", version, LEFT_OUT_OF[version], EXTENSIONS)
    names = {cell.scenario for cell in listed} & set(ALSO_AT)
    return [*(Cell("client", name, ALSO_AT[name], version) for name in sorted(names)), *listed]


def miscounted(cells: Iterable[Cell], suites: Sequence[str] = SUITES) -> list[str]:
    """Return a sentence for each number of scenarios of authorization that is not the known one.

    Args:
        cells: The cells of a whole leg.
        suites: Versions of the suite that they are of.
    """
    counted = [cell for cell in cells if cell.scenario.startswith(AUTHORIZATION)]
    extended = Counter(one.suite for one in counted if one.scenario in AUTH_EXTENSIONS)
    plain = Counter(
        (one.suite, one.revision) for one in counted if one.scenario not in AUTH_EXTENSIONS
    )
    known = Counter({(one, at): n for one in suites for at, n in AUTHORIZED[one].items()})
    wrong = [
        (f"{suite} at {revision}", known[suite, revision], plain[suite, revision])
        for suite, revision in sorted(known.keys() | plain.keys())
    ]
    wrong += [
        (f"{suite}, extensions", AUTHORIZED_BY_EXTENSION[suite], extended[suite])
        for suite in suites
    ]
    return [
        f"{place}: expected {right} scenarios of authorization, got {got}"
        for place, right, got in wrong
        if right != got
    ]


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
    forced = cell.revision == ALSO_AT.get(cell.scenario) or cell.scenario in AUTH_EXTENSIONS
    force = FORCED[cell.suite] if forced else ()
    outcome = suite.outcome(cell, "--command", command, *force)
    untried = [name for name in outcome.skipped if name not in NEVER_SENT]
    outcome.faults += [f"the client did not try what is for {name}" for name in untried]
    return outcome
