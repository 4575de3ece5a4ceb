"""Pytest plugin that records which tests reach which lines: `-p tests.mutants.tracing`.

Each test, and the import of each test file, is a context of coverage.py. So is what several tests
share: a fixture of a module, a cached function of the tests. Its lines are recorded when it is
made, and count for each test that asks for it. Processes that a test starts record their lines,
too: see `traced_child`.

Of a test with many parameters some are run. The rows of a table are, but not at every revision: the
lines are nearly the same there. The durations and outcomes stand in `tests.json` beside the data,
the names of all tests in `all.json`.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

import coverage
import pytest

from tests.mutants.traced_child.sitecustomize import CONTEXT, FOLDER, ORDERED, SOURCES

__all__ = ["ALL", "FOLDER", "SHARED", "TESTS", "samples"]

T = TypeVar("T")

TESTS = "tests.json"
ALL = "all.json"
SHARED = "shared"
"""Prefix of the contexts of what tests share, and of the files that tell which tests do."""

SAMPLES = 250
"""Parameters of one test that are run, at most."""
SAMPLES_ALIKE = 2
"""The same, of those that differ in the revision, transport or library alone."""

CHILD = "starts a child process"
MADE = "seconds for what others share"
_USUAL = re.compile(r"\d{4}-\d\d-\d\d|http|memory|msgspec|pydantic|stdio")
_PROCESS_EVENTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork"})

_lru_cache = functools.lru_cache


class Tracer:
    """Records the lines that each test of this process reaches."""

    def __init__(self, folder: Path, name: str) -> None:
        root = Path.cwd()
        # Every process collects the same tests; one of them tells.
        self._all = folder / ALL if name in ("main", "gw0") else None
        self._shared_file = folder / f"{SHARED}.{name}.json"
        self._coverage = coverage.Coverage(
            data_file=str(folder / f"lines.{name}"),
            config_file=False,
            include=[str(root / one) for one in SOURCES],
        )
        self._coverage.start()
        self._item: pytest.Item | None = None
        self._contexts: list[str] = []
        self._users: dict[str, set[str]] = defaultdict(set)
        self._seconds: dict[str, float] = {}
        self._caches: list[Callable[[], None]] = []
        self._trace_caches()
        self._trace_processes()

    # --- Contexts ---

    @contextmanager
    def _inside(self, context: str) -> Generator[None]:
        self._contexts.append(context)
        self._switch()
        try:
            yield
        finally:
            self._contexts.pop()
            self._switch()

    @contextmanager
    def _making(self, context: str) -> Generator[None]:
        """Record the making of something that tests share, and how long it takes."""
        started = time.perf_counter()
        with self._inside(context):
            yield
        self._seconds[context] = seconds = time.perf_counter() - started
        if self._item is not None and self._contexts == [self._item.nodeid]:
            self._item.user_properties.append((MADE, seconds))

    def _switch(self) -> None:
        context = self._contexts[-1] if self._contexts else ""
        self._coverage.switch_context(context)
        os.environ[CONTEXT] = context

    def _use(self, context: str) -> None:
        if self._contexts:
            self._users[context].add(self._contexts[-1])

    def _trace_caches(self) -> None:
        """Let a cached function of the tests be a context, and one of the runtime be forgetful."""

        def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
            if callable(maxsize):
                return lru_cache()(maxsize)

            def decorate(function: Callable[..., Any]) -> Any:
                return self._cached(function, maxsize, typed)

            return decorate

        functools.lru_cache = lru_cache
        functools.cache = lru_cache(maxsize=None)

    def _cached(self, function: Callable[..., Any], maxsize: int | None, typed: bool) -> Any:
        home = function.__module__.partition(".")[0]
        if home != "tests":
            made = _lru_cache(maxsize, typed)(function)
            if home in ("mcp_gen", "codegen"):
                self._caches.append(made.cache_clear)
            return made
        numbers: dict[Hashable, int] = {}

        def context(arguments: tuple[Any, ...], options: dict[str, Any]) -> str:
            number = numbers.setdefault((arguments, *options.items()), len(numbers))
            return f"{SHARED} {os.getpid()} {function.__module__}.{function.__qualname__} {number}"

        @_lru_cache(maxsize, typed)
        def make(*arguments: Any, **options: Any) -> Any:
            with self._making(context(arguments, options)):
                return function(*arguments, **options)

        @functools.wraps(function)
        def ask(*arguments: Any, **options: Any) -> Any:
            self._use(context(arguments, options))
            return make(*arguments, **options)

        vars(ask).update(cache_clear=make.cache_clear, cache_info=make.cache_info)
        return ask

    def _trace_processes(self) -> None:
        """Tell each process of multiprocessing which test has ordered it."""
        original = BaseProcess.__init__

        def init(process: BaseProcess, *arguments: Any, **options: Any) -> None:
            original(process, *arguments, **options)
            setattr(process, ORDERED, self._contexts[-1] if self._contexts else "")

        setattr(BaseProcess, "__init__", init)  # noqa: B010 - types do not let a method be replaced
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, _: Any) -> None:
        if event in _PROCESS_EVENTS and self._item is not None:
            self._item.user_properties.append((CHILD, True))

    # --- Hooks ---

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, object, object]:
        if not isinstance(collector, pytest.Module):
            return (yield)
        with self._inside(collector.nodeid):
            return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._all is not None:
            self._all.write_text(json.dumps([item.nodeid for item in items]))
        names = samples([item.nodeid for item in items])
        items[:] = [item for item in items if item.nodeid in names]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._item = item
        for clear in self._caches:
            # What an earlier test has left in a cache would hide lines of this one.
            clear()
        with self._inside(item.nodeid):
            known = getattr(item, "_fixtureinfo", None)
            for fixtures in known.name2fixturedefs.values() if known else ():
                for fixture in fixtures:
                    if fixture.scope != "function":
                        self._use(_context_of(fixture))
            try:
                return (yield)
            finally:
                self._item = None

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        if fixturedef.scope == "function":
            return (yield)
        with self._making(_context_of(fixturedef)):
            return (yield)

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        rows = {
            context: [round(self._seconds.get(context, 0.0), 4), sorted(users)]
            for context, users in self._users.items()
        }
        self._shared_file.write_text(json.dumps(rows))


def _context_of(fixture: pytest.FixtureDef[Any]) -> str:
    return f"{SHARED} {os.getpid()} {fixture.baseid}::{fixture.argname}"


class Clock:
    """Collects the durations and outcomes of all tests, in the process that reports them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seconds: dict[str, float] = defaultdict(float)
        self._failed: set[str] = set()
        self._children: set[str] = set()
        self._made: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration
        if report.failed:
            self._failed.add(report.nodeid)
        if any(name == CHILD for name, _ in report.user_properties):
            self._children.add(report.nodeid)
        # Each report has what the earlier ones of its test had.
        made = [float(str(value)) for name, value in report.user_properties if name == MADE]
        self._made[report.nodeid] = sum(made)

    def pytest_sessionfinish(self) -> None:
        rows: dict[str, tuple[float, bool, bool]] = {}
        for test, seconds in self._seconds.items():
            own = round(max(0.0, seconds - self._made[test]), 4)
            rows[test] = own, test not in self._failed, test in self._children
        (self._folder / TESTS).write_text(json.dumps(rows))


def samples(tests: Sequence[str]) -> set[str]:
    """Return the tests to run: of those that are alike some, the first and the last among them.

    The rows of a table differ more than the revisions at which each one is tried.
    """
    functions: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for test in tests:
        function, _, parameters = test.partition("[")
        functions[function][_USUAL.sub("", parameters)].append(test)
    return {
        test
        for rows in functions.values()
        for test in spread(
            [one for alike in rows.values() for one in spread(alike, SAMPLES_ALIKE)], SAMPLES
        )
    }


def spread(alike: Sequence[T], most: int) -> list[T]:
    """Return some of the entries, the first and the last among them."""
    if len(alike) <= most:
        return list(alike)
    return [alike[round(number * (len(alike) - 1) / (most - 1))] for number in range(most)]


def pytest_configure(config: pytest.Config) -> None:
    folder = Path(os.environ[FOLDER])
    worker = getattr(config, "workerinput", None)
    if worker is None:
        config.pluginmanager.register(Clock(folder), "mutants-clock")
    if worker is not None or not config.getoption("numprocesses", None):
        name = "main" if worker is None else str(worker["workerid"])
        config.pluginmanager.register(Tracer(folder, name), "mutants-tracer")
