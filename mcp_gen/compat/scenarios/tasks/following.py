"""Scenarios of servers that make tasks of calls, for clients that follow them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from mcp_gen.compat.checks.check import judged
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.scenarios.judgements import last_events
from mcp_gen.compat.scenarios.scenario import scenario
from mcp_gen.compat.views.task_lives import task_lives
from mcp_gen.compat.views.task_traffic import exchanges

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import ReferenceCall
    from mcp_gen.compat.reference.tasks import ReferenceTask
    from mcp_gen.compat.views.task_lives import TaskLife

__all__ = ["FollowedServer", "lives_of", "stops_asking"]

FOLLOWED = "tasks:client:polls"
"""The scenario in which the server tells of the states of its tasks."""
POLL_INTERVAL_MS = 50
STEP_S = 1.0
MAX_STATES = 10
"""Number of times that a task tells that it asks for something before it gives up."""
BEFORE, AFTER = " %2B\u00e9= ", '/{"page": 1}\t'


class FollowedServer(ReferenceServer):
    """Has tasks that take as long as their client needs to ask for some of their states."""

    step_s: ClassVar[float] = STEP_S

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._unheard: dict[str, int] = {}

    def check(self, message: bytes) -> None:
        """Do nothing: the rules judge what clients send, by the transcript."""

    def state(self, task: ReferenceTask) -> Json:
        """Return the state with the time after which it is to be asked for again."""
        said = dict.fromkeys(("pollInterval", "pollIntervalMs"), POLL_INTERVAL_MS)
        return {**super().state(task), **said}

    async def get_task(self, call: ReferenceCall) -> Json:
        """Return the state; a task that asks for something without an end gives up."""
        task = self.find_task(call)
        times = self._unheard.get(task.id, 0) + (task.status == "input_required")
        self._unheard[task.id] = times
        state = await super().get_task(call)
        if times >= MAX_STATES:
            self.stop_task(task)
        return state


def lives_of(run: ClientRun) -> list[TaskLife]:
    """Return the tasks of a run.

    Raises:
        NotTested: there are none.
    """
    found = [life for transcript in run.transcripts for life in task_lives(transcript)]
    if not found:
        raise NotTested("no call of the client became a task")
    return found


def stops_asking(run: ClientRun, found: Found, resting: tuple[str, ...] = ()) -> None:
    """Report tasks of which the client has asked for the state, and stopped before their end.

    Args:
        run: The run.
        found: Takes the findings.
        resting: States beside the last ones in which a client may stop.
    """
    lives = [life for life in lives_of(run) if life.requests("get_task")]
    if not lives:
        raise NotTested("the client asked for the state of no task")
    found.saw()
    for life in lives:
        last = life.told[-1]
        # It waits for the result, has heard the last of the task, or listens for news of it.
        others = ("get_task_payload", "cancel_task", "subscriptions_listen")
        if last.has_ended or last.status in resting or life.requests(*others):
            continue
        expected = "the state of a task is asked for until it has ended"
        came = f"the client stopped when it was {last.status}"
        found.broken(expected, came, last.event, life.last_event)


def a_task_is_asked_for_until_its_end(run: ClientRun, found: Found) -> None:
    stops_asking(run, found, ("input_required",))


@scenario(FOLLOWED, a_task_is_asked_for_until_its_end)
class TellsOfTasks(FollowedServer):
    """Has tools that take tasks, and one that is only ever one; its cursors look strange."""

    def task_page(self, call: ReferenceCall, tasks: list[Json]) -> Json:
        """Return the page of a cursor with things around it."""
        cursor = call.params.get("cursor")
        if cursor is not None:
            if not (cursor.startswith(BEFORE) and cursor.endswith(AFTER)):
                raise Failure(self.profile.errors.invalid_params, "Unknown cursor")
            call.params["cursor"] = cursor[len(BEFORE) : -len(AFTER)]
        page = super().task_page(call, tasks)
        if "nextCursor" in page:
            page["nextCursor"] = f"{BEFORE}{page['nextCursor']}{AFTER}"
        return page


def _reached(run: ClientRun) -> Iterator[TaskLife]:
    """Yield the tasks whose results the client has got."""
    for transcript in run.transcripts:
        answered = {one.task for one in exchanges(transcript, "get_task_payload")}
        yield from (life for life in task_lives(transcript) if life.id in answered)


def results_are_got_without_notices(run: ClientRun, found: Found) -> None:
    lives = lives_of(run)
    with_notices = {life.tool for life in _reached(run.run_of(FOLLOWED))}
    without = {life.tool for life in _reached(run)}
    missed = [life for life in lives if life.tool in with_notices - without]
    if not missed and not with_notices & without:
        raise NotTested("the client asked for the result of no task")
    found.saw()
    for life in missed:
        expected = "the result of a task is asked for without a notification, too"
        came = f"that of `{life.tool}` was asked for only where a notification had come"
        found.broken(expected, came, life.call.event, *last_events(run, 1))


@scenario("tasks:client:notices-optional", results_are_got_without_notices)
class TellsNothingOfTasks(FollowedServer):
    """Sends no notifications of the states of its tasks."""

    def tell_state(self, task: ReferenceTask) -> None:
        """Tell nothing."""


def the_result_is_asked_for_where_a_task_asks(run: ClientRun, found: Found) -> None:
    asking = [life for life in lives_of(run.run_of(FOLLOWED)) if life.asking("get", "news")]
    for life in asking:
        if life.requests("get_task_payload"):
            found.saw()
        elif life.asking("get") and not life.requests("cancel_task"):
            state = life.asking("get")[0]
            expected = (
                "the result of a task that asks for something is asked for, to be asked there"
            )
            found.broken(expected, "it was not asked for", state.event, life.last_event)
    if not found.has_seen:
        raise NotTested("the client heard of no task that asks for something")


judged("tasks:client:input", the_result_is_asked_for_where_a_task_asks)
