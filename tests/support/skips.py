"""Skipped and expected-to-fail tests fail in CI, unless they are listed with their reason."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from typing import TypeVar

import pytest

__all__ = ["LISTED", "UnlistedSkips", "in_ci"]

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

# CI runs on Linux: tests of what only Linux has are not among them.
LISTED: Mapping[str, str] = {
    "tests/test_walk.py::": "its figures were counted on Python 3.11",
    "tests/budgets/test_allocations.py::": "its figures were counted on Python 3.11",
    "tests/budgets/test_open_sessions.py::": "its figures were counted on Python 3.11",
    "tests/budgets/test_imports.py::test_an_import_runs_little": (
        "its figures were counted on Python 3.11"
    ),
}
"""Reason by prefix of node ids: tests that may be skipped, or fail as expected, in CI too."""


def in_ci() -> bool:
    """Return True if the environment variable `CI` is set."""
    return os.environ.get("CI", "") not in ("", "0", "false")


class UnlistedSkips:
    """Pytest plugin that fails what is skipped, or fails as expected, without a reason."""

    def __init__(self, listed: Mapping[str, str] = LISTED) -> None:
        self._listed = listed

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Judge the report of a test: of its setup, call or teardown."""
        return self._judged((yield))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self,
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Judge the report of a collected module: all of it may be skipped."""
        return self._judged((yield))

    def _judged(self, report: Report) -> Report:
        if report.skipped and not any(report.nodeid.startswith(one) for one in self._listed):
            report.longrepr = (
                f"{_reason(report)}: in CI nothing is skipped or expected to fail; "
                "let it run, or list it with its reason in LISTED of tests/support/skips.py"
            )
            report.outcome = "failed"
        return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    expected = getattr(report, "wasxfail", None)
    if expected is not None:
        # A report with this attribute is shown as an expected failure, whatever its outcome.
        del report.wasxfail
        return f"expected to fail ({expected})"
    match report.longrepr:
        case (_, _, str(message)):
            return message
        case other:
            return str(other)
