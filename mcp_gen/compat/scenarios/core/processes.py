"""Scenarios of the process behind a connection: it writes to stderr, ends, or does not end."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import judged
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.call import Unanswered
from mcp_gen.compat.scenarios.judgements import goes_on_alike, last_events, must_end_well
from mcp_gen.compat.scenarios.process_server import (
    LEFT_BY_ITSELF,
    LEFT_RUNNING,
    SIGNAL,
    STILL_THERE,
    StubbornServer,
)
from mcp_gen.compat.scenarios.scenario import scenario
from mcp_gen.compat.scenarios.staged import StagedServer

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.reference.call import ReferenceCall
    from mcp_gen.compat.transcript import Transcript, WireEvent

SHUTDOWN = "lifecycle:client:shutdown"
LEAST_LIMIT_S = 15.0
"""A run with a shorter time limit says nothing about clients that wait for processes."""


@scenario(
    "stdio:client:stderr",
    goes_on_alike("what a command writes to stderr is no error"),
    needs_process=True,
)
class WritesToStderr(StagedServer):
    """Writes to stderr what looks like errors, and answers as ever."""

    async def answer(self, call: ReferenceCall) -> Json:
        """Write a line, and answer."""
        print(f"ERROR: {call.method} was received (this is a log, and no error)", file=sys.stderr)
        return await super().answer(call)


# --- processes that end ---


def _left_by_the_server(transcript: Transcript) -> bool:
    return any(one.kind == "closed" and one.sender == "server" for one in transcript.events)


def _lost_one(run: ClientRun, why_none: str) -> int:
    """Return the place of the transcript whose server has left its client."""
    for number, transcript in enumerate(run.transcripts):
        if _left_by_the_server(transcript):
            return number
    raise NotTested(why_none)


def the_command_is_started_anew(run: ClientRun, found: Found) -> None:
    must_end_well(run)
    lost = _lost_one(run, "the client did not list the tools on its first connection")
    found.saw()
    later = [event for one in run.transcripts[lost + 1 :] for event in one.messages("client")]
    if not later:
        expected = "a command that exits unexpectedly is started anew"
        events = run.transcripts[lost].events
        found.broken(expected, f"it was not; {run.ended}", *events[-2:])


@scenario("stdio:client:restarts", the_command_is_started_anew)
class EndsInTheMiddle(StagedServer):
    """Ends when it is first asked for its tools; the process after it does not."""

    async def list_tools(self, call: ReferenceCall) -> Json:
        """End, or answer."""
        if self.earlier == 0:
            self.leave()
            raise Unanswered
        return await super().list_tools(call)


def _open_subscriptions(run: ClientRun, transcript: Transcript) -> list[WireEvent]:
    """Return the requests for news that were open when a connection ended."""
    listen, cancelled = run.profile.listen, run.profile.cancelled
    assert listen is not None
    assert cancelled is not None
    frames = transcript.frames("client")
    ended = [
        member(one.members, "params", "requestId")
        for one in frames
        if one.members.get("method") == cancelled.name
    ]
    return [
        one.event
        for one in frames
        if one.members.get("method") == listen.name and one.members.get("id") not in ended
    ]


def the_client_subscribes_again(run: ClientRun, found: Found) -> None:
    lost = _lost_one(run, "the client subscribed to nothing on its first connection")
    subscribed = _open_subscriptions(run, run.transcripts[lost])
    listen, discover = run.profile.listen, run.profile.discover
    assert listen is not None
    assert discover is not None
    later = [one for each in run.transcripts[lost + 1 :] for one in each.frames("client")]
    asked = [one for one in later if one.members.get("method") not in (None, discover.name)]
    if not subscribed:
        raise NotTested("the client had ended its subscription")
    if not asked:
        raise NotTested("the client asked for nothing on another connection")
    found.saw()
    if not any(one.members.get("method") == listen.name for one in asked):
        expected = f"on a new connection {listen.name} is sent again"
        found.broken(expected, "it was not", subscribed[0], asked[0].event)


@scenario("subscriptions:client:again", the_client_subscribes_again)
class EndsWhileListenedTo(StagedServer):
    """Ends once it is listened to and all else is answered; the process after it does not."""

    async def listen(self, call: ReferenceCall) -> None:
        """End, or wait."""
        if self.earlier == 0:
            others = [task for task in self.calls.values() if task is not asyncio.current_task()]
            await asyncio.gather(*others, return_exceptions=True)
            self.leave()
        await super().listen(call)


# --- a process that does not end ---


class _Ending:
    """End of a process of the stubborn server: what its client did, and in which order."""

    def __init__(self, run: ClientRun, transcript: Transcript) -> None:
        self.events = [one for one in transcript.events if one.kind == "closed"]
        self.signals: list[str] = []
        """Names of the signals that it got, in order."""
        self.is_quick = True
        """True if it was ended before it had a moment to end by itself."""
        self.is_closed = self.is_closed_first = False
        """True if its stdin was closed: at all, and before anything else."""
        self.is_left = self.is_waited_for = False
        """True if it was not ended: the client ended before it, or did not."""
        for one in self.events:
            if one.about.startswith(SIGNAL):
                self.signals.append(one.about.removeprefix(SIGNAL))
            elif one.about == STILL_THERE:
                self.is_quick = bool(self.signals)
            elif one.about == LEFT_RUNNING:
                self.is_left = True
            elif one.about == LEFT_BY_ITSELF:
                self.is_waited_for = True
            else:
                self.is_closed = True
                self.is_closed_first = not self.signals
        self.is_waited_for = self.is_waited_for or run.ended.hung

    @property
    def first(self) -> str:
        """The first thing that the client did to end it, other than closing its stdin."""
        return f"{self.signals[0]} came" if self.signals else "the process was killed"


def the_process_is_ended_in_steps(run: ClientRun, found: Found) -> None:
    _must_be_patient(run)
    for transcript in run.transcripts:
        found.saw()
        ending = _Ending(run, transcript)
        evidence = ending.events or last_events(run)
        if ending.is_left:
            expected = "a process that does not exit is terminated"
            found.broken(expected, "it still ran when the client had ended", *evidence)
        elif ending.is_waited_for:
            expected = "a process that does not exit within a reasonable time is terminated"
            found.broken(expected, "it was waited for, and not terminated", *evidence)
        elif not ending.is_closed_first:
            expected = "the process is ended by closing its stdin first"
            how = "before that" if ending.is_closed else "and stdin was not closed"
            found.broken(expected, f"{ending.first}, {how}", *evidence)
        elif ending.is_quick:
            expected = "a process whose stdin is closed has time to exit"
            found.broken(expected, f"{ending.first} at once", *evidence)


def the_process_is_terminated_before_it_is_killed(run: ClientRun, found: Found) -> None:
    shut_down = run.run_of(SHUTDOWN)
    _must_be_patient(shut_down)
    for transcript in shut_down.transcripts:
        ending = _Ending(shut_down, transcript)
        if ending.is_left or ending.is_waited_for:
            raise NotTested("the process was not killed")
        found.saw()
        if "SIGTERM" not in ending.signals:
            expected = "a process that does not exit gets SIGTERM before SIGKILL"
            came = f"it got {' and '.join(ending.signals) or 'none'}, and was killed"
            found.broken(expected, came, *ending.events)


def _must_be_patient(run: ClientRun) -> None:
    must_end_well(run)
    if run.ended.hung and run.ended.limit_s < LEAST_LIMIT_S:
        raise NotTested(f"{run.ended}: that is too short to say that it waits forever")
    if not run.transcripts:
        raise NotTested("the client did not start the command")


scenario(SHUTDOWN, the_process_is_ended_in_steps, needs_process=True)(StubbornServer)
judged(f"{SHUTDOWN}:sigterm", the_process_is_terminated_before_it_is_killed)
