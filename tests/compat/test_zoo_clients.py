"""The checks find which rule a client of the zoo breaks, and find nothing else."""

from __future__ import annotations

import asyncio

import pytest

import mcp_wire
from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.transcript import Transport
from mcp_gen.compat.zoo.zoo import Pair, zoo
from tests.compat.examining import revisions_to_try
from tests.compat.examining_clients import examined_client, faults_of_pairs


def pairs_by_area() -> dict[str, list[Pair]]:
    areas: dict[str, list[Pair]] = {}
    for id, pair in zoo().items():
        if requirements()[id].applies == "client":
            areas.setdefault(id.partition(":")[0], []).append(pair)
    return areas


@pytest.mark.parametrize("area", pairs_by_area())
async def test_each_client_that_breaks_a_rule_is_found_out_and_its_twin_is_not(
    area: str, pytestconfig: pytest.Config
) -> None:
    full = pytestconfig.getoption("full")
    cells = [
        (pair, revision)
        for pair in pairs_by_area()[area]
        for revision in (
            requirements()[pair.requirement].revisions
            if full
            else revisions_to_try(pair.requirement)
        )
    ]
    faults = await faults_of_pairs(cells)
    assert faults == [], "\n".join(faults)


@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_the_reference_client_breaks_no_rule_at_any_revision(transport: Transport) -> None:
    # It speaks one revision alone, so each is an examination of its own.
    reports = await asyncio.gather(
        *(examined_client(ClientScript, (revision,), transport) for revision in mcp_wire.REVISIONS)
    )
    for revision, report in zip(mcp_wire.REVISIONS, reports, strict=True):
        assert {one.requirement: one.findings for one in report.failed()} == {}
        assert report.openings[0].agreed == revision
        assert report.name == "mcp-gen reference client 1.0.0"


async def test_a_client_without_tasks_is_not_judged_by_how_it_follows_them() -> None:
    of_tasks = {
        "tasks:client:polls": "no call of the client became a task",
        "tasks:client:required": "the client makes no tasks of calls",
        "tasks-extension:client:either": "no call of the client became a task",
        "tasks-extension:client:elsewhere": "the client declares no tasks",
    }
    revisions = {one for id in of_tasks for one in requirements()[id].revisions}
    outcomes = [
        outcome
        for revision in sorted(revisions)
        for outcome in (await examined_client(ClientScript, (revision,), only=of_tasks)).outcomes
    ]
    reasons = {one.requirement: one.why for one in outcomes if one.verdict == "not tested"}
    assert {id: reasons[id][: len(why)] for id, why in of_tasks.items()} == of_tasks
