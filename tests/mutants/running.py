"""Runs the chosen tests against one fault, in stages, until one of them fails."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tests.mutants import selecting
from tests.mutants.copies import Copy
from tests.mutants.forking import Forks
from tests.mutants.places import Place
from tests.mutants.reach import TracedTest
from tests.mutants.selection import Selector

__all__ = ["STAGES", "Outcome", "Ran", "Reliable", "Stage", "Worker", "stages"]

Status: TypeAlias = Literal["killed", "timeout", "survived", "unreached"]

MARK = "MUTANTS_MARK"
"""Environment variable that the processes of one run have in common."""

START_S = 3.0
"""Estimate of the start of pytest."""

FILE_S = 0.2
"""Estimate of the collection of one test file."""

SLACK = 4.0
"""Factor from the expected duration of a run to its time limit."""

ALLOWANCE_S = 30.0
LEAST_TEST_S = 15.0
PASSED, FAILED, NO_TESTS = 0, 1, 5


@dataclass(frozen=True, slots=True)
class Stage:
    """Bounds of one run of pytest: expected seconds of its tests, and number of test files."""

    seconds: float
    files: int


STAGES = (Stage(2.0, 6), Stage(8.0, 20), Stage(30.0, 60))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one fault.

    Args:
        by: The test that found it, or the generator.
        why: First line of that failure.
        tried: Number of tests that were run, or were to be.
        files: Their files.
    """

    status: Status
    by: str = ""
    why: str = ""
    tried: int = 0
    files: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Ran:
    """End of one run of pytest."""

    status: Literal["passed", "failed", "timeout"]
    test: str = ""
    why: str = ""


class Reliable:
    """Tests that were seen to pass, or to fail, by themselves and without a fault."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known: dict[str, bool] = json.loads(path.read_text()) if path.exists() else {}

    @property
    def unreliable(self) -> set[str]:
        with self._lock:
            return {test for test, passes in self._known.items() if not passes}

    def known(self, test: str) -> bool | None:
        with self._lock:
            return self._known.get(test)

    def learn(self, test: str, passes: bool) -> None:
        with self._lock:
            self._known[test] = passes
            self._path.write_text(json.dumps(self._known))


def stages(
    tests: list[TracedTest], bounds: Collection[Stage] = STAGES
) -> Iterator[list[TracedTest]]:
    """Cut the tests into runs: a short one first, since most faults are found at once.

    Tests that no stage has time for are left out.
    """
    left = tests
    for bound in bounds:
        seconds, files, chosen, later = 0.0, set[str](), list[TracedTest](), list[TracedTest]()
        for test in left:
            # The first test of a stage may be longer than the stage.
            fits = not chosen or seconds + test.seconds <= bound.seconds
            if fits and (test.file in files or len(files) < bound.files):
                seconds += test.seconds
                files.add(test.file)
                chosen.append(test)
            else:
                later.append(test)
        left = later
        if chosen:
            yield chosen


class Worker:
    """Tries faults one after another, in a copy of its own.

    Args:
        root: The checkout.
        copy: The copy.
        selector: Chooses the tests.
        reliable: Tests known to pass without a fault; shared by all workers.
    """

    def __init__(self, root: Path, copy: Copy, selector: Selector, reliable: Reliable) -> None:
        self._root = root
        self._copy = copy
        self._selector = selector
        self._reliable = reliable
        self._forks: Forks | None = None
        self._stopped = False

    def stop(self) -> None:
        """End the run in progress; `try_fault` raises KeyboardInterrupt then."""
        self._stopped = True
        if self._forks is not None:
            self._forks.kill()

    def close(self) -> None:
        if self._forks is not None:
            self._forks.close()

    def try_fault(self, place: Place) -> Outcome:
        """Put the fault in, run the tests that reach it, and take it out again."""
        started = time.monotonic()
        while True:
            outcome = self._try_once(place)
            outcome = Outcome(
                outcome.status,
                outcome.by,
                outcome.why,
                outcome.tried,
                outcome.files,
                round(time.monotonic() - started, 1),
            )
            if outcome.status != "killed" or self._passes_alone(outcome.by):
                return outcome

    def _try_once(self, place: Place) -> Outcome:
        unreliable = self._reliable.unreliable
        tests = [one for one in self._selector.tests(place) if one.id not in unreliable]
        if not tests:
            return Outcome("unreached")
        tried: list[TracedTest] = []
        files: tuple[str, ...] = ()
        try:
            objection = self._copy.apply(place)
            if objection:
                return Outcome("killed", "the generator", objection.splitlines()[-1][:200])
            for stage in stages(tests):
                tried += stage
                ran = self.run(stage)
                files = tuple(dict.fromkeys(test.file for test in tried))
                if ran.status != "passed":
                    status: Status = "killed" if ran.status == "failed" else "timeout"
                    return Outcome(status, ran.test, ran.why, len(tried), files)
            return Outcome("survived", tried=len(tried), files=files)
        finally:
            self._copy.restore(place, self._root)

    def _passes_alone(self, test: str) -> bool:
        """Return True if a test passes without a fault; what also fails then is no proof."""
        if "::" not in test:
            return True
        known = self._reliable.known(test)
        if known is None:
            known = (
                self.run([TracedTest(test, 5.0, starts_child=False, breadth=0)]).status == "passed"
            )
            self._reliable.learn(test, known)
        return known

    def run(self, tests: list[TracedTest]) -> Ran:
        """Run tests in the copy as it is now."""
        if self._stopped:
            raise KeyboardInterrupt
        files = list(dict.fromkeys(test.file for test in tests))
        expected = START_S + FILE_S * len(files) + sum(test.seconds for test in tests)
        each = max(LEAST_TEST_S, 8 * max(test.seconds for test in tests))
        with tempfile.TemporaryDirectory(prefix="m-", ignore_cleanup_errors=True) as folder:
            order = Path(folder, selecting.ORDER)
            order.write_text(json.dumps([test.id for test in tests]))
            words = ["-x", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist"]
            words += ["-p", "tests.mutants.selecting", f"--timeout={each:.0f}"]
            # The plugins of other packages are imported before the fork.
            words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
            # Shorter than pytest's own folder: paths of Unix sockets have a limit.
            words += [f"--basetemp={folder}/t", *files]
            if self._forks is None:
                self._forks = Forks(self._copy.folder, self._copy.environment)
            own = {selecting.FOLDER: folder, MARK: folder}
            status = self._forks.run(words, own, SLACK * expected + ALLOWANCE_S)
            _end_children(folder)
            if self._stopped:
                raise KeyboardInterrupt
            result = Path(folder, selecting.RESULT)
            found: dict[str, str] = json.loads(result.read_text()) if result.exists() else {}
        return _judge(status, found)


def _judge(status: int | None, found: dict[str, str]) -> Ran:
    test, why = found.get("test", ""), found.get("why", "")
    if status is None and not test:
        return Ran("timeout")
    if status == PASSED:
        return Ran("passed")
    if status == NO_TESTS and not test:
        raise RuntimeError("pytest found none of the tests of the map: remove .mutants")
    if "Timeout (>" in why:
        return Ran("timeout", test, why)
    # Without a test's name pytest itself could not run, as when a conftest cannot be imported.
    return Ran("failed", test or "collection", why or f"pytest ended with {status}")


def _end_children(mark: str) -> None:
    """End the processes that a run has started: some have a session of their own."""
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
