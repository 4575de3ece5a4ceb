"""The doctor and the official suite agree on servers of others, or the specification decides.

Every scenario that the newest version of the suite has for servers is run against each, which takes
minutes: with `--full` alone.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.conformance import server_leg
from tests.conformance.agreement.comparison import compare, faults_of
from tests.conformance.agreement.table import disagreements, table
from tests.conformance.suite import SUITES, Cell, Outcome, Suite
from tests.peers.examinations import Examined, report_on, served

SERVERS = tuple(Examined(name, "http") for name in ("official", "everything", "ours"))
SHARE = 0.5
"""Least part of the checks, of those that have their fixture, that both judge."""

pytestmark = pytest.mark.timeout(600)


each_server = pytest.mark.parametrize(
    "one",
    # The report of the doctor serves other tests of the same process.
    [pytest.param(one, id=str(one), marks=pytest.mark.xdist_group(str(one))) for one in SERVERS],
)


@pytest.fixture(scope="module")
def suite() -> Suite:
    return Suite(Path(os.environ["PEERS_SUITE"]))


async def outcomes(suite: Suite, one: Examined) -> dict[Cell, Outcome]:
    cells = server_leg.cells(suite, SUITES[0])
    async with served(one) as origin:
        return await asyncio.to_thread(server_leg.outcomes, suite, cells, f"{origin}/mcp")


@each_server
def test_the_doctor_and_the_suite_agree(suite: Suite, one: Examined) -> None:
    found = compare(table("server"), asyncio.run(outcomes(suite, one)), report_on(one))
    known = [line for line in disagreements() if line.leg == "server"]
    assert list(faults_of(one.server, found, known)) == []
    with_fixture = [each for each in found if each.kind not in ("no fixture", "apart")]
    judged = [each for each in with_fixture if each.kind in ("agreed", "differ")]
    assert len(judged) > SHARE * len(with_fixture)
