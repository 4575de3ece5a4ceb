"""The short form of `nox -s soak`: many sessions at once leave nothing behind."""

from __future__ import annotations

import pytest

from tests.soak.figures import growth
from tests.soak.memory import STEPS, rounds, soak


async def test_many_sessions_with_calls_progress_and_cancellations_leave_nothing_behind() -> None:
    report = await soak(20, [rounds(80), rounds(80), rounds(80)])
    assert report.wrong == []
    assert report.calls >= 4 * 100
    assert report.cancelled * 4 == report.calls
    assert report.reports * 4 == report.calls * STEPS
    assert report.messages > 0


@pytest.mark.parametrize(
    ("samples", "grows"),
    [([5, 100, 100, 100, 100, 101], False), ([5, 100, 110, 120, 130, 140], True), ([1], False)],
)
def test_growth_is_what_comes_after_the_beginning(samples: list[int], grows: bool) -> None:
    assert (growth(samples) > 0.05) is grows
