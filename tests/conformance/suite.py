"""The official conformance suite as installed by npm: its scenarios and their outcomes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any, Literal, TypeAlias

__all__ = ["SUITES", "Cell", "LegName", "Outcome", "Suite", "Unusable", "Verdict"]

SUITES = ("0.2.0-alpha.12", "0.1.16")
NODE = 22
"""Oldest Node version that the suite runs on."""

SCENARIO_S = 90.0

PASSED, FAILED, WARNING, SKIPPED = "SUCCESS", "FAILURE", "WARNING", "SKIPPED"
LegName: TypeAlias = Literal["server", "client", "authorization"]
Verdict: TypeAlias = Literal["passed", "failed", "not tested"]
VERDICTS: dict[str, Verdict] = {
    SKIPPED: "not tested",
    PASSED: "passed",
    WARNING: "failed",
    FAILED: "failed",
}
"""Verdicts by status of a check, the weightiest last; a note (INFO) has none."""

_LISTED = re.compile(r"^ +- (?P<name>\S+)(?: \[(?P<about>[^\]]+)\])?", re.MULTILINE)
_DATES = re.compile(r"\d{4}-\d\d-\d\d(,\d{4}-\d\d-\d\d)*")
_SAID_NO = re.compile(r"^Client (exited with code \d+|timed out.*)$", re.MULTILINE)


class Unusable(Exception):
    """Raised if the suite or the program under test cannot be run."""


@dataclass(frozen=True)
class Cell:
    """Scenario of a leg, at one revision, in one version of the suite."""

    leg: LegName
    scenario: str
    revision: str
    suite: str


@dataclass
class Outcome:
    """Outcome of the checks of a cell; `faults` lists every check that did not pass."""

    counts: Counter[str] = field(default_factory=Counter[str])
    faults: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])
    """The names of the checks that were skipped."""
    verdicts: dict[str, Verdict] = field(default_factory=dict[str, Verdict])
    """The verdict by check; of one that repeats, the weightiest."""

    def __str__(self) -> str:
        said = "/".join(str(self.counts[status]) for status in (PASSED, FAILED, WARNING))
        skipped = f" ({self.counts[SKIPPED]})" if self.counts[SKIPPED] else ""
        return f"[{'red' if self.faults else 'green'}]{said}{skipped}[/]"


class Suite:
    """Suite in `folder`, with each version installed under its own name.

    Raises:
        Unusable: Node is missing or too old.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._node = shutil.which("node") or ""
        found = self._run("--version")[0].strip() if self._node else "none"
        if not found.startswith("v") or int(found[1:].split(".")[0]) < NODE:
            raise Unusable(f"the suite needs Node {NODE} or later, and finds {found}")

    def cells(
        self,
        leg: LegName,
        version: str,
        left_out: Mapping[str, str],
        extensions: Mapping[str, str] | None = None,
    ) -> list[Cell]:
        """Return every scenario of a leg, at every revision that it is about.

        Scenarios with a prefix in `left_out` are not run; its values are the reasons. Scenarios
        with a prefix in `extensions` name no revision, and run at the one that it gives.

        Raises:
            Unusable: a scenario names no revision, and `left_out` gives no reason to skip it.
        """
        cells: list[Cell] = []
        listed, _ = self._run(self._script(version), "list", f"--{leg}")
        for found in _LISTED.finditer(listed):
            name, about = found["name"], found["about"] or ""
            if name.startswith(tuple(left_out)):
                continue
            if about == "extension":
                begins = (one for one in extensions or {} if name.startswith(one))
                about = (extensions or {}).get(next(begins, ""), about)
            if not _DATES.fullmatch(about):
                raise Unusable(f"{version}: expected LEFT_OUT to say why {name} is not run")
            cells += [Cell(leg, name, revision, version) for revision in about.split(",")]
        if not cells:
            raise Unusable(f"{version}: expected a list of scenarios, got {listed!r}")
        return cells

    def outcome(self, cell: Cell, *words: str) -> Outcome:
        """Run one scenario; `words` are the suite's options that name the program under test."""
        what = ("--scenario", cell.scenario, "--spec-version", cell.revision)
        with tempfile.TemporaryDirectory() as folder:
            script = self._script(cell.suite)
            said, status = self._run(script, cell.leg, *words, *what, "-o", folder)
            written = [path.read_text() for path in Path(folder).rglob("checks.json")]
            complaints = [path.read_text() for path in Path(folder).rglob("stderr.txt")]
        return _outcome(written, complaints, said, status)

    def outcomes(
        self, cells: Sequence[Cell], *words: str, heard: Callable[[str], None]
    ) -> dict[Cell, Outcome]:
        """Run every scenario of a leg in one process, for cells of one revision and version.

        Args:
            cells: The cells.
            words: The suite's options that name the program under test.
            heard: Takes each line that the suite prints, at once.
        """
        what = ("--spec-version", cells[0].revision)
        lines: list[str] = []
        with tempfile.TemporaryDirectory() as folder:
            command = (self._node, self._script(cells[0].suite), cells[0].leg, *words, *what)
            process = subprocess.Popen(
                (*command, "-o", folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            late = Timer(SCENARIO_S, process.kill)
            late.start()
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    lines.append(line.decode(errors="replace"))
                    heard(lines[-1])
            finally:
                late.cancel()
                process.kill()
                status = process.wait()
                assert process.stdout is not None
                process.stdout.close()
            written = {path: path.read_text() for path in Path(folder).rglob("checks.json")}
        said = "".join(lines)
        found: dict[Cell, Outcome] = {}
        for cell in cells:
            folders = [path for path in written if f"-{cell.scenario}-" in f"-{path.parent.name}"]
            found[cell] = _outcome([written[path] for path in folders], [], said, status)
        return found

    def _script(self, version: str) -> str:
        package = self._folder / "node_modules" / f"conformance-{version}"
        return str(package / "dist" / "index.js")

    def _run(self, *words: str) -> tuple[str, int]:
        both, pipe = subprocess.STDOUT, subprocess.PIPE
        try:
            run = subprocess.run(
                (self._node, *words), stdout=pipe, stderr=both, timeout=SCENARIO_S, check=False
            )
        except subprocess.TimeoutExpired:
            return f"it did not end within {SCENARIO_S:.0f} s", -1
        return run.stdout.decode(errors="replace"), run.returncode


def _outcome(written: list[str], complaints: list[str], said: str, status: int) -> Outcome:
    checks = [check for one in written for check in json.loads(one)]
    outcome = Outcome(Counter(check["status"] for check in checks))
    outcome.verdicts = _verdicts(checks)
    outcome.skipped = [one["name"] for one in checks if one["status"] == SKIPPED]
    outcome.faults = [_fault(one) for one in checks if one["status"] in (FAILED, WARNING)]
    # Some scenarios let the client fail; ours need not.
    outcome.faults += [one.group() for one in _SAID_NO.finditer(said)]
    outcome.faults += [f"the client said: {one[-2000:]}" for one in complaints if one.strip()]
    if not outcome.counts[PASSED]:
        # The suite calls a scenario that threw, or that checked nothing, no failure.
        outcome.faults.append(f"nothing has passed: {said[-2000:]}")
    if status and not outcome.faults:
        outcome.faults.append(f"it ended with status {status}: {said[-2000:]}")
    return outcome


def _verdicts(checks: list[dict[str, Any]]) -> dict[str, Verdict]:
    found: dict[str, Verdict] = {}
    for status, verdict in VERDICTS.items():
        found |= {one["id"]: verdict for one in checks if one["status"] == status}
    return found


def _fault(check: dict[str, Any]) -> str:
    said = check.get("errorMessage") or check.get("description", "")
    return f"{check['status']} {check['id']}: {said} {json.dumps(check.get('details', {}))[:1500]}"
