"""Pytest plugin that runs chosen tests in a given order: `-p tests.mutants.selecting`.

The order comes from a JSON file, since thousands of names do not fit a command line. It names
tests, or functions: then all their cases but those that it leaves out. The first failure, and the
names of the tests that ran, are written to others. No test is begun after the time of the order.
"""

from __future__ import annotations

import json
import math
import os
import resource
import time
from collections.abc import Generator
from pathlib import Path

import pytest

FOLDER = "MUTANTS_RUN"
"""Environment variable: the folder with `ORDER`, `RESULT` and `RAN`."""

ORDER = "order.json"
RESULT = "result.json"
RAN = "ran.json"
MOST_MEMORY_BYTES = 8 << 30


class Selection:
    """Keeps the chosen tests, file by file, and writes down the first failure."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        order = json.loads((folder / ORDER).read_text())
        self._order: dict[str, int] = {test: n for n, test in enumerate(order["tests"])}
        self._left_out = frozenset[str](order["left_out"])
        self._seconds: float = order["seconds"]
        self._end_s = math.inf
        self._ran: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        numbers = {item: self._number(item.nodeid) for item in items}
        left = [item for item, number in numbers.items() if number is None]
        places = {item: number for item, number in numbers.items() if number is not None}
        first: dict[Path, int] = {}
        for item, number in places.items():
            first[item.path] = min(first.get(item.path, number), number)
        chosen = sorted(places, key=lambda item: (first[item.path], places[item]))
        config.hook.pytest_deselected(items=left)
        items[:] = chosen
        self._end_s = time.monotonic() + self._seconds

    def _number(self, test: str) -> int | None:
        """Return the place of a test in the order, or of its function; None if it is not in it."""
        if test in self._left_out:
            return None
        return self._order.get(test, self._order.get(test.partition("[")[0]))

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._failed(report.nodeid, report.longreprtext)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed(report.nodeid, report.longreprtext)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._ran.append(nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        if time.monotonic() > self._end_s:
            item.session.shouldstop = "the time of this stage is over"
        return result

    def pytest_sessionfinish(self) -> None:
        (self._folder / RAN).write_text(json.dumps(self._ran))

    def _failed(self, test: str, text: str) -> None:
        path = self._folder / RESULT
        if not path.exists():
            why = next((line for line in text.splitlines() if line.startswith("E ")), "")
            path.write_text(json.dumps({"test": test, "why": why[1:].strip()[:200]}))


def pytest_configure(config: pytest.Config) -> None:
    # A fault may make a program eat memory: it must not take that of the machine.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    # xdist is left out, and `--strict-markers` knows no marker of it.
    config.addinivalue_line("markers", "xdist_group(name): has no meaning in one process")
    config.pluginmanager.register(Selection(Path(os.environ[FOLDER])), "mutants-selection")
