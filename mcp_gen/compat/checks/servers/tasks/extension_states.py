"""Checks of the extension of tasks: states, questions, updates and cancellation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.checks.servers.tasks.extension_calls import declares, task_of_call
from mcp_gen.compat.json_values import Json, is_object, member, objects
from mcp_gen.compat.views.task_traffic import (
    TaskExchange,
    ToldState,
    created_tasks,
    exchanges,
    states_by_task,
    tasks_known,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript

OUTCOMES = ("result", "error")
ACKNOWLEDGED = ("resultType", "_meta")
"""Members of a result that says nothing."""


def states_asked_for(transcript: Transcript, status: str) -> Iterator[tuple[TaskExchange, Json]]:
    """Yield the answers to requests for a state that have a status, and the state."""
    for one in exchanges(transcript, "get_task"):
        if one.result is not None and one.result.get("status") == status:
            yield one, one.result


@rule("tasks-extension:get:working", unseen="no task was asked for its state while it worked")
def a_task_that_works_has_no_outcome(transcript: Transcript, found: Found) -> None:
    for one, state in states_asked_for(transcript, "working"):
        found.saw()
        for name in OUTCOMES:
            if name in state:
                expected = "the state of a task that works has no outcome"
                found.broken(expected, f"it has `{name}`", one.event, where=f"$.result.{name}")


@rule("tasks-extension:get:input", unseen="no task asked its client")
def a_task_that_asks_has_its_questions(transcript: Transcript, found: Found) -> None:
    for one, state in states_asked_for(transcript, "input_required"):
        found.saw()
        asked = state.get("inputRequests")
        if not is_object(asked) or not asked:
            expected = "the state of a task that asks has `inputRequests`"
            came = "it has none" if not asked else f"they are {asked!r}"
            found.broken(expected, came, one.event, where="$.result")


@rule("tasks-extension:get:completed", unseen="no task completed")
def a_completed_task_has_its_result(transcript: Transcript, found: Found) -> None:
    for one, state in states_asked_for(transcript, "completed"):
        found.saw()
        result = state.get("result")
        if not is_object(result):
            expected = "the state of a completed task has the `result`"
            came = "it has none" if result is None else f"it is {result!r}"
            found.broken(expected, came, one.event, where="$.result")


@rule("tasks-extension:get:failed", unseen="no task failed")
def a_failed_task_has_its_error(transcript: Transcript, found: Found) -> None:
    for one, state in states_asked_for(transcript, "failed"):
        found.saw()
        error = state.get("error")
        code, message = member(error, "code"), member(error, "message")
        if type(code) is not int or not isinstance(message, str):
            expected = "the state of a failed task has the `error` of JSON-RPC"
            came = "it has none" if error is None else f"it is {error!r}"
            found.broken(expected, came, one.event, where="$.result")


@rule("tasks-extension:get:cancelled", unseen="no state was told after a task was cancelled")
def a_cancelled_task_says_so(transcript: Transcript, found: Found) -> None:
    cancelled: dict[str, ToldState] = {}
    for id, states in states_by_task(transcript).items():
        for one in states:
            first = cancelled.get(id)
            if first is None:
                if one.status == "cancelled":
                    found.saw()
                    cancelled[id] = one
            elif one.begun > first.event.number and one.status != "cancelled":
                came = f"later it is {one.status!r}"
                found.broken("a cancelled task stays so", came, first.event, one.event)
    for wish in exchanges(transcript, "cancel_task"):
        if wish.result is None:
            continue
        for asked in exchanges(transcript, "get_task"):
            later = asked.asked.number > wish.event.number and asked.task == wish.task
            if later and asked.error is not None and declares(transcript, asked):
                expected = "a task that was cancelled can be asked for"
                came = f"error {asked.error.get('code')}"
                found.broken(expected, came, wish.event, *asked.events)
                break


@rule("tasks-extension:failed-only", unseen="no tool told of an error, plainly and as a task")
def errors_of_tools_do_not_make_tasks_fail(transcript: Transcript, found: Found) -> None:
    expected = "a tool that tells of an error has completed"
    for one, state in states_asked_for(transcript, "failed"):
        if member(state, "result", "isError") is True:
            came = "the task failed, and has the result"
            found.broken(expected, came, one.event, where="$.result.result")
    for plain in exchanges(transcript, "call_tool"):
        if member(plain.result, "isError") is not True:
            continue
        texts = [one.get("text") for one in objects(member(plain.result, "content"))]
        for made, begun in created_tasks(transcript):
            if task_of_call(made) != task_of_call(plain):
                continue
            for told in states_by_task(transcript)[str(begun["taskId"])]:
                found.saw()
                said = str(member(told.state, "error", "message"))
                # The same text shows that it is the same error, and no other one of the protocol.
                if told.status == "failed" and any(text and text in said for text in texts):
                    came = f"the task failed with {said!r}"
                    found.broken(
                        expected, came, plain.event, told.event, where=f"{told.where}.status"
                    )


@rule("tasks-extension:keys", unseen="no task asked its client")
def keys_of_questions_are_not_used_again(transcript: Transcript, found: Found) -> None:
    answered = [one for one in exchanges(transcript, "update_task") if one.result is not None]
    for id, states in states_by_task(transcript).items():
        first: dict[str, tuple[Any, ToldState]] = {}
        gone: dict[str, ToldState] = {}
        for one in states:
            asked = one.state.get("inputRequests")
            open_now: Json = asked if is_object(asked) else {}
            for key, question in open_now.items():
                found.saw()
                same, before = first.setdefault(key, (question, one))
                expected = "the key of a question is that of no other question of the task"
                where = f"{one.where}.inputRequests"
                if same != question:
                    came = f"{key!r} was another question"
                    found.broken(expected, came, before.event, one.event, where=where)
                elif key in gone and one.begun > gone[key].event.number:
                    came = f"{key!r} was answered, and is asked again"
                    found.broken(expected, came, gone[key].event, one.event, where=where)
            for key in first.keys() - open_now.keys():
                if any(key in given(update) and update.task == id for update in answered):
                    gone.setdefault(key, one)


def given(update: TaskExchange) -> Json:
    """Return the answers that an update brings, by key."""
    found = update.params.get("inputResponses")
    return found if is_object(found) else {}


@rule("tasks-extension:update:empty", unseen="no task was updated")
def updates_are_acknowledged(transcript: Transcript, found: Found) -> None:
    judge_acknowledged(transcript, found, "update_task")


@rule("tasks-extension:cancel:empty", unseen="no task was cancelled")
def cancellations_are_acknowledged(transcript: Transcript, found: Found) -> None:
    judge_acknowledged(transcript, found, "cancel_task")


def judge_acknowledged(transcript: Transcript, found: Found, name: str) -> None:
    """Report answers to a request that say more than that it came."""
    known = tasks_known(transcript)
    for one in exchanges(transcript, name):
        if one.result is None or one.task not in known:
            continue
        found.saw()
        for key in one.result.keys() - set(ACKNOWLEDGED):
            expected = "the answer is an empty result"
            found.broken(expected, f"it has `{key}`", *one.events, where=f"$.result.{key}")


@rule("tasks-extension:update:stale", unseen="no task was sent an answer to nothing that is open")
def answers_to_nothing_are_passed_over(transcript: Transcript, found: Found) -> None:
    known = tasks_known(transcript)
    for one in exchanges(transcript, "update_task"):
        if one.task not in known or not declares(transcript, one) or not given(one):
            continue
        before = [
            state
            for state in states_by_task(transcript)[str(one.task)]
            if state.event.number < one.asked.number
        ]
        asked = {key for state in before for key in state.state.get("inputRequests") or ()}
        if given(one).keys() & asked or (before and before[-1].has_ended):
            continue
        found.saw()
        if one.error is not None:
            expected = "answers to nothing that is open are passed over"
            found.broken(expected, f"error {one.error.get('code')}", *one.events)
