"""Examination of a server: every check at every revision, over one transport."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from importlib.metadata import version
from time import monotonic
from typing import TYPE_CHECKING

import mcp_wire
from mcp_gen.compat.checks.check import Check
from mcp_gen.compat.checks.found import FaultPlace, Found, NotTested
from mcp_gen.compat.checks.judging import applicable, failure_of, judge, outcome_of
from mcp_gen.compat.checks.trial import ServerTrial, TriedServer
from mcp_gen.compat.doctor.exercises import EXERCISES
from mcp_gen.compat.doctor.openings import other_openings
from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.patience import Patience
from mcp_gen.compat.report.bounds import bounded
from mcp_gen.compat.report.model import Offer, Opening, Outcome, Report
from mcp_gen.compat.views.exchanges import LISTS
from mcp_gen.core.errors import McpGenError

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import Opens, ToolCall
    from mcp_gen.compat.reference.client import ReferenceClient, ServerReply
    from mcp_gen.compat.transcript import Transport

__all__ = ["TOO_SLOW", "examine_server"]

TOO_SLOW = "answers were too slow to tell which of them are missing"


async def examine_server(
    opens: Opens,
    *,
    target: str,
    transport: Transport,
    revisions: Sequence[str] = mcp_wire.REVISIONS,
    calls: tuple[ToolCall, ...] = (),
    timeout_s: float = 5.0,
    areas: Collection[str] = (),
    on_outcome: Callable[[Outcome], None] | None = None,
) -> Report:
    """Examine a server, and return the report.

    Args:
        opens: Makes the wires.
        target: The name of the server in the report.
        transport: What carries the messages.
        revisions: The revisions to examine it at.
        calls: The tool calls that are allowed.
        timeout_s: Longest wait for an answer, in seconds.
        areas: Areas of the requirements to examine, such as `tools`; empty: all. Other ways to
            open a connection than those of clients are tried with `lifecycle`.
        on_outcome: Called with each outcome as soon as it is known.
    """
    began_s = monotonic()
    patience = Patience(timeout_s)
    tried = [
        TriedServer(opens, one, transport, calls=calls, patience=patience) for one in revisions
    ]
    ended = await asyncio.gather(*(_Examination(one, areas, on_outcome).run() for one in tried))
    # Afterwards: a server that is started for each connection would start them all at once.
    is_whole = not areas or "lifecycle" in areas
    others = await other_openings(opens, patience) if is_whole else ()
    report = Report(
        target=target,
        side="server",
        transport=transport,
        version=version("mcp-gen"),
        took_s=monotonic() - began_s,
        name=next((one.name for one in ended if one.name), ""),
        openings=(*(one.opening for one in ended), *others),
        listings=tuple(one.listing for one in ended if one.listing),
        outcomes=tuple(outcome for one in ended for outcome in one.outcomes),
    )
    return bounded(report)


class _Examination:
    """The examination at one revision."""

    def __init__(
        self,
        server: TriedServer,
        areas: Collection[str],
        on_outcome: Callable[[Outcome], None] | None,
    ) -> None:
        self._server = server
        self._on_outcome = on_outcome
        self._revision = server.profile.revision
        self._checks = [
            check
            for check in applicable("server", self._revision, server.transport)
            if not areas or check.requirement.id.partition(":")[0] in areas
        ]
        self._told: list[FaultPlace] = []
        self._gone = ""
        """Why nothing more can be found out; empty while the server answers."""
        self._broken = ""
        """Why an exercise broke off, as the end of a sentence; empty if none has."""
        self.name = ""
        self.opening = Opening(asked=self._revision, answer="")
        self.listing: Offer | None = None
        self._capabilities: tuple[str, ...] = ()
        self.outcomes: list[Outcome] = []

    async def run(self) -> _Examination:
        try:
            if await self._open():
                for exercise in EXERCISES:
                    await self._exercise(exercise)
                self.listing = self._offer()
                for check in self._checks:
                    if check.probe is not None:
                        await self._probe(check)
                self._judge()
        finally:
            await self._server.aclose()
        return self

    async def _exercise(self, exercise: Callable[[TriedServer], Awaitable[None]]) -> None:
        """Use the server; what comes of it shows in the transcripts."""
        if self._gone:
            return
        self._server.waits.begin(exercise.__name__)
        try:
            await exercise(self._server)
        except McpGenError as error:
            self._broken = f"; the connection failed: {error}"
        except Exception as error:
            self._broken = f"; {failure_of(error)}"
        await self._look_after()

    async def _look_after(self) -> None:
        """Note it if the server has stopped answering."""
        if self._server.waits.count and not await self._server.answers():
            self._gone = "the server stopped answering"

    async def _open(self) -> bool:
        """Open the connection; return False if the server does not speak the revision."""
        try:
            client = await self._server.main()
        except McpGenError as error:
            return await self._refuse(str(error))
        reply = client.opening
        assert reply is not None
        if reply.error is not None:
            return await self._refuse(f"refused: {reply.error.get('message')}")
        if reply.result is None:
            return await self._refuse(_ending(client, reply))
        agreed = client.agreed
        if agreed != self._revision:
            return await self._refuse(f"offered {agreed}", agreed)
        key = self._server.profile.server_info_key
        info = member(reply.result, "_meta", key) if key else reply.result.get("serverInfo")
        if is_object(info):
            self.name = f"{info.get('name')} {info.get('version')}"
        self.opening = Opening(asked=self._revision, answer="agreed", agreed=agreed)
        self._capabilities = tuple(sorted(client.server_capabilities))
        return True

    def _offer(self) -> Offer:
        """Return the names of all that the server has listed."""
        listed = {
            name.removeprefix("list_").replace("_", " "): tuple(
                str(one.get(LISTS[name][1])) for one in found
            )
            for name, found in self._server.items.items()
        }
        return Offer(revision=self._revision, capabilities=self._capabilities, items=listed)

    async def _refuse(self, answer: str, agreed: str | None = None) -> bool:
        self.opening = Opening(asked=self._revision, answer=answer, agreed=agreed)
        for check in self._checks:
            if check.needs_opening:
                found = Found()
                self._add(check, found, f"the server does not speak {self._revision}: {answer}")
            else:
                await self._probe(check)
        return False

    async def _probe(self, check: Check) -> None:
        trial = ServerTrial(self._server)
        if self._gone:
            self._add(check, trial, self._gone)
            return
        self._server.waits.begin(check.requirement.id)
        why = ""
        assert check.probe is not None
        try:
            try:
                await check.probe(trial)
                trial.saw()
            finally:
                await trial.end()
        except NotTested as error:
            why = str(error)
        except McpGenError as error:
            why = f"the connection failed: {error}"
        except Exception as error:
            trial.failure = failure_of(error)
        if self._server.waits.count:
            await self._server.drop_second()
        await self._look_after()
        if trial.findings and self._server.waits.is_doubtful:
            # An answer may have been late, and not missing: nobody knows.
            self._add(check, Found(), TOO_SLOW)
        else:
            self._add(check, trial, why)

    def _judge(self) -> None:
        rules = [check for check in self._checks if check.rule is not None]
        for check, found in judge(rules, self._server.transcripts, self._told):
            unseen = f"{check.unseen}{self._broken or (self._gone and f'; {self._gone}')}"
            self._add(check, found, "" if found.has_seen else unseen)

    def _add(self, check: Check, found: Found, why: str) -> None:
        self._told += found.places
        outcome = outcome_of(check, found, self._revision, why)
        self.outcomes.append(outcome)
        if self._on_outcome:
            self._on_outcome(outcome)


def _ending(client: ReferenceClient, reply: ServerReply) -> str:
    """Return what came instead of an answer."""
    if reply.closing is None:
        return "no answer"
    head = client.transcript.head(reply.closing.exchange) if reply.closing.exchange else None
    if head is not None:
        return f"status {head.status}"
    return reply.closing.about or "the connection ended"
