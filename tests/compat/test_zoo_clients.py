"""The checks find which rule a client of the zoo breaks, and find nothing else."""

from __future__ import annotations

import asyncio

import pytest

import mcp_wire
from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.scenarios.scenario import scenarios
from mcp_gen.compat.transcript import Transport
from mcp_gen.compat.zoo.zoo import Pair, zoo
from tests.compat.examining import area_of, revisions_to_try
from tests.compat.examining_clients import examined_client, faults_of_pairs

MAX_PAIRS = 8
"""Pairs of one test: so many are ready within its time limit also on a machine that is busy."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of cells with the pairs of one area; with `--full` at each revision.

    With `--full` they are also examined in all scenarios: see `scenarios_to_try`.
    """
    if "cells" not in metafunc.fixturenames:
        return
    full = bool(metafunc.config.getoption("full"))
    areas: dict[str, list[tuple[Pair, str]]] = {}
    for id, pair in zoo().items():
        if requirements()[id].applies == "client":
            for revision in revisions_to_try(id, full=full):
                areas.setdefault(area_of(id), []).append((pair, revision))
    parts = {
        f"{area} from {start}": cells[start : start + MAX_PAIRS]
        for area, cells in areas.items()
        for start in range(0, len(cells), MAX_PAIRS)
    }
    metafunc.parametrize("cells", list(parts.values()), ids=list(parts))


async def test_clients_that_break_a_rule_are_found_out_and_their_twins_are_not(
    cells: list[tuple[Pair, str]], pytestconfig: pytest.Config
) -> None:
    faults = await faults_of_pairs(cells, full=bool(pytestconfig.getoption("full")))
    assert faults == [], "\n".join(faults)


@pytest.mark.parametrize("transport", ["memory", "http"])
async def test_the_reference_client_breaks_no_rule_at_any_revision(
    transport: Transport, pytestconfig: pytest.Config
) -> None:
    # The other scenarios are the same over any transport.
    is_part = transport == "http" and not pytestconfig.getoption("full")
    every = {one.id for spoken in mcp_wire.REVISIONS for one in scenarios(spoken, "http")}
    only = [id for id in every if is_part and "http:" in id]
    # It speaks one revision alone, so each is an examination of its own.
    reports = await asyncio.gather(
        *(
            examined_client(ClientScript, (revision,), transport, only=only)
            for revision in mcp_wire.REVISIONS
        )
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
