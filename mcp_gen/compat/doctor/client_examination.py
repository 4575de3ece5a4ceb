"""Examination of a client: one run per scenario and revision, and what the checks make of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from importlib.metadata import version
from time import monotonic
from typing import TYPE_CHECKING

import mcp_wire
from mcp_gen.compat.checks.client_run import STRICT, ClientRun
from mcp_gen.compat.checks.found import FaultPlace, Found, NotTested
from mcp_gen.compat.checks.judging import applicable, judge, outcome_of
from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.report.bounds import bounded
from mcp_gen.compat.report.model import Opening, Outcome, Report
from mcp_gen.compat.scenarios.scenario import has_scenario, scenario_of, scenarios

if TYPE_CHECKING:
    from mcp_gen.compat.checks.check import Check
    from mcp_gen.compat.scenarios.scenario import Scenario
    from mcp_gen.compat.scenarios.stage import Stage

__all__ = ["examine_client"]

AFTER_A_HANG_S = 2.0
"""Time limit of a scenario that has hung before, in seconds, unless the given one is shorter."""
TIMES_STRICT = 4
"""Factor by which such a scenario may be slower than the one of the strict server."""


async def examine_client(
    stage: Stage,
    *,
    target: str,
    revisions: Sequence[str] = mcp_wire.REVISIONS,
    limit_s: float = 30.0,
    only: Collection[str] = (),
    on_outcome: Callable[[Outcome], None] | None = None,
    on_run: Callable[[ClientRun], None] | None = None,
) -> Report:
    """Examine a client, and return the report.

    Args:
        stage: Runs the client.
        target: The name of the client in the report.
        revisions: The revisions to examine it at.
        limit_s: Time limit of one run, in seconds.
        only: Ids of the scenarios to run beside the strict server; empty for all.
        on_outcome: Called with each outcome as soon as it is known.
        on_run: Called with each run as soon as it has ended.
    """
    began_s = monotonic()
    examination = _ClientExamination(stage, limit_s, only, on_run)
    await examination.run(revisions)
    outcomes: list[Outcome] = []
    for revision in revisions:
        for outcome in examination.outcomes(revision):
            outcomes.append(outcome)
            if on_outcome:
                on_outcome(outcome)
    report = Report(
        target=target,
        side="client",
        transport=stage.transport,
        version=version("mcp-gen"),
        took_s=monotonic() - began_s,
        name=examination.name(),
        openings=tuple(examination.opening(one) for one in revisions),
        outcomes=tuple(outcomes),
    )
    return bounded(report)


class _ClientExamination:
    """The runs of one client at some revisions."""

    def __init__(
        self,
        stage: Stage,
        limit_s: float,
        only: Collection[str],
        on_run: Callable[[ClientRun], None] | None,
    ) -> None:
        self._stage = stage
        self._limit_s = limit_s
        self._only = only
        self._on_run = on_run
        self._turns = asyncio.Semaphore(stage.at_once)
        self._hung: set[str] = set()
        """Scenarios in which the client has hung, at any revision."""
        self._runs: dict[str, dict[str, ClientRun]] = {}
        self._spoken: frozenset[str] = frozenset()

    # --- runs ---

    async def run(self, revisions: Sequence[str]) -> None:
        """Run the client with the strict servers, then in the scenarios of what it speaks."""
        self._runs = {revision: {} for revision in revisions}
        strict = scenario_of(STRICT)
        await asyncio.gather(*(self._perform(strict, revision) for revision in revisions))
        self._spoken = frozenset(one for one in revisions if self._strict(one).speaks())
        await asyncio.gather(
            *(
                self._perform(scenario, revision)
                for revision in revisions
                if revision in self._spoken and not self._strict(revision).ended.hung
                for scenario in self._scenarios(revision)
                if scenario.id != STRICT and (not self._only or scenario.id in self._only)
            )
        )
        chosen = frozenset(one for one in revisions if self._strict(one).chooses())
        for runs in self._runs.values():
            for run in runs.values():
                run.beside, run.spoken, run.chosen = runs, self._spoken, chosen

    def _scenarios(self, revision: str) -> list[Scenario]:
        stage = self._stage
        return scenarios(revision, stage.transport, with_processes=stage.starts_processes)

    async def _perform(self, scenario: Scenario, revision: str) -> None:
        async with self._turns:
            limit_s = self._limit_s
            if scenario.id in self._hung:
                usual_s = self._strict(revision).ended.took_s if self._runs[revision] else 0.0
                limit_s = min(limit_s, max(AFTER_A_HANG_S, TIMES_STRICT * usual_s))
            done = await self._stage.perform(scenario, revision, limit_s)
        run = ClientRun(scenario.id, revision, done.transcripts, done.ended)
        if run.ended.hung:
            self._hung.add(scenario.id)
        self._runs[revision][scenario.id] = run
        if self._on_run:
            self._on_run(run)

    def _strict(self, revision: str) -> ClientRun:
        return self._runs[revision][STRICT]

    # --- what came of them ---

    def name(self) -> str:
        """Return name and version that the client gives itself."""
        for runs in self._runs.values():
            for frame in runs[STRICT].frames():
                if frame.event.sender == "client":
                    key = runs[STRICT].profile.client_info_key or ""
                    params = frame.members.get("params")
                    info = member(params, "clientInfo") or member(params, "_meta", key)
                    if is_object(info):
                        return f"{info.get('name')} {info.get('version')}"
        return ""

    def opening(self, revision: str) -> Opening:
        """Return what came of the strict server of a revision."""
        if revision in self._spoken:
            return Opening(asked=revision, answer="agreed", agreed=revision)
        return Opening(asked=revision, answer=self._refusal(revision))

    def _refusal(self, revision: str) -> str:
        run = self._strict(revision)
        if not run.transcripts:
            return f"it did not connect, and {run.ended}"
        if not any(True for one in run.transcripts for _ in one.messages("client")):
            return f"it sent nothing, and {run.ended}"
        return f"it did not speak {revision}, and {run.ended}"

    def outcomes(self, revision: str) -> list[Outcome]:
        """Return the outcome of every check at a revision."""
        made = [
            outcome_of(check, found, revision, why) for check, found, why in self._checked(revision)
        ]
        order = {check.requirement.id: number for number, check in enumerate(self._all(revision))}
        return sorted(made, key=lambda one: order[one.requirement])

    def _all(self, revision: str) -> list[Check]:
        return applicable("client", revision, self._stage.transport)

    def _checked(self, revision: str) -> list[tuple[Check, Found, str]]:
        runs = self._runs[revision]
        why = self._why_not(revision)
        made: list[tuple[Check, Found, str]] = []
        told: list[FaultPlace] = []
        rules: list[Check] = []
        for check in self._all(revision):
            if why and not check.at_opening:
                made.append((check, Found(), why))
            elif check.judge is None:
                rules.append(check)
            else:
                found, missed = _judged(check, runs)
                told += found.places
                made.append((check, found, missed or why))
        read = [
            transcript
            for run in runs.values()
            if scenario_of(run.scenario).is_exact
            for transcript in run.transcripts
        ]
        for check, found in judge(rules, read, told):
            made.append((check, found, why or ("" if found.has_seen else check.unseen)))
        return made

    def _why_not(self, revision: str) -> str:
        """Return why nothing can be found out at a revision; empty if something can."""
        return "" if revision in self._spoken else self._refusal(revision)


def _judged(check: Check, runs: dict[str, ClientRun]) -> tuple[Found, str]:
    """Return what the judge of a scenario has found, and why it has found out nothing."""
    found = Found()
    assert check.judge is not None
    id = check.requirement.id
    # A judge without a scenario of its own judges the run with the strict server.
    run = runs.get(id if has_scenario(id) else STRICT)
    if run is None:
        why = f"{runs[STRICT].ended} with the strict server" if runs[STRICT].ended.hung else ""
        return found, why or "its scenario was not run"
    try:
        check.judge(run, found)
    except NotTested as error:
        return found, str(error)
    return found, "" if found.has_seen else "nothing was to be seen"
