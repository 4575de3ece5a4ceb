"""The reach map: which tests reach which lines, made by a traced run of the tests.

The map is kept per state of the sources. Where only test files have changed, these alone are traced
again.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from coverage import CoverageData

from tests.mutants import tracing
from tests.mutants.places import PLUGIN
from tests.mutants.traced_child import sitecustomize

__all__ = ["Reach", "TracedTest", "Unusable", "make", "state_of", "test_files"]

INPUTS = ("mcp_gen", "codegen", "generated", "schema", "examples", "tests")
SKIPPED = ("tests/mutants/", "tests/peers/", "tests/typing/")
"""Folders whose tests find no faults here: they test this tool, or need other programs."""

FILES_AT_ONCE = 60
"""Test files traced by one run of pytest; a run that is ended loses no more than these."""

WAITING = 1
"""Processes of a traced run beside those asked for: for a third of the time tests only wait."""

CHILD_FOLDER = Path("tests", "mutants", "traced_child")
LEAST_SHARE = 0.1
_META = "map.json"


class Unusable(Exception):
    """The tool cannot run; the message says why."""


@dataclass(frozen=True, slots=True)
class TracedTest:
    """One test of the map.

    Args:
        id: Its node id.
        seconds: Expected duration.
        starts_child: True if it starts a process, whose lines may not be in the map.
        breadth: Number of source files that it reaches.
        shares: What it shares with other tests, such as the fixtures of a module, each with the
            seconds that its making takes.
    """

    id: str
    seconds: float
    starts_child: bool
    breadth: int
    shares: tuple[tuple[str, float], ...] = ()

    @property
    def whole_seconds(self) -> float:
        """Duration with all that is shared, as by itself."""
        return self.seconds + sum(seconds for _, seconds in self.shares)

    @property
    def file(self) -> str:
        return self.id.partition("::")[0]

    @property
    def function(self) -> str:
        return self.id.partition("[")[0]


def test_files(root: Path) -> dict[str, str]:
    """Return the hash of each test file, by its path in the checkout."""
    found = {path.relative_to(root).as_posix(): path for path in root.glob("tests/**/test_*.py")}
    return {
        name: _hash([path]) for name, path in sorted(found.items()) if not name.startswith(SKIPPED)
    }


def state_of(root: Path) -> str:
    """Return a hash of all that the tests read, but of the test files themselves."""
    tests = test_files(root).keys()
    # What traces the tests makes the map.
    paths = [root / "pyproject.toml", *map(Path, (tracing.__file__, sitecustomize.__file__))]
    paths += root.glob(PLUGIN)
    for folder in INPUTS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            passed_over = "__pycache__" in name or name.startswith(SKIPPED) or name in tests
            # An empty file is one that makes a folder a package.
            if path.is_file() and path.stat().st_size and not passed_over:
                paths.append(path)
    return _hash(paths)[:12]


def _hash(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        data = path.read_bytes()
        digest.update(b"%s %d\n" % (path.name.encode(), len(data)))
        digest.update(data)
    return digest.hexdigest()


def make(
    folder: Path,
    copy: Path,
    jobs: int,
    say: Callable[[str], None],
    deadline: float | None = None,
    only: Sequence[str] = (),
) -> Reach:
    """Return the map of a copy of the checkout; trace what is missing, part by part.

    Args:
        folder: Where the maps of this state of the sources are kept.
        copy: A copy of the checkout.
        jobs: Number of processes.
        say: Told what takes long.
        deadline: Time of `time.monotonic` after which no part is begun.
        only: Beginnings of the paths of the test files to look at; none for all.

    Raises:
        Unusable: the time is over; the parts that are done are kept. Or no file begins so.
    """
    files = {
        name: hashed
        for name, hashed in test_files(copy).items()
        if not only or name.startswith(tuple(only))
    }
    if not files:
        raise Unusable(f"no test file begins with {' or '.join(only)}: give a path like tests/core")
    missing = sorted(files.keys() - _current(folder, files).keys())
    done = len(files) - len(missing)
    while missing and (deadline is None or time.monotonic() < deadline):
        # Neighbours are alike: every nth file makes parts that take equally long.
        part = missing[:: -(-len(missing) // FILES_AT_ONCE)]
        say(f"tracing tests: {done} of {len(files)} files are done")
        where = folder / f"map-{len(list(folder.glob('map-*')))}"
        share = _trace(where, copy, part, jobs + WAITING)
        hashes = {name: files[name] for name in part}
        meta = {"root": str(copy), "files": hashes, "share": round(share, 3)}
        (where / _META).write_text(json.dumps(meta))
        missing = [name for name in missing if name not in part]
        done += len(part)
    if missing:
        raise Unusable(f"time is over; {done} of {len(files)} test files are traced: run it again")
    return Reach(folder, files)


def _current(folder: Path, files: dict[str, str]) -> dict[str, Path]:
    """Return the map that has each test file as it is now."""
    found: dict[str, Path] = {}
    for path in sorted(folder.glob(f"map-*/{_META}")):
        for name, hashed in json.loads(path.read_text())["files"].items():
            if files.get(name) == hashed:
                found[name] = path.parent
    return found


def _trace(folder: Path, copy: Path, files: list[str], jobs: int) -> float:
    """Run tests under coverage.py.

    Returns:
        The share of the processors that the run had: what a test took times this is what it takes
        on a machine with nothing else to do.
    """
    started, before = time.monotonic(), _cpu_s()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = ["-q", "-p", "no:cacheprovider", "-p", "tests.mutants.tracing", "--tb=line"]
    if len(files) > jobs:
        words += ["-n", str(jobs), "--dist", "worksteal"]
    with (folder / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *words, *files],
            cwd=copy,
            env={**os.environ, **_paths(copy), tracing.FOLDER: str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            process.wait()
        except BaseException:
            # With its workers, and the servers that they have started.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if not (folder / tracing.TESTS).exists():
        raise Unusable(f"the traced run of the tests did not end: see {folder / 'log.txt'}")
    share = (_cpu_s() - before) / (time.monotonic() - started) / min(jobs, len(files))
    return min(1.0, max(LEAST_SHARE, share))


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _paths(copy: Path) -> dict[str, str]:
    folders = [copy, copy / "generated", copy / CHILD_FOLDER]
    return {"PYTHONPATH": os.pathsep.join(map(str, folders))}


class Reach:
    """Answers which tests reach a line."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.tests: dict[str, TracedTest] = {}
        self.failing: set[str] = set()
        """Tests that failed in the traced run: they prove nothing."""
        self._sources: list[tuple[Path, CoverageData, Contexts]] = []
        self._children: list[tuple[set[str], dict[str, list[int]]]] = []
        by_map: dict[Path, set[str]] = defaultdict(set)
        for name, where in _current(folder, files).items():
            by_map[where].add(name)
        for where, names in by_map.items():
            self._read(where, frozenset(names))
        self.by_file: dict[str, list[TracedTest]] = defaultdict(list)
        self.by_function: dict[str, list[TracedTest]] = defaultdict(list)
        for test in self.tests.values():
            self.by_file[test.file].append(test)
            self.by_function[test.function].append(test)
        self._contexts = lru_cache(maxsize=32)(self._read_contexts)
        self._contexts_of_children = lru_cache(maxsize=32)(self._read_contexts_of_children)

    def _read(self, where: Path, names: frozenset[str]) -> None:
        contexts = Contexts(where, names)
        breadth: dict[str, int] = defaultdict(int)
        meta = json.loads((where / _META).read_text())
        root, share = Path(meta["root"]), float(meta["share"])
        for path in sorted(where.glob("lines.*")):
            data = CoverageData(basename=str(path))
            data.read()
            self._sources.append((root, data, contexts))
            for context, number in _breadths(path):
                for test in contexts.tests(context):
                    breadth[test] += number
        for path in sorted(where.glob(f"{sitecustomize.CHILD}.*.json")):
            child = json.loads(path.read_text())
            tests, lines = contexts.tests(child["context"]), child["lines"]
            self._children.append((tests, lines))
            for test in tests:
                breadth[test] += len(lines)
        shares = contexts.shares(share)
        ran: dict[str, TracedTest] = {}
        for test, row in json.loads((where / tracing.TESTS).read_text()).items():
            seconds, passed, child = row
            if test.partition("::")[0] not in names:
                continue  # The file has changed since: another run has it.
            if passed:
                shared = tuple(shares.get(test, ()))
                ran[test] = TracedTest(test, seconds * share, child, breadth[test], shared)
            else:
                self.failing.add(test)
        alike: dict[str, list[TracedTest]] = defaultdict(list)
        for one in ran.values():
            alike[one.function].append(one)
        for test in json.loads((where / tracing.ALL).read_text()):
            if test.partition("::")[0] in names and test not in self.failing:
                known = ran.get(test) or _like(test, alike[test.partition("[")[0]])
                if known is not None:
                    self.tests[test] = known

    def _read_contexts(self, path: str) -> dict[int, set[str]]:
        found: dict[int, set[str]] = defaultdict(set)
        for root, data, known in self._sources:
            for line, contexts in data.contexts_by_lineno(str(root / path)).items():
                found[line].update(*map(known.tests, contexts))
        return dict(found)

    def _read_contexts_of_children(self, path: str) -> dict[int, set[str]]:
        found: dict[int, set[str]] = defaultdict(set)
        for tests, lines in self._children:
            for line in lines.get(path, ()):
                found[line] |= tests
        return dict(found)

    def reaching(self, path: str, lines: tuple[int, int] | None = None) -> set[str]:
        """Return the tests and test files that reach one of these lines, or the file at all.

        What a child process does when it imports a module tells nothing about its test: it counts
        for given lines alone.
        """
        by_line = self._contexts(path)
        if lines is None:
            return set[str]().union(*by_line.values())
        wanted = range(lines[0], lines[1] + 1)
        in_children = self._contexts_of_children(path)
        return set[str]().union(
            *(by_line.get(line, ()) for line in wanted),
            *(in_children.get(line, ()) for line in wanted),
        )


class Contexts:
    """Tests of one traced run, by the contexts of their lines.

    A context is a test, a test file, or what several tests share.

    Args:
        where: Folder of the run.
        names: Test files that count.
    """

    def __init__(self, where: Path, names: frozenset[str]) -> None:
        self._names = names
        self._users: dict[str, list[str]] = {}
        self._seconds: dict[str, float] = {}
        for path in sorted(where.glob(f"{tracing.SHARED}.*.json")):
            for context, (seconds, users) in json.loads(path.read_text()).items():
                self._users[context] = users
                self._seconds[context] = seconds
        self._known: dict[str, set[str]] = {}

    def tests(self, context: str) -> set[str]:
        """Return the tests and test files that a context stands for."""
        known = self._known.get(context)
        if known is None:
            known = self._known[context] = {one for one in self._ends(context) if self._counts(one)}
        return known

    def shares(self, factor: float) -> dict[str, list[tuple[str, float]]]:
        """Return what each test shares, with its seconds times a factor."""
        found: dict[str, list[tuple[str, float]]] = defaultdict(list)
        for context, seconds in self._seconds.items():
            for test in self.tests(context):
                found[test].append((context, seconds * factor))
        return found

    def _counts(self, context: str) -> bool:
        return context.partition("::")[0] in self._names

    def _ends(self, context: str) -> set[str]:
        """Return the contexts at the ends of the ways from one that is shared to its users."""
        ends, seen, left = set[str](), {context}, [context]
        while left:
            one = left.pop()
            if one not in self._users:
                ends.add(one)
            new = [user for user in self._users.get(one, ()) if user not in seen]
            seen.update(new)
            left += new
        return ends


def _like(test: str, alike: list[TracedTest]) -> TracedTest | None:
    """Return a test that was not run, as those with other parameters are; None if all failed."""
    if not alike:
        return None
    longest = max(alike, key=lambda one: one.seconds)
    return replace(longest, id=test)


def _breadths(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the number of files that each context reaches."""
    # coverage.py documents the tables of its data file; its own reading would take minutes here.
    import sqlite3

    with sqlite3.connect(path) as database:
        yield from database.execute(
            "SELECT context, count(*) FROM line_bits JOIN context ON context_id = context.id "
            "GROUP BY context_id"
        )
