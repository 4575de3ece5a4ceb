"""The checks find which rule a peer of the zoo breaks, and find nothing else."""

from __future__ import annotations

import pytest

import mcp_wire
from mcp_gen.compat.checks.check import checks
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.requirements.manifest import requirements, rows
from mcp_gen.compat.transcript import Transport
from mcp_gen.compat.zoo.zoo import Pair, zoo
from tests.compat.examining import examined, revisions_to_try
from tests.requirements.pending import unchecked

SERVERS = [pair for pair in zoo().values() if requirements()[pair.requirement].applies == "server"]


def found(report: Report) -> set[str]:
    return {outcome.requirement for outcome in report.failed()}


@pytest.mark.parametrize("pair", SERVERS, ids=lambda pair: pair.requirement)
async def test_a_server_that_breaks_a_rule_is_found_out_and_its_twin_is_not(pair: Pair) -> None:
    for revision in revisions_to_try(pair.requirement):
        broken = await examined(pair.breaks, revision, pair.requirement)
        assert found(broken) == {pair.requirement}
        kept = await examined(pair.keeps, revision, pair.requirement)
        assert found(kept) == set()
        verdicts = {one.requirement: one.verdict for one in kept.outcomes}
        assert verdicts[pair.requirement] == "passed", "the twin must be judged, not left out"


def test_every_check_has_a_pair_and_every_pair_a_check() -> None:
    assert sorted(checks().keys() ^ zoo().keys()) == []


def test_every_requirement_has_a_check_or_the_reason_why_it_has_none() -> None:
    due = {row.id for row in rows() if row.binds_us and not row.unseen}
    assert sorted(due - checks().keys() - unchecked()) == []


def test_what_is_still_unchecked_has_no_check_and_no_reason() -> None:
    settled = checks().keys() | {row.id for row in rows() if row.unseen or not row.binds_us}
    assert sorted(unchecked() & settled) == [], "take them off the list"
    assert sorted(unchecked() - requirements().keys()) == []


def test_a_requirement_that_cannot_be_seen_has_no_check() -> None:
    assert [row.id for row in rows() if row.unseen and row.id in checks()] == []


@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_the_reference_server_breaks_no_rule_at_any_revision(transport: Transport) -> None:
    for revision in mcp_wire.REVISIONS:
        report = await examined(ReferenceServer, revision, transport=transport)
        assert {one.requirement: one.findings for one in report.failed()} == {}
        assert report.openings[0].agreed == revision
