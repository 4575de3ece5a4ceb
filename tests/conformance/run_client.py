"""Runs the official conformance suite against the client of this folder: `nox -s conformance`.

Each scenario is a process of the suite's, which starts the client in one of its own. Every check
passes and the client ends in order, or the run fails.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from tests.conformance.client import PLAYS
from tests.conformance.run import (
    AT_ONCE,
    FAILED,
    PASSED,
    SCENARIO_S,
    SUITES,
    WARNING,
    Cell,
    Outcome,
    Suite,
    Unusable,
    show,
)

LEFT_OUT = {
    "auth/": "authorization: the client is given its token",
    "sep-2640-client-": "the skills extension: in no requirement set, and the client has none",
}
"""Scenarios that are not run begin with these words: why."""

ALONE = ("sse-retry",)
"""What measures time is not disturbed."""

COMMAND = f"exec {sys.executable} -m tests.conformance.client"
_LISTED = re.compile(r"^ +- (?P<name>\S+) \[(?P<about>[^\]]+)\]", re.MULTILINE)


class ClientSuite(Suite):
    """The scenarios for clients."""

    def cells(self, version: str) -> list[Cell]:
        """Every scenario that is run, at every revision that it is about.

        Raises:
            Unusable: the client does not know one, and LEFT_OUT does not say why.
        """
        cells: list[Cell] = []
        listed = self._run(self._script(version), "list", "--client")
        for found in _LISTED.finditer(listed):
            name, about = found["name"], found["about"]
            if name in PLAYS:
                cells += [Cell(name, revision, version) for revision in about.split(",")]
            elif not name.startswith(tuple(LEFT_OUT)):
                raise Unusable(f"{version}: expected LEFT_OUT to say why {name} is not run")
        if not cells:
            raise Unusable(f"{version}: expected a list of scenarios, got {listed!r}")
        return cells

    def outcome(self, cell: Cell, url: str = "") -> Outcome:
        """Run one scenario; the suite says the URL to the client itself."""
        words = ("--command", COMMAND, "--scenario", cell.scenario)
        with tempfile.TemporaryDirectory() as folder:
            run = self._try(cell, *words, "--spec-version", cell.revision, "-o", folder)
            written = [path.read_text() for path in Path(folder).rglob("checks.json")]
            said = [path.read_text() for path in Path(folder).rglob("stderr.txt")]
        checks = [check for one in written for check in json.loads(one)]
        outcome = Outcome(Counter(check["status"] for check in checks))
        for check in checks:
            if check["status"] in (FAILED, WARNING):
                why = check.get("errorMessage") or check.get("description", "")
                outcome.faults.append(f"{check['status']} {check['id']}: {why}")
        if run.returncode:
            log = run.stdout.decode(errors="replace")
            outcome.faults.append(f"it ended with status {run.returncode}: {log[-2000:]}")
        if not outcome.counts[PASSED]:
            outcome.faults.append("nothing has passed")
        outcome.faults += [f"the client said: {one[-2000:]}" for one in said if "Traceback" in one]
        return outcome

    def _try(self, cell: Cell, *words: str) -> subprocess.CompletedProcess[bytes]:
        whole = (self._node, self._script(cell.suite), "client", *words)
        both, pipe = subprocess.STDOUT, subprocess.PIPE
        try:
            return subprocess.run(whole, stdout=pipe, stderr=both, timeout=SCENARIO_S, check=False)
        except subprocess.TimeoutExpired:
            said = f"it did not end within {SCENARIO_S:.0f} s"
            return subprocess.CompletedProcess(whole, -1, said.encode())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=Path, required=True, help="where npm installed it")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    told = parser.parse_args()
    suite = ClientSuite(told.suite)
    cells = [cell for version in SUITES for cell in suite.cells(version)]
    if unknown := set(told.scenarios) - {cell.scenario for cell in cells}:
        raise Unusable(f"no version of the suite has for clients: {', '.join(sorted(unknown))}")
    cells = [cell for cell in cells if not told.scenarios or cell.scenario in told.scenarios]
    together = [cell for cell in cells if cell.scenario not in ALONE]
    with ThreadPoolExecutor(AT_ONCE) as workers:
        outcomes = dict(zip(together, workers.map(suite.outcome, together), strict=True))
    outcomes |= {cell: suite.outcome(cell) for cell in cells if cell.scenario in ALONE}
    console = Console(width=None if sys.stdout.isatty() else 150)
    show(console, outcomes)
    for prefix, reason in LEFT_OUT.items():
        console.print(escape(f"left out: {prefix}*: {reason}"))
    clean = [cell for cell, outcome in outcomes.items() if not outcome.faults]
    console.print(f"{len(clean)} of {len(cells)} clean")
    return 0 if len(clean) == len(cells) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unusable as error:
        sys.exit(str(error))
