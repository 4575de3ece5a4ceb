"""The checks find which rule a peer of the zoo breaks, and find nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

import mcp_wire
from mcp_gen.compat.checks.check import checks
from mcp_gen.compat.reference.client import ReferenceClient
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.report.model import Outcome, Report
from mcp_gen.compat.requirements.manifest import requirements, rows
from mcp_gen.compat.transcript import Transport
from mcp_gen.compat.wire.openers import MemoryOpener
from mcp_gen.compat.zoo.zoo import Pair, zoo
from tests.compat.examining import areas_to_try, examined, revisions_to_try
from tests.requirements.pending import unchecked
from tests.support.frames import HANDSHAKE

SERVERS = [pair for pair in zoo().values() if requirements()[pair.requirement].applies == "server"]


SLOWER = 5.0
"""Factor of the longest waits at a second try."""
MAX_PAIRS = 8
"""Pairs of one test, examined at once, as they mostly wait.

So many are ready within its time limit also on a machine that is busy.
"""


class PairAt(NamedTuple):
    """A pair of the zoo at one revision."""

    pair: Pair
    revision: str
    areas: frozenset[str] = frozenset()
    """Areas that both are examined in; empty for all."""

    async def faults(self) -> list[str]:
        """Return what is wrong with what the doctor says of both."""
        id = self.pair.requirement
        broken, breach = await self.judged(self.pair.breaks)
        kept, outcome = await self.judged(self.pair.keeps)
        wrong: list[str] = []
        if found(broken) != {id}:
            said = told(broken) or breach.why
            wrong.append(f"{id} at {self.revision}: of {broken.target} it found {said}")
        if found(kept):
            wrong.append(f"{id} at {self.revision}: of {kept.target} it found {told(kept)}")
        if outcome.verdict == "not tested":
            wrong.append(f"{id} at {self.revision}: {kept.target} is not judged: {outcome.why}")
        return wrong

    async def judged(self, peer: type[Any]) -> tuple[Report, Outcome]:
        """Return the report on a peer, and what it says of the requirement.

        On a busy machine the doctor may say that it cannot tell, and of nothing that it is broken.
        Then it is asked once more, with longer waits.
        """
        id = self.pair.requirement
        for slower in (1.0, SLOWER):
            report = await examined(peer, self.revision, id, areas=self.areas, slower=slower)
            (outcome,) = [one for one in report.outcomes if one.requirement == id]
            if outcome.verdict != "not tested" or report.failed():
                break
        return report, outcome


def found(report: Report) -> set[str]:
    return {outcome.requirement for outcome in report.failed()}


def told(report: Report) -> dict[str, str]:
    """Return what a report says is broken, with the first finding of each requirement."""
    return {
        one.requirement: f"expected {one.findings[0].expected}: {one.findings[0].came}"
        for one in report.failed()
    }


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of pairs with those of one module of the zoo.

    With `--full` at each revision, and in all areas: see `areas_to_try`.
    """
    if "pairs" in metafunc.fixturenames:
        full = bool(metafunc.config.getoption("full"))
        groups: dict[str, list[PairAt]] = {}
        for pair in SERVERS:
            room = pair.breaks.__module__.rpartition("servers.")[2]
            for revision in revisions_to_try(pair.requirement, full=full):
                name = f"{room} {revision}" if full else room
                areas = areas_to_try(pair.requirement, full=full)
                groups.setdefault(name, []).append(PairAt(pair, revision, areas))
        parts = {
            f"{name} from {start}": pairs[start : start + MAX_PAIRS]
            for name, pairs in groups.items()
            for start in range(0, len(pairs), MAX_PAIRS)
        }
        metafunc.parametrize("pairs", list(parts.values()), ids=list(parts))


async def test_servers_that_break_a_rule_are_found_out_and_their_twins_are_not(
    pairs: list[PairAt],
) -> None:
    assert await faults_of(pairs) == []


async def faults_of(pairs: Iterable[PairAt]) -> list[str]:
    """Return what is wrong with pairs, which are examined at once."""
    every = await asyncio.gather(*(pair.faults() for pair in pairs))
    return [fault for faults in every for fault in faults]


async def test_of_a_server_that_forbids_unknown_tokens_the_status_is_told() -> None:
    requirement = "authorization:challenge:expired"
    report = await examined(zoo()[requirement].breaks, HANDSHAKE, requirement)
    said = "expected a token that nobody issued gets status 401: status 403"
    assert told(report) == {requirement: said}


async def test_a_server_that_late_answers_lose_takes_those_that_come_in_time() -> None:
    breaks = zoo()["cancellation:sent:late-answer"].breaks
    opens = MemoryOpener(lambda revision: DuplexServing(breaks(revision)))
    client = ReferenceClient(opens(HANDSHAKE), HANDSHAKE)
    try:
        await client.open()
        await client.ask("call_tool", {"name": "ask_user", "arguments": {}})
        assert (await client.ask("list_tools")).result is not None
    finally:
        await client.aclose()
        await opens.aclose()


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
