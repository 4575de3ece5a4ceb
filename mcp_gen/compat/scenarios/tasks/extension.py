"""Scenarios of the extension of tasks: tasks that nobody has asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import judged
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.known_extensions import tasks_extension
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.scenarios.core.controls import REFUSES_PROMPTS
from mcp_gen.compat.scenarios.judgements import last_events, must_end_well, rejects
from mcp_gen.compat.scenarios.scenario import scenario
from mcp_gen.compat.scenarios.staged import StagedServer
from mcp_gen.compat.scenarios.tasks.following import FollowedServer, lives_of, stops_asking

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import ReferenceCall

SOMETIMES = "tasks-extension:client:either"
"""The scenario in which some calls are answered with tasks."""
TASK_ID = "a-task-that-there-is-not"


def a_task_is_an_answer_to_a_call(run: ClientRun, found: Found) -> None:
    must_end_well(run)
    lives = lives_of(run)
    ignored = [life for life in lives if not life.asked]
    if ignored and run.ended.well:
        raise NotTested("the client did nothing with its tasks, and ended well")
    found.saw()
    for life in ignored:
        expected = "a task is taken for an answer to a call, as a result is"
        came = f"the client asked nothing about it; {run.ended}, unlike where no call is a task"
        found.broken(expected, came, *life.call.events)


@scenario(SOMETIMES, a_task_is_an_answer_to_a_call)
class AnswersWithTasks(FollowedServer):
    """Answers some calls with tasks, if the client knows them, and others at once."""

    def tools(self) -> list[Json]:
        """Return the tools: none of them needs a client that knows tasks."""
        return [
            {**tool, "execution": {"taskSupport": "optional"}}
            if self.task_support(tool) == "required"
            else tool
            for tool in super().tools()
        ]


def a_task_is_asked_for_until_its_end(run: ClientRun, found: Found) -> None:
    stops_asking(run.run_of(SOMETIMES), found)


def questions_of_tasks_are_answered_by_updates(run: ClientRun, found: Found) -> None:
    lives = lives_of(run.run_of(SOMETIMES))
    for life in lives:
        answered: set[str] = set()
        for update in life.requests("update_task"):
            given = member(update.members, "params", "inputResponses")
            answered |= given.keys() if is_object(given) else set()
        for state in life.asking("get", "news"):
            asked = state.state.get("inputRequests")
            if not is_object(asked) or not asked.keys() - answered:
                found.has_seen |= is_object(asked)
                continue
            # Who cancels a task need not answer it.
            if life.requests("cancel_task"):
                continue
            missing = sorted(asked.keys() - answered)[0]
            expected = "what a task asks is answered by updates of the task"
            came = f"the question {missing!r} was not answered"
            found.broken(expected, came, state.event, life.last_event)
    if not found.has_seen:
        raise NotTested("the client heard of no task that asks for something")


judged("tasks-extension:client:polls", a_task_is_asked_for_until_its_end)
judged("tasks-extension:client:answers", questions_of_tasks_are_answered_by_updates)


# --- other requests ---


def _declares(run: ClientRun) -> bool:
    """Return True if the client declares the extension with requests for prompts."""
    key = run.profile.client_capabilities_key or ""
    name = tasks_extension().identifier
    return any(
        is_object(member(one.members, "params", "_meta", key, "extensions", name))
        for one in run.frames()
        if python_name(str(one.members.get("method"))) == "get_prompt"
    )


def a_task_is_no_answer_to_other_requests(run: ClientRun, found: Found) -> None:
    if not _declares(run):
        raise NotTested("the client declares no tasks, or asked for no prompt")
    for one in run.frames():
        if member(one.members, "params", "taskId") == TASK_ID:
            expected = "a task is no answer to a request for a prompt"
            found.broken(expected, "the client asks about the task", *last_events(run), one.event)
            return
    rejects("a task is no answer to a request for a prompt", REFUSES_PROMPTS)(run, found)


@scenario("tasks-extension:client:elsewhere", a_task_is_no_answer_to_other_requests)
class PromptsAsTasks(StagedServer):
    """Answers requests for prompts with tasks."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        """Return the answer with a task."""
        if "messages" in result:
            at = datetime.now(UTC).isoformat()
            task = {"taskId": TASK_ID, "status": "working", "ttlMs": 60_000, "pollIntervalMs": 10}
            result = {"resultType": "task", "createdAt": at, "lastUpdatedAt": at, **task}
        return super().result_frame(call, result)
