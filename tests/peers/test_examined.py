"""The doctor finds in servers of others what the specification forbids, and nothing else.

Each server is examined once over each transport. What is wrong with it is data:
`examined/findings.toml`, with a reason for each row.
"""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from mcp_gen.compat.checks.judging import CHECK_FAILED
from mcp_gen.compat.checks.trial import NO_ANSWER
from mcp_gen.compat.doctor.server_examination import TOO_SLOW
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.requirements.manifest import requirements
from tests.peers.examinations import ALL, EXAMINED, FAST, Examined, examine, report_on

FINDINGS: dict[str, Any] = tomllib.loads((EXAMINED / "findings.toml").read_text("utf-8"))
LATE = (TOO_SLOW, NO_ANSWER)
"""Why a check was not made whose answers a busy machine has held up."""
SHARE = 0.8
"""Least part of the known findings that must be found, on any machine."""
EVERYWHERE = "any"
"""Table of what a server does over every transport."""

# A server is examined a second time if the first one has not shown all that is expected.
pytestmark = pytest.mark.timeout(480)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Examine the servers that start fast, and with `--full` all."""
    if "one" in metafunc.fixturenames:
        chosen = ALL if metafunc.config.getoption("full") else FAST
        # The report serves all tests of a process.
        rows = [
            pytest.param(one, id=str(one), marks=pytest.mark.xdist_group(str(one)))
            for one in chosen
        ]
        metafunc.parametrize("one", rows)


def spoken(one: Examined) -> set[str]:
    return {each.asked for each in report_on(one).openings if each.agreed == each.asked}


def expected(one: Examined) -> set[tuple[str, str]]:
    tables = FINDINGS.get(one.server, {})
    rows = {**tables.get(EVERYWHERE, {}), **tables.get(one.over, {})}
    return {
        (requirement, revision)
        for requirement, revisions in rows.items()
        for revision in revisions
        if revision in spoken(one)
    }


def failed(report: Report) -> set[tuple[str, str]]:
    return {(each.requirement, each.revision) for each in report.failed()}


def late(one: Examined) -> set[tuple[str, str]]:
    """Return what was not tested because an answer did not come in time."""
    outcomes = report_on(one).outcomes
    return {(each.requirement, each.revision) for each in outcomes if each.why in LATE}


def test_the_doctor_finds_what_is_wrong_and_nothing_else(one: Examined) -> None:
    found = failed(report_on(one))
    # On a busy machine a check may come to no end.
    missing = expected(one) - found - late(one)
    if missing:
        # A server that a busy machine holds up may not show in time what is wrong with it.
        again = failed(examine(one))
        found |= again
        missing -= again
    assert found - expected(one) == set()
    assert missing == set()
    assert len(found) >= SHARE * len(expected(one))


def test_every_check_of_the_doctor_comes_to_an_end(one: Examined) -> None:
    failed = [each for each in report_on(one).outcomes if each.why.startswith(CHECK_FAILED)]
    assert failed == []


def test_nothing_is_expected_of_our_own_server() -> None:
    assert "ours" not in FINDINGS


def test_every_finding_names_a_requirement_that_is_there() -> None:
    named = {id for tables in FINDINGS.values() for rows in tables.values() for id in rows}
    assert named <= requirements().keys()
