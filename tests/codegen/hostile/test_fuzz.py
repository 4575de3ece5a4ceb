"""Schemas drawn from a grammar: generated types agree with a validator, or the run stops."""

from __future__ import annotations

import pytest

from tests.codegen.hostile.fuzzing import INSTANCES, Report, fuzz

USUAL, FULL = 60, 2000
"""Schemas that are drawn usually, and with `--full`."""


@pytest.fixture(scope="module")
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    count = FULL if request.config.getoption("full") else USUAL
    return fuzz(range(count), tmp_path_factory.mktemp("fuzz"))


def test_no_schema_gives_wrong_types_or_a_traceback(report: Report) -> None:
    assert report.faults == []


def test_a_third_of_the_schemas_is_generated_and_judged(report: Report) -> None:
    generated = report.outcomes["generated"] + report.outcomes["generated, both surfaces"]
    assert generated >= report.outcomes.total() / 3
    assert report.instances.total() == generated * INSTANCES


def test_the_instances_are_of_both_kinds(report: Report) -> None:
    assert min(report.instances["valid"], report.instances["invalid"]) > INSTANCES
