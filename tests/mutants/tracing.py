"""Pytest plugin that records which tests reach which lines: `-p tests.mutants.tracing`.

Each test, and the import of each test file, is a context of coverage.py. Of a test with many
parameters some are run, since the others reach nearly the same lines. The durations and outcomes
stand in `tests.json` beside the data, the names of all tests in `all.json`.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import coverage
import pytest

T = TypeVar("T")

FOLDER = "MUTANTS_TRACE"
"""Environment variable: the folder for the data."""

TESTS = "tests.json"
ALL = "all.json"
SAMPLES = 4
"""Parameters of one test that are run: the first, the last, and some between."""

CHILD = "starts a child process"
_PROCESS_EVENTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork"})


class Tracer:
    """Records the lines that each test of this process reaches."""

    def __init__(self, folder: Path, name: str) -> None:
        root = Path.cwd()
        # Every process collects the same tests; one of them tells.
        self._all = folder / ALL if name in ("main", "gw0") else None
        self._coverage = coverage.Coverage(
            data_file=str(folder / f"lines.{name}"),
            config_file=False,
            source=[str(root / "mcp_gen"), str(root / "codegen")],
        )
        self._coverage.start()
        self._item: pytest.Item | None = None
        sys.addaudithook(self._on_event)

    def _on_event(self, event: str, _: Any) -> None:
        if event in _PROCESS_EVENTS and self._item is not None:
            self._item.user_properties.append((CHILD, True))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, object, object]:
        if not isinstance(collector, pytest.Module):
            return (yield)
        self._coverage.switch_context(collector.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._all is not None:
            self._all.write_text(json.dumps([item.nodeid for item in items]))
        by_function: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            by_function[item.nodeid.partition("[")[0]].append(item)
        items[:] = [one for alike in by_function.values() for one in spread(alike, SAMPLES)]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._item = item
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")
            self._item = None

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()


class Clock:
    """Collects the durations and outcomes of all tests, in the process that reports them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seconds: dict[str, float] = defaultdict(float)
        self._failed: set[str] = set()
        self._children: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration
        if report.failed:
            self._failed.add(report.nodeid)
        if any(name == CHILD for name, _ in report.user_properties):
            self._children.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        rows = {
            test: [round(seconds, 4), test not in self._failed, test in self._children]
            for test, seconds in self._seconds.items()
        }
        (self._folder / TESTS).write_text(json.dumps(rows))


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
