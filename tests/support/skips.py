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
    "tests/test_walk.py::": "counted on 3.11",
    "tests/budgets/test_allocations.py::": "counted on 3.11",
    "tests/budgets/test_open_sessions.py::": "counted on 3.11",
    "tests/budgets/test_imports.py::test_an_import_runs_little": "counted on 3.11",
}
"""Words of the reason for which tests may be skipped, or fail as expected, by node id's prefix."""


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
        if report.skipped and not self._is_listed(report):
            report.longrepr = (
                f"{_reason(report)}: in CI nothing is skipped or expected to fail; "
                "let it run, or list it with its reason in LISTED of tests/support/skips.py"
            )
            report.outcome = "failed"
            if hasattr(report, "wasxfail"):
                # With this attribute it is shown as an expected failure, whatever its outcome.
                del report.wasxfail
        return report

    def _is_listed(self, report: Report) -> bool:
        reason = _reason(report)
        return any(
            report.nodeid.startswith(test) and why in reason for test, why in self._listed.items()
        )


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    expected = getattr(report, "wasxfail", None)
    if expected is not None:
        return f"expected to fail ({expected})"
    match report.longrepr:
        case (_, _, str(message)):
            return message
        case other:
            return str(other)
