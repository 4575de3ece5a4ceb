"""The bridge leg fails for a scenario that is not listed, and for a list that nothing needs."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conformance.bridge_leg import CANNOT_PASS, judged, reason_for
from tests.conformance.suite import PASSED, Cell, Outcome

INSIDE = "2025-11-25"
LISTED = "server-sse-polling"


def cell(scenario: str) -> Cell:
    return Cell("server", scenario, INSIDE, "0.1.16")


def passed() -> Outcome:
    return Outcome(Counter({PASSED: 1}))


def failed() -> Outcome:
    return Outcome(Counter(), ["FAILURE"])


@pytest.mark.parametrize("inside", CANNOT_PASS)
def test_each_reason_names_a_page_of_the_specification(inside: str) -> None:
    for why in CANNOT_PASS[inside].values():
        assert why.why
        assert why.spec.startswith("https://")


def test_a_listed_scenario_may_fail_and_another_may_not() -> None:
    bad, unused = judged(INSIDE, {cell(LISTED): failed(), cell("ping"): failed()})
    assert bad == [cell("ping")]
    assert unused == []


def test_a_listed_scenario_that_passes_is_reported() -> None:
    bad, unused = judged(INSIDE, {cell(LISTED): passed(), cell("ping"): passed()})
    assert bad == []
    assert unused == [LISTED]


def test_a_reason_is_found_by_the_beginning_of_a_name() -> None:
    assert reason_for(INSIDE, "tasks-lifecycle") is not None
    assert reason_for(INSIDE, "tools-list") is None
