"""Examinations of clients of the zoo: many at once, since each of them mostly waits."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.doctor.client_examination import examine_client
from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.scenarios.authorization.steps import GRANTED
from mcp_gen.compat.scenarios.commands import CommandStage
from mcp_gen.compat.scenarios.memory import MemoryStage
from mcp_gen.compat.scenarios.scenario import scenarios
from mcp_gen.compat.wire.openers import HttpOpener, MemoryOpener
from tests.compat.examining import area_of, is_in_turn, program_of, transport_of
from tests.compat.local_http import LocalHttpStage
from tests.support.frames import HANDSHAKE

if TYPE_CHECKING:
    from mcp_gen.client.connecting.in_process import ConnectableServer
    from mcp_gen.compat.scenarios.scenario import Scenario
    from mcp_gen.compat.scenarios.stage import Performance
    from mcp_gen.compat.transcript import Transport
    from mcp_gen.compat.zoo.zoo import Pair

__all__ = [
    "LIMIT_S",
    "NEVER_LISTS",
    "TIMEOUT_S",
    "PatientStage",
    "examined_client",
    "faults_of_pairs",
]

PAIRS_AT_ONCE = 5
RUNS_AT_ONCE = 4
"""Numbers that keep a processor busy: with more, each run would be slow, and none done sooner."""
LIMIT_S = 60.0
"""Time limit of a run: some milliseconds, where the machine has nothing else to do."""
HANGING_LIMIT_S = 2.0
"""Time limit of the run in which a client hangs because that is the rule that it breaks."""
TIMEOUT_S = 30.0
"""Longest wait for an answer."""
IN_VAIN_S = 0.1
"""Longest wait for the answer that the server of one scenario never gives."""

NEVER_LISTS = "lifecycle:client:timeouts:sent"
DISCONNECTS = "lifecycle:client:versions:disconnects"
HANGING_IN: Mapping[str, tuple[str, ...]] = {
    "base:client:supported": ("base:client:supported",),
    DISCONNECTS: (DISCONNECTS, "lifecycle:client:versions:must-disconnect"),
    # The server of this scenario answers nothing before its questions are answered.
    "tasks:client:any-stream": ("tasks:client:receives:created",),
}
"""Scenarios in which a client of the zoo hangs, by the rule that it breaks with it."""
COMPARED = frozenset({"base:client:supported", "tools:client:structured"})
"""Scenarios that checks of other areas look at, too."""
OF_TOKENS = "authorization"
"""Area whose scenarios are many and like each other: their peers are examined in a third."""
JUDGED_IN = {
    "authorization:client:origin": "authorization:client:default-endpoints",
    "authorization:client:scopes": "authorization:client:step-up",
    "authorization:client:step-up:union": "authorization:client:step-up",
}
"""Scenarios of other rules that a check looks at, beside the one in which all goes well."""
ALSO_SPOKEN = {
    "lifecycle:client:fallback": (HANDSHAKE,),
    "lifecycle:client:versions:selected": (HANDSHAKE,),
}
"""Revisions that clients must be seen to speak, too, for a requirement."""


OF_PROCESSES = {
    "lifecycle:client:shutdown": "lifecycle:client:shutdown",
    "lifecycle:client:shutdown:sigterm": "lifecycle:client:shutdown",
    "stdio:client:stderr": "stdio:client:stderr",
}
"""Scenarios that are run with programs alone, by the rule that they are for."""


class PatientStage:
    """Stage of clients with long time limits, but where a server never answers; see `Stage`.

    Args:
        run: Runs the client, given a server, its revision, and the longest wait for the list of
            tools, in seconds.
        transport: What the memory stands for.
        hanging_in: Ids of the scenarios in which the client hangs.
    """

    def __init__(
        self,
        run: Callable[[ConnectableServer, str, float], Awaitable[None]],
        transport: Transport = "memory",
        hanging_in: Collection[str] = (),
    ) -> None:
        self.transport: Transport = transport
        self.starts_processes = False
        self.at_once = RUNS_AT_ONCE
        self._run = run
        self._hanging_in = hanging_in

    async def perform(self, scenario: Scenario, revision: str, limit_s: float) -> Performance:
        """Run the client once."""
        tools_timeout_s = IN_VAIN_S if scenario.id == NEVER_LISTS else TIMEOUT_S

        async def run(server: ConnectableServer, revision: str) -> None:
            await self._run(server, revision, tools_timeout_s)

        limit_s = HANGING_LIMIT_S if scenario.id in self._hanging_in else limit_s
        return await MemoryStage(run, transport=self.transport).perform(scenario, revision, limit_s)


async def examined_client(
    peer: type[ClientScript],
    revisions: Sequence[str],
    transport: Transport = "memory",
    *,
    hanging_in: Collection[str] = (),
    only: Collection[str] = (),
) -> Report:
    """Return the report on a client of the zoo.

    Args:
        peer: Class of the client.
        revisions: The revisions.
        transport: `http`, or what the memory stands for.
        hanging_in: Ids of the scenarios in which the client hangs.
        only: Ids of the scenarios that are run; empty for all.
    """

    async def run(server: ConnectableServer, revision: str, tools_timeout_s: float) -> None:
        opens = MemoryOpener(lambda spoken: server)
        client = peer(opens, revision)
        client.timeout_s = TIMEOUT_S
        client.tools_timeout_s = tools_timeout_s
        try:
            await client.run()
        finally:
            await opens.aclose()

    return await examine_client(
        _over_http(peer, hanging_in)
        if transport == "http"
        else PatientStage(run, transport, hanging_in),
        target=peer.__name__,
        revisions=revisions,
        limit_s=LIMIT_S,
        only=only,
    )


def _over_http(peer: type[ClientScript], hanging_in: Collection[str]) -> LocalHttpStage:
    """Return the stage of a client of the zoo over HTTP."""

    async def run(said: Mapping[str, str]) -> None:
        client = peer(HttpOpener(said["url"]), said["revision"])
        client.timeout_s = TIMEOUT_S
        client.tools_timeout_s = IN_VAIN_S if said["scenario"] == NEVER_LISTS else TIMEOUT_S
        await client.run()

    return LocalHttpStage(run, dict.fromkeys(hanging_in, HANGING_LIMIT_S))


async def faults_of_pairs(cells: Iterable[tuple[Pair, str]], *, full: bool = False) -> list[str]:
    """Examine pairs at once; return a line for each peer of which something else was found.

    Args:
        cells: Pairs, each with a revision.
        full: True to examine them in all scenarios: see `scenarios_to_try`.
    """
    turns = asyncio.Semaphore(PAIRS_AT_ONCE)

    async def faults(pair: Pair, revision: str) -> list[str]:
        async with turns:
            return [
                *await _faults_of_breaker(pair, revision, full),
                *await _faults_of_twin(pair, revision, full),
            ]

    found = await asyncio.gather(*(faults(pair, revision) for pair, revision in cells))
    return [fault for faults in found for fault in faults]


async def _faults_of_breaker(pair: Pair, revision: str, full: bool) -> list[str]:
    id = pair.requirement
    hanging_in = HANGING_IN.get(id, ())
    report = await _examined_at(pair.breaks, id, revision, full, hanging_in=hanging_in)
    failed = {one.requirement for one in report.failed()}
    if failed == {id}:
        return []
    return [f"{pair.breaks.__name__} at {revision} breaks {id}, and found was {_findings(report)}"]


async def _faults_of_twin(pair: Pair, revision: str, full: bool) -> list[str]:
    id = pair.requirement
    report = await _examined_at(pair.keeps, id, revision, full)
    about = f"{pair.keeps.__name__} at {revision} keeps {id}, and"
    if report.failed():
        return [f"{about} found was {_findings(report)}"]
    verdicts = {(one.requirement, one.revision): one for one in report.outcomes}
    outcome = verdicts[id, revision]
    return [] if outcome.verdict == "passed" else [f"{about} was {outcome.verdict}: {outcome.why}"]


async def _examined_at(
    peer: type[Any],
    requirement: str,
    revision: str,
    full: bool,
    *,
    hanging_in: Collection[str] = (),
) -> Report:
    if requirement in OF_PROCESSES:
        return await _examined_as_command(peer, requirement, revision)
    revisions = (revision, *ALSO_SPOKEN.get(requirement, ()))
    over = transport_of(requirement)
    only = scenarios_to_try(requirement, revisions, over, full=full)
    return await examined_client(peer, revisions, over, hanging_in=hanging_in, only=only)


def scenarios_to_try(
    requirement: str, revisions: Iterable[str], over: Transport, *, full: bool = False
) -> list[str]:
    """Return the ids of the scenarios that the clients of a requirement are examined in.

    These are those of its area, those that others are compared with, and a third of the others,
    which are others for each requirement. All of them if `full`; over HTTP those of HTTP: the
    others are the same over any transport, and are tried in memory. Those of authorization are for
    clients of that area alone.
    """
    every = [one.id for revision in revisions for one in scenarios(revision, over)]
    if area_of(requirement) == OF_TOKENS:
        needed = {GRANTED, requirement, JUDGED_IN.get(requirement)}
        own = [id for id in every if area_of(id) == OF_TOKENS]
        return [id for id in own if full or id in needed or is_in_turn(requirement, id)]
    if over == "http":
        areas = ("http", area_of(requirement))
        return [id for id in every if area_of(id) in areas or "http:" in id]
    return [
        id
        for id in every
        if full
        or id not in requirements()
        or id in COMPARED
        or area_of(id) == area_of(requirement)
        or is_in_turn(requirement, id)
    ]


async def _examined_as_command(peer: type[Any], requirement: str, revision: str) -> Report:
    command = [sys.executable, *program_of(peer), "--revision", "{revision}"]
    return await examine_client(
        CommandStage([*command, "--server", "{command}"]),
        target=peer.__name__,
        revisions=(revision,),
        limit_s=LIMIT_S,
        only=(OF_PROCESSES[requirement],),
    )


def _findings(report: Report) -> str:
    """Return the first finding of each check that failed."""
    return (
        "; ".join(
            f"{one.requirement} ({one.findings[0].expected}: {one.findings[0].came})"
            for one in report.failed()
        )
        or "nothing"
    )
