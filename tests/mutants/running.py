"""Runs the chosen tests against one fault, in stages, until one of them fails."""

from __future__ import annotations

import json
import math
import tempfile
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tests.mutants import selecting
from tests.mutants.choice.selection import Selector
from tests.mutants.copies import Copy
from tests.mutants.forking import Forks
from tests.mutants.places import Place
from tests.mutants.reach import TracedTest

__all__ = ["STAGES", "Outcome", "Ran", "Reliable", "Stage", "Worker"]

Status: TypeAlias = Literal["killed", "timeout", "only full", "survived", "unreached"]
"""`only full`: found by a case that `nox -s tests` leaves out, and by none of its own."""

START_S = 3.0
"""Estimate of the start of pytest."""

FILE_S = 0.2
"""Estimate of the collection of one test file."""

SLACK = 4.0
"""Factor from the expected duration of a run to its time limit."""

ALLOWANCE_S = 30.0
LEAST_TEST_S = 15.0
PASSED, STOPPED, NO_TESTS = 0, 2, 5


@dataclass(frozen=True, slots=True)
class Stage:
    """One run of pytest: a short one comes first, since most faults are found at once.

    Args:
        seconds: Time after which no test of it is begun.
        files: Most test files in it.
    """

    seconds: float
    files: int

    def take(self, tests: list[TracedTest]) -> tuple[list[TracedTest], list[TracedTest]]:
        """Return the tests of this stage, and the others."""
        seconds, files, made = 0.0, set[str](), set[str]()
        chosen: list[TracedTest] = []
        left: list[TracedTest] = []
        for test in tests:
            # The first test of a stage may be longer than the stage.
            # What several tests share is made once.
            more = test.seconds + sum(one for what, one in test.shares if what not in made)
            fits = not chosen or seconds + more <= OVERBOOKED * self.seconds
            if fits and (test.file in files or len(files) < self.files):
                seconds += more
                made.update(what for what, _ in test.shares)
                files.add(test.file)
                chosen.append(test)
            else:
                left.append(test)
        return chosen, left


STAGES = (
    Stage(2.0, 6),
    Stage(8.0, 20),
    Stage(20.0, 50),
    Stage(40.0, 150),
    Stage(60.0, 150),
)
"""Each begins with the nearest tests that had no turn, and runs its own file by file."""

OVERBOOKED = 2.0
"""Expected seconds of a stage's tests, for each second that it has: expectations are rough."""

FULL = Stage(120.0, 60)
"""The run of the cases that `nox -s tests` leaves out."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one fault.

    Args:
        by: The test that found it, or the generator.
        why: First line of that failure.
        tried: Number of tests that were run.
        files: Their files.
        full: True if it was tried with the cases that `nox -s tests` leaves out, too.
    """

    status: Status
    by: str = ""
    why: str = ""
    tried: int = 0
    files: tuple[str, ...] = ()
    seconds: float = 0.0
    full: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """End of one run of pytest."""

    status: Literal["passed", "failed", "timeout", "missing"]
    """`missing`: pytest found none of the tests."""
    test: str = ""
    why: str = ""
    began: frozenset[str] = frozenset()
    """Tests that were run; the time of the stage may have been over before the others."""


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


class Worker:
    """Tries faults one after another, in a copy of its own.

    Args:
        root: The checkout.
        copy: The copy.
        selector: Chooses the tests.
        reliable: Tests known to pass without a fault; shared by all workers.
        full: Try what is not found with the cases that `nox -s tests` leaves out, too.
    """

    def __init__(
        self,
        root: Path,
        copy: Copy,
        selector: Selector,
        reliable: Reliable,
        full: bool = False,
    ) -> None:
        self._root = root
        self.copy = copy
        self._selector = selector
        self._reliable = reliable
        self._full = full
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
        """Put the fault in, run the tests that reach it, and take it out again.

        A failure counts if the test fails once more with the fault, and passes without it.
        """
        started = time.monotonic()
        while True:
            outcome, proof = self._try_once(place)
            if not proof or self._pass_without_fault(proof):
                return replace(outcome, seconds=round(time.monotonic() - started, 1))

    def _try_once(self, place: Place) -> tuple[Outcome, list[TracedTest]]:
        """Return the outcome, and the tests that must pass without the fault."""
        unreliable = self._reliable.unreliable
        tests = reaching = [one for one in self._selector.tests(place) if one.id not in unreliable]
        if not tests:
            return Outcome("unreached", full=self._full), []
        tried: list[TracedTest] = []
        try:
            objection = self.copy.apply(place)
            if objection:
                return Outcome("killed", "the generator", objection.splitlines()[-1][:200]), []
            for stage in STAGES:
                if stage is STAGES[-1]:
                    # Tests of a file may all wait for what the fault keeps from coming.
                    begun = {test.file for test in tried}
                    tests.sort(key=lambda test: test.file in begun)
                chosen, tests = stage.take(tests)
                ran, proof = self.run_until_sure(chosen, stage.seconds)
                tests = [*(test for test in chosen if test.id not in ran.began), *tests]
                tried += [test for test in chosen if test.id in ran.began]
                if ran.status != "passed":
                    status: Status = "killed" if ran.status == "failed" else "timeout"
                    return Outcome(status, ran.test, ran.why, len(tried), _files(tried)), proof
                if not tests:
                    break
            outcome = Outcome("survived", tried=len(tried), files=_files(tried), full=self._full)
            if not self._full:
                return outcome, []
            ran, proof = self.run_left_out(reaching)
            if ran.status != "passed":
                outcome = replace(outcome, status="only full", by=ran.test, why=ran.why)
            return replace(outcome, tried=len(tried) + len(ran.began)), proof
        finally:
            self.copy.restore(place, self._root)

    def run_left_out(self, tests: list[TracedTest]) -> tuple[Ran, list[TracedTest]]:
        """Run the cases of the same test functions that `nox -s tests` leaves out."""
        known = self._reliable.unreliable | self._selector.cases(tests)
        functions = {test.function: replace(test, id=test.function, is_full=True) for test in tests}
        chosen, _ = FULL.take(list(functions.values()))
        began = frozenset[str]()
        while True:
            ran = self.run(chosen, FULL.seconds, known)
            began |= ran.began
            function = functions.get(ran.test.partition("[")[0])
            if ran.status in ("passed", "missing") or function is None:
                return Ran("passed", began=began), []
            case = [replace(function, id=ran.test)]
            if self.run(case).status not in ("passed", "missing"):
                return replace(ran, began=began), case
            # By itself it passes: the others may find the fault.
            known = known | began

    def run_until_sure(
        self, tests: list[TracedTest], seconds: float
    ) -> tuple[Ran, list[TracedTest]]:
        """Run tests until none fails, or one fails by itself as well."""
        began = frozenset[str]()
        while tests:
            ran = self.run(tests, seconds)
            if ran.status == "missing":
                raise RuntimeError("pytest found none of the tests of the map: remove .mutants")
            began |= ran.began
            ran = replace(ran, began=began)
            failed = [test for test in tests if test.id == ran.test]
            if ran.status == "passed":
                return ran, []
            if not failed:
                # A file that cannot be imported, or a run that does not end.
                in_file = [test for test in tests if test.file == ran.test]
                return ran, in_file[:1] or tests
            alone = ran if len(tests) == 1 else self.run(failed)
            if alone.status == "missing":
                # Its id depends on what was imported before it.
                self._reliable.learn(failed[0].id, passes=False)
            elif alone.status != "passed":
                return ran, failed
            tests = [test for test in tests if test.id not in began]
        return Ran("passed", began=began), []

    def _pass_without_fault(self, tests: list[TracedTest]) -> bool:
        """Return True if tests pass without a fault; learn which one does not."""
        (first, *more) = tests
        known = None if more else self._reliable.known(first.id)
        if known is None:
            ran = self.run(tests)
            known = ran.status == "passed"
            if known or (not more and ran.status == "timeout"):
                self._reliable.learn(first.id, known)
            elif "::" in ran.test:
                # One of them fails on a busy machine: the others may pass.
                self._reliable.learn(ran.test, passes=False)
            else:
                raise RuntimeError(f"tests do not pass without a fault: {ran.test} {ran.why}")
        return known

    def run(
        self,
        tests: list[TracedTest],
        seconds: float = math.inf,
        left_out: Collection[str] = (),
    ) -> Ran:
        """Run tests in the copy as it is now, as many as `seconds` allow.

        Args:
            tests: The tests, or functions: then all their cases.
            seconds: Time after which no test is begun.
            left_out: Cases that are not run.
        """
        if self._stopped:
            raise KeyboardInterrupt
        files = _files(tests)
        shared = sum(dict(one for test in tests for one in test.shares).values())
        expected = START_S + FILE_S * len(files) + sum(test.seconds for test in tests) + shared
        if left_out:
            # A function has more cases than the one whose duration is known.
            expected = max(expected, seconds)
        each = max(LEAST_TEST_S, 8 * max(test.whole_seconds for test in tests))
        with tempfile.TemporaryDirectory(prefix="m-", ignore_cleanup_errors=True) as folder:
            order = Path(folder, selecting.ORDER)
            chosen = {"tests": [test.id for test in tests], "left_out": [*left_out]}
            order.write_text(json.dumps({**chosen, "seconds": seconds}))
            words = ["-x", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist"]
            words += ["-p", "tests.mutants.selecting", f"--timeout={each:.0f}"]
            # The plugins of other packages are imported before the fork.
            words += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
            # Shorter than pytest's own folder: paths of Unix sockets have a limit.
            words += [f"--basetemp={folder}/t", *files]
            words += ["--full"] if any(test.is_full for test in tests) else []
            if self._forks is None:
                self._forks = Forks(self.copy.folder, self.copy.environment)
            own = {selecting.FOLDER: folder}
            status = self._forks.run(words, own, SLACK * expected + ALLOWANCE_S)
            if self._stopped:
                raise KeyboardInterrupt
            found: dict[str, str] = _json(Path(folder, selecting.RESULT), {})
            began: list[str] = _json(Path(folder, selecting.RAN), [])
        if found:
            began.append(found["test"])
        return replace(_judge(status, found), began=frozenset(began))


def _json(path: Path, default: Any) -> Any:
    return json.loads(path.read_text()) if path.exists() else default


def _files(tests: list[TracedTest]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(test.file for test in tests))


def _judge(status: int | None, found: dict[str, str]) -> Ran:
    test, why = found.get("test", ""), found.get("why", "")
    if status is None and not test:
        return Ran("timeout")
    if status == PASSED or (status == STOPPED and not test):
        return Ran("passed")
    if status == NO_TESTS and not test:
        return Ran("missing")
    if "Timeout (>" in why:
        return Ran("timeout", test, why)
    # Without a test's name pytest itself could not run, as when a conftest cannot be imported.
    return Ran("failed", test or "collection", why or f"pytest ended with {status}")
