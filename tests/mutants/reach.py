"""The reach map: which tests reach which lines, made by a traced run of the tests.

It is kept from one state of the sources to the next: a test file is traced again if it has changed,
or anything that it uses. See `retracing`.
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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from coverage import CoverageData

from tests.mutants import tracing
from tests.mutants.places import PLUGIN
from tests.mutants.retracing.changed import Changes
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
        is_full: True for a case that runs with `--full` alone.
    """

    id: str
    seconds: float
    starts_child: bool
    breadth: int
    shares: tuple[tuple[str, float], ...] = ()
    is_full: bool = False

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
        name: _hash(path) for name, path in sorted(found.items()) if not name.startswith(SKIPPED)
    }


def inputs(root: Path) -> dict[str, str]:
    """Return the hash of each file that the tests use, but of the test files themselves."""
    tests = test_files(root).keys()
    # What traces the tests makes the map.
    found = {path: _hash(Path(path)) for path in (tracing.__file__, sitecustomize.__file__)}
    paths = [root / "pyproject.toml", *root.glob(PLUGIN)]
    for folder in INPUTS:
        paths += sorted((root / folder).rglob("*"))
    for path in paths:
        name = path.relative_to(root).as_posix()
        passed_over = "__pycache__" in name or name.startswith(SKIPPED) or name in tests
        # An empty file is one that makes a folder a package.
        if not passed_over and path.is_file() and path.stat().st_size:
            found[name] = _hash(path)
    return found


def state_of(root: Path) -> str:
    """Return a hash of all that the tests use, but of the test files themselves."""
    return hashlib.sha256(json.dumps(inputs(root)).encode()).hexdigest()[:12]


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


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
        folder: Where the maps are kept.
        copy: A copy of the checkout.
        jobs: Number of processors; a traced run has a process more, as tests also wait.
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
    used = inputs(copy)
    missing = sorted(files.keys() - _current(folder, files, used, copy).keys())
    done = len(files) - len(missing)
    while missing and (deadline is None or time.monotonic() < deadline):
        # Neighbours are alike: every nth file makes parts that take equally long.
        part = missing[:: -(-len(missing) // FILES_AT_ONCE)]
        say(f"tracing tests: {done} of {len(files)} files are done")
        where = folder / f"map-{1 + max(map(_number, folder.glob('map-*')), default=-1)}"
        share = _trace(where, copy, part, jobs + WAITING)
        hashes = {name: files[name] for name in part}
        meta = {"root": str(copy), "files": hashes, "inputs": used, "share": round(share, 3)}
        (where / _META).write_text(json.dumps(meta))
        missing = [name for name in missing if name not in part]
        done += len(part)
    if missing:
        raise Unusable(f"time is over; {done} of {len(files)} test files are traced: run it again")
    current = _current(folder, files, used, copy)
    for path in () if only else set(folder.glob("map-*")) - set(current.values()):
        shutil.rmtree(path)
    return Reach(current)


def _number(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _current(
    folder: Path, files: dict[str, str], used: dict[str, str], root: Path
) -> dict[str, Path]:
    """Return the map that has each test file as it is now, if nothing that it uses has changed."""
    found: dict[str, Path] = {}
    changes = Changes(root)
    for path in sorted(folder.glob("map-*"), key=_number):
        if not (path / _META).exists():
            continue  # Its run was ended.
        meta = json.loads((path / _META).read_text())
        names = {name for name, hashed in meta["files"].items() if files.get(name) == hashed}
        stale = changes.affected(names, meta["inputs"], used, Lines(path, names).test_files)
        found |= dict.fromkeys(names - stale, path)
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

    def __init__(self, maps: Mapping[str, Path]) -> None:
        self.tests: dict[str, TracedTest] = {}
        self.failing: set[str] = set()
        """Tests that failed in the traced run: they prove nothing."""
        self._lines: list[Lines] = []
        by_map: dict[Path, set[str]] = defaultdict(set)
        for name, where in maps.items():
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
        lines = Lines(where, names)
        self._lines.append(lines)
        contexts, share = lines.contexts, float(json.loads((where / _META).read_text())["share"])
        breadth = lines.breadths()
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
        return _joined(lines.of(path) for lines in self._lines)

    def _read_contexts_of_children(self, path: str) -> dict[int, set[str]]:
        return _joined(lines.of_children(path) for lines in self._lines)

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


class Lines:
    """Lines that the tests of one traced run reached.

    Args:
        where: Folder of the run.
        names: Test files that count.
    """

    def __init__(self, where: Path, names: Collection[str]) -> None:
        self._where = where
        self.contexts = Contexts(where, frozenset(names))

    @cached_property
    def _data(self) -> list[CoverageData]:
        found: list[CoverageData] = []
        for path in self._paths():
            found.append(CoverageData(basename=str(path)))
            found[-1].read()
        return found

    @cached_property
    def _root(self) -> Path:
        return Path(json.loads((self._where / _META).read_text())["root"])

    @cached_property
    def _children(self) -> list[tuple[set[str], dict[str, list[int]]]]:
        found: list[tuple[set[str], dict[str, list[int]]]] = []
        for path in sorted(self._where.glob(f"{sitecustomize.CHILD}.*.json")):
            child = json.loads(path.read_text())
            found.append((self.contexts.tests(child["context"]), child["lines"]))
        return found

    def _paths(self) -> list[Path]:
        return sorted(self._where.glob("lines.*"))

    def of(self, path: str) -> dict[int, set[str]]:
        """Return the tests and test files that reach a source, by line."""
        found: dict[int, set[str]] = defaultdict(set)
        for data in self._data:
            for line, contexts in data.contexts_by_lineno(str(self._root / path)).items():
                found[line].update(*map(self.contexts.tests, contexts))
        return found

    def of_children(self, path: str) -> dict[int, set[str]]:
        """Return the tests whose child processes reach a source, by line."""
        found: dict[int, set[str]] = defaultdict(set)
        for tests, lines in self._children:
            for line in lines.get(path, ()):
                found[line] |= tests
        return found

    def test_files(self, path: str) -> set[str]:
        """Return the test files that reach a source, themselves or in a child process."""
        both = (*self.of(path).values(), *self.of_children(path).values())
        return {one.partition("::")[0] for tests in both for one in tests}

    def breadths(self) -> dict[str, int]:
        """Return the number of sources that each test reaches."""
        found: dict[str, int] = defaultdict(int)
        for path in self._paths():
            for context, number in _breadths(path):
                for test in self.contexts.tests(context):
                    found[test] += number
        for tests, lines in self._children:
            for test in tests:
                found[test] += len(lines)
        return found


def _joined(parts: Iterable[dict[int, set[str]]]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = defaultdict(set)
    for part in parts:
        for line, tests in part.items():
            found[line] |= tests
    return dict(found)


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

    # As a context manager by itself it ends a transaction, and stays open.
    with closing(sqlite3.connect(path)) as database:
        yield from database.execute(
            "SELECT context, count(*) FROM line_bits JOIN context ON context_id = context.id "
            "GROUP BY context_id"
        )
