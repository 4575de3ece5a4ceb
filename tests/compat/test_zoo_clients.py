"""The checks find which rule a client of the zoo breaks, and find nothing else."""

from __future__ import annotations

import pytest

import mcp_wire
from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.transcript import Transport
from mcp_gen.compat.zoo.zoo import Pair, zoo
from tests.compat.examining import revisions_to_try
from tests.compat.examining_clients import examined_client, transport_of
from tests.support.frames import HANDSHAKE

CLIENTS = [pair for pair in zoo().values() if requirements()[pair.requirement].applies == "client"]

ALSO_SPOKEN = {
    "lifecycle:client:fallback": (HANDSHAKE,),
    "lifecycle:client:versions:selected": (HANDSHAKE,),
}
"""Revisions that clients must be seen to speak, too, for a requirement."""


def found(report: Report) -> set[str]:
    return {outcome.requirement for outcome in report.failed()}


@pytest.mark.parametrize("pair", CLIENTS, ids=lambda pair: pair.requirement)
async def test_a_client_that_breaks_a_rule_is_found_out_and_its_twin_is_not(pair: Pair) -> None:
    transport = transport_of(pair.requirement)
    for revision in revisions_to_try(pair.requirement):
        revisions = (revision, *ALSO_SPOKEN.get(pair.requirement, ()))
        broken = await examined_client(pair.breaks, revisions, transport)
        assert found(broken) == {pair.requirement}, broken.failed()
        kept = await examined_client(pair.keeps, revisions, transport)
        assert found(kept) == set(), kept.failed()
        verdicts = {one.requirement: (one.verdict, one.why) for one in kept.outcomes}
        assert verdicts[pair.requirement] == ("passed", ""), "the twin must be judged"


@pytest.mark.parametrize("transport", ["memory", "http"])
@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
async def test_the_reference_client_breaks_no_rule_at_any_revision(
    revision: str, transport: Transport
) -> None:
    report = await examined_client(ClientScript, (revision,), transport)
    assert {one.requirement: one.findings for one in report.failed()} == {}
    assert report.openings[0].agreed == revision
    assert report.name == "mcp-gen reference client 1.0.0"
