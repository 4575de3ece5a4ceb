"""The `conftest.py` of projects: it writes down what came of the tests of each file, as JSON.

`running` copies this file: it imports nothing of the suite.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

PARTS = Path(__file__).with_name("parts.json")


class _Parts:
    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._counts: dict[str, Counter[str]] = {}
        self._texts: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome: Any = self._config.hook.pytest_report_teststatus(
            report=report, config=self._config
        )
        # An error has sections of its phase and of those before it: each is told once.
        if report.failed or report.when == "call" or report.skipped:
            self._add(report.nodeid, outcome[0], report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._add(report.nodeid, "error", report)

    def pytest_sessionfinish(self) -> None:
        parts = {
            file: {"counts": counts, "text": "\n".join(self._texts[file])}
            for file, counts in self._counts.items()
        }
        PARTS.write_text(json.dumps(parts), "utf-8")

    def _add(self, id: str, outcome: str, report: Any) -> None:
        file = id.partition("::")[0]
        self._counts.setdefault(file, Counter())[outcome] += 1
        texts = [report.longreprtext, *(text for _, text in report.sections)]
        self._texts.setdefault(file, []).extend(texts)


def pytest_configure(config: pytest.Config) -> None:
    """Write down the outcomes where those of all workers arrive."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Parts(config))
