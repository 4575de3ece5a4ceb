"""Judgements that scenarios share: a client goes on, or meets an error.

An exit code alone says little: a program may swallow errors. So each judgement compares runs of
one program, which differ in one thing that the server does.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.client_run import STRICT
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import member
from mcp_gen.compat.method_names import python_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.compat.checks.check import Judge
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import WireEvent

__all__ = ["asks_as_in", "calls_of", "goes_on", "last_events", "must_end_well", "rejects"]


def must_end_well(run: ClientRun) -> None:
    """Raise NotTested if a run of the strict server, with which one compares, went wrong."""
    if not run.strict.ended.well:
        raise NotTested(f"with the strict server, too, {run.strict.ended}")


def goes_on(expected: str, *, given: Callable[[ClientRun], bool] | None = None) -> Judge:
    """Return a judge: the client ends as well as it does with the strict server.

    Args:
        expected: What is to be taken, in one sentence.
        given: Tells whether the server had an occasion to do its special thing; None: always.
    """

    def judge(run: ClientRun, found: Found) -> None:
        must_end_well(run)
        if given is not None and not given(run):
            raise NotTested("the client gave no occasion for it")
        found.saw()
        if not run.ended.well:
            found.broken(expected, f"{run.ended}, unlike with the strict server", *last_events(run))

    return judge


def goes_on_alike(expected: str) -> Judge:
    """Return a judge: the client ends as well as with the strict server, and asks for the same.

    Args:
        expected: What is to make no difference, in one sentence.
    """
    ends_well, asks_the_same = goes_on(expected), asks_as_in(expected, STRICT)

    def judge(run: ClientRun, found: Found) -> None:
        ends_well(run, found)
        if run.ended.well:
            asks_the_same(run, found)

    return judge


def rejects(expected: str, control: str, *, detects: str = "", tool: str = "") -> Judge:
    """Return a judge: the client meets an error, as its exit code says.

    Args:
        expected: What is to be an error, in one sentence.
        control: The control in which the same request is answered with an error: a program that
            ends well there swallows errors, and nothing can be found out.
        detects: Another scenario, in which the client must have met an error, too: else it does
            not look at such things at all.
    """

    def judge(run: ClientRun, found: Found) -> None:
        must_end_well(run)
        if tool and not calls_of(run, tool):
            raise NotTested(f"the client did not call the tool `{tool}`")
        if run.run_of(control).ended.well:
            raise NotTested("the exit code of the client does not tell of errors")
        if detects and run.run_of(detects).ended.well:
            raise NotTested(f"the client does not look at what {detects} is about")
        if run.ended.hung:
            raise NotTested(str(run.ended))
        found.saw()
        if run.ended.well:
            found.broken(
                expected, "the client ended well, as if all had been right", *last_events(run)
            )

    return judge


def asks_as_in(expected: str, control: str) -> Judge:
    """Return a judge: the client asks and ends as it does in another scenario.

    Args:
        expected: What is to make no difference, in one sentence.
        control: The other scenario.
    """

    def judge(run: ClientRun, found: Found) -> None:
        other = run.run_of(control)
        if other.ended.hung:
            raise NotTested(f"in the scenario {control}, too, {other.ended}")
        if _cancelled(run) != _cancelled(other):
            raise NotTested("the client ran out of time in one of the runs")
        found.saw()
        here, there = _asked(run), _asked(other)
        for name in sorted(here.keys() | there.keys()):
            if here[name] != there[name]:
                came = f"the client asked for {name} {here[name]} times, else {there[name]} times"
                found.broken(expected, came, *last_events(run))
                return
        if run.ended.exit_code != other.ended.exit_code:
            found.broken(expected, f"{run.ended}, else: {other.ended}", *last_events(run))

    return judge


def calls_of(run: ClientRun, tool: str) -> int:
    """Return how often the client has called a tool."""
    call_tool = run.profile.call_tool
    assert call_tool is not None
    asked = run.requests(call_tool.name)
    return sum(member(one.members, "params", "name") == tool for one in asked)


def last_events(run: ClientRun, count: int = 3) -> list[WireEvent]:
    """Return the last messages of a run, as evidence."""
    return [event for one in run.transcripts for event in one.messages()][-count:]


def _cancelled(run: ClientRun) -> int:
    """Return how often the client has cancelled a request."""
    cancelled = run.profile.cancelled
    return sum(
        cancelled is not None and one.members.get("method") == cancelled.name
        for one in run.frames()
        if one.event.sender == "client"
    )


def _polls(method: str) -> bool:
    """Return True for a question how a task goes: how often it is asked is a matter of time."""
    return python_name(method) == "get_task"


def _asked(run: ClientRun) -> Counter[str]:
    """Return how often the client has asked for what, without pings and questions about tasks."""
    ping = run.profile.ping
    asked: Counter[str] = Counter()
    for event, frame in run.frames():
        method = frame.get("method")
        is_ping = ping is not None and method == ping.name
        if event.sender != "client" or "id" not in frame or is_ping or _polls(str(method)):
            continue
        about = member(frame, "params", "name") or member(frame, "params", "uri")
        asked[f"{method} {about}" if isinstance(about, str) else str(method)] += 1
    return asked
