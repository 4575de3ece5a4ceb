"""Runs the official conformance suite against the server of this folder: `nox -s conformance`.

Each scenario of each version of the suite is a process of its own, at each revision that it is
about. There is no list of failures that are expected: every check passes, or the run fails.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

SUITES = ("0.2.0-alpha.12", "0.1.16")
NODE = 22
"""The oldest Node that has what the suite imports."""

LEFT_OUT = {
    "tasks-": "the tasks extension: no requirement set scores it, and the server does not offer it",
    "sep-2640-skills-": "the skills extension: in no requirement set, and the server has none",
}
"""Scenarios that are about an extension and no revision begin with these words: why none is run."""

AT_ONCE = 2
SCENARIO_S = 90.0
STARTS_S = 20.0
ENDS_S = 15.0

PASSED, FAILED, WARNING, SKIPPED = "SUCCESS", "FAILURE", "WARNING", "SKIPPED"
_LISTED = re.compile(r"^ +- (?P<name>\S+)(?: \[(?P<about>[^\]]+)\])?", re.MULTILINE)


class Unusable(Exception):
    """The suite or the server cannot be run."""


@dataclass(frozen=True)
class Cell:
    """One scenario, at one revision, in one version of the suite."""

    scenario: str
    revision: str
    suite: str


@dataclass
class Outcome:
    """What the checks of a cell came to; `faults` say all that was not as it must be."""

    counts: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        said = "/".join(str(self.counts[status]) for status in (PASSED, FAILED, WARNING))
        skipped = f" ({self.counts[SKIPPED]})" if self.counts[SKIPPED] else ""
        return f"[{'red' if self.faults else 'green'}]{said}{skipped}[/]"


class Suite:
    """The suite as npm has installed it into `folder`, each version under a name of its own.

    Raises:
        Unusable: there is no Node, or one that is too old.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._node = shutil.which("node") or ""
        found = self._run("--version").strip() if self._node else "none"
        if not found.startswith("v") or int(found[1:].split(".")[0]) < NODE:
            raise Unusable(f"the suite needs Node {NODE} or later, and finds {found}")

    def cells(self, version: str) -> list[Cell]:
        """Every scenario for servers, at every revision that it is about.

        Raises:
            Unusable: one is about no revision, and LEFT_OUT does not say why it is not run.
        """
        cells: list[Cell] = []
        listed = self._run(self._script(version), "list", "--server")
        for found in _LISTED.finditer(listed):
            name, about = found["name"], found["about"]
            if about and about != "extension":
                cells += [Cell(name, revision, version) for revision in about.split(",")]
            elif not name.startswith(tuple(LEFT_OUT)):
                raise Unusable(f"{version}: expected LEFT_OUT to say why {name} is not run")
        if not cells:
            raise Unusable(f"{version}: expected a list of scenarios, got {listed!r}")
        return cells

    def outcome(self, cell: Cell, url: str) -> Outcome:
        """Run one scenario against the server at `url`."""
        words = ("--url", url, "--scenario", cell.scenario, "--spec-version", cell.revision)
        with tempfile.TemporaryDirectory() as folder:
            said = self._run(self._script(cell.suite), "server", *words, "-o", folder)
            written = [path.read_text() for path in Path(folder).rglob("checks.json")]
        checks = [check for one in written for check in json.loads(one)]
        outcome = Outcome(Counter(check["status"] for check in checks))
        outcome.faults = [_fault(one) for one in checks if one["status"] in (FAILED, WARNING)]
        if not outcome.counts[PASSED]:
            # The suite calls a scenario that threw, or that checked nothing, no failure.
            outcome.faults.append(f"nothing has passed: {said[-2000:]}")
        return outcome

    def _script(self, version: str) -> str:
        package = self._folder / "node_modules" / f"conformance-{version}"
        return str(package / "dist" / "index.js")

    def _run(self, *words: str) -> str:
        both, pipe = subprocess.STDOUT, subprocess.PIPE
        try:
            run = subprocess.run(
                (self._node, *words), stdout=pipe, stderr=both, timeout=SCENARIO_S, check=False
            )
        except subprocess.TimeoutExpired:
            return f"it did not end within {SCENARIO_S:.0f} s"
        return run.stdout.decode(errors="replace")


def _fault(check: dict[str, Any]) -> str:
    said = check.get("errorMessage") or check.get("description", "")
    return f"{check['status']} {check['id']}: {said} {json.dumps(check.get('details', {}))[:1500]}"


class ServerUnderTest:
    """The server of this folder, in a process of its own."""

    def __init__(self, log: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = int(taken.getsockname()[1])
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._log = log
        words = (sys.executable, "-m", "tests.conformance.server", "--port", str(port))
        with log.open("wb") as out:
            self.process = subprocess.Popen(words, stdout=out, stderr=out)
        self._wait_for(port)

    @property
    def died(self) -> bool:
        return self.process.poll() is not None

    def end(self) -> list[str]:
        """Tell it to stop; everything that was wrong with it, at its end or before."""
        faults: list[str] = []
        if self.died:
            faults.append(f"the server died with status {self.process.returncode}")
        self.process.terminate()
        try:
            status = self.process.wait(ENDS_S)
            if status and not faults:
                faults.append(f"the server ended with status {status} when it was told to stop")
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            faults.append(f"the server did not stop within {ENDS_S:.0f} s of SIGTERM")
        said = self._log.read_text(errors="replace")
        if "Traceback" in said:
            faults.append("the server logged a traceback")
        return [*faults, f"the server's log ends:\n{said[-4000:]}"] if faults else []

    def _wait_for(self, port: int) -> None:
        until = time.monotonic() + STARTS_S
        while time.monotonic() < until and not self.died:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise Unusable("\n".join(["the server did not start", *self.end()]))


@contextmanager
def serving(faults: list[str]) -> Generator[ServerUnderTest]:
    """A server that answers; afterwards `faults` say what was wrong with it."""
    with tempfile.TemporaryDirectory() as folder:
        server = ServerUnderTest(Path(folder) / "log")
        try:
            yield server
        finally:
            faults += server.end()


def run(suite: Suite, cells: list[Cell], faults: list[str]) -> dict[Cell, Outcome]:
    """Run the cells, a few at once; those that the server did not live to see are missing."""
    with serving(faults) as server, ThreadPoolExecutor(AT_ONCE) as workers:

        def outcome(cell: Cell) -> Outcome | None:
            return None if server.died else suite.outcome(cell, server.url)

        found = zip(cells, workers.map(outcome, cells), strict=True)
        return {cell: outcome for cell, outcome in found if outcome is not None}


def show(console: Console, outcomes: dict[Cell, Outcome]) -> None:
    """Print a row per scenario, a column per version and revision, and below what is wrong."""
    columns = sorted({(cell.suite, cell.revision) for cell in outcomes})
    table = Table(title="passed/failed/warnings (skipped)")
    table.add_column("scenario")
    for suite, revision in columns:
        table.add_column(f"{revision}\n{suite}", justify="right")
    for scenario in dict.fromkeys(cell.scenario for cell in outcomes):
        found = (outcomes.get(Cell(scenario, revision, suite)) for suite, revision in columns)
        table.add_row(scenario, *("" if one is None else str(one) for one in found))
    console.print(table)
    for cell, outcome in outcomes.items():
        for fault in outcome.faults:
            named = f"{cell.scenario} at {cell.revision}, {cell.suite}"
            console.print(f"[red]{named}[/]: {escape(fault)}", soft_wrap=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=Path, required=True, help="where npm installed it")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    told = parser.parse_args()
    suite = Suite(told.suite)
    cells = [cell for version in SUITES for cell in suite.cells(version)]
    if unknown := set(told.scenarios) - {cell.scenario for cell in cells}:
        raise Unusable(f"no version of the suite has for servers: {', '.join(sorted(unknown))}")
    cells = [cell for cell in cells if not told.scenarios or cell.scenario in told.scenarios]
    faults: list[str] = []
    outcomes = run(suite, cells, faults)
    console = Console(width=None if sys.stdout.isatty() else 150)
    show(console, outcomes)
    for fault in faults:
        console.print(f"[red]{escape(fault)}[/]", soft_wrap=True)
    for prefix, reason in LEFT_OUT.items():
        console.print(f"left out: {prefix}*: {reason}")
    clean = [cell for cell, outcome in outcomes.items() if not outcome.faults]
    console.print(f"{len(clean)} of {len(cells)} clean")
    return 0 if len(clean) == len(cells) and not faults else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Unusable as error:
        sys.exit(str(error))
