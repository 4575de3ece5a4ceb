"""Checks of the results of tasks of the protocol, of their cancellation, and of their progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.views.task_traffic import (
    TaskExchange,
    ToldState,
    created_tasks,
    exchanges,
    states_by_task,
    tasks_known,
)
from mcp_gen.core.projection.closed import violations
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript

NO_RESULT = "no result of a task was asked for"


@rule("tasks:result:same", unseen=NO_RESULT)
def the_result_of_a_task_is_that_of_its_call(transcript: Transcript, found: Found) -> None:
    told: dict[str, TaskExchange] = {}
    for one in results(transcript):
        end = end_before(transcript, one)
        if one.result is not None:
            found.saw()
            for wrong in wrong_results(transcript.revision, one.result):
                expected = "the result of a task is the result of its call"
                found.broken(expected, wrong, *one.events, where="$.result")
        elif end is not None and end.status == "completed":
            expected = "the result of a completed task is no error"
            found.broken(expected, said(one), end.event, *one.events, where="$.error")
        first = told.setdefault(str(one.task), one) if end is not None or one.result else one
        if outcome(first) != outcome(one):
            expected = "a task that has ended has one result"
            found.broken(expected, "it was another one before", first.event, *one.events)


def wrong_results(revision: str, result: Json) -> list[str]:
    """Return the reasons why a result is none of a call of a tool."""
    call_tool = profile_of(revision).call_tool
    assert call_tool is not None
    data = msgspec.json.encode(result)
    return [str(one) for one in violations(call_tool.results[0], data, revision, "$.result")]


def outcome(one: TaskExchange) -> tuple[Any, Any]:
    """Return what an answer tells, without its metadata."""
    result = one.result and {key: value for key, value in one.result.items() if key != "_meta"}
    return result, one.error


@rule("tasks:result:waits", unseen="no task was asked for its result before its end")
def the_result_is_waited_for(transcript: Transcript, found: Found) -> None:
    states = states_by_task(transcript)
    for one in results(transcript):
        if end_before(transcript, one, asked=True) is None:
            found.saw()
        for state in states.get(str(one.task), ()):
            if state.begun > one.event.number and not state.has_ended:
                expected = "the result of a task comes when it has ended"
                came = f"after the answer it was {state.status!r}"
                found.broken(expected, came, state.event, *one.events)
                break


def results(transcript: Transcript) -> list[TaskExchange]:
    """Return the requests for results of tasks that were made here."""
    known = tasks_known(transcript)
    return [one for one in exchanges(transcript, "get_task_payload") if one.task in known]


def end_before(
    transcript: Transcript, one: TaskExchange, *, asked: bool = False
) -> ToldState | None:
    """Return the end of a task, if it was told before an answer, or before its request."""
    before = one.asked.number if asked else one.event.number
    for state in states_by_task(transcript).get(str(one.task), ()):
        if state.has_ended and state.event.number < before:
            return state
    return None


@rule("tasks:cancel:stops", unseen="no task was cancelled")
def a_cancelled_task_is_stopped_before_the_answer(transcript: Transcript, found: Found) -> None:
    states = states_by_task(transcript)
    for one in exchanges(transcript, "cancel_task"):
        if one.result is None or end_before(transcript, one, asked=True) is not None:
            continue
        found.saw()
        expected = "a task is `cancelled` before the request is answered"
        status = one.result.get("status")
        if status != "cancelled":
            came = f"the answer has the status {status!r}"
            found.broken(expected, came, *one.events, where="$.result.status")
            continue
        for state in states.get(str(one.task), ()):
            if state.begun > one.event.number:
                if not state.has_ended:
                    came = f"after it the status is {state.status!r}"
                    found.broken(expected, came, one.event, state.event)
                break


@rule("tasks:cancel:ended", unseen="no task was cancelled after its end")
def a_task_that_has_ended_cannot_be_cancelled(transcript: Transcript, found: Found) -> None:
    code = profile_of(transcript.revision).errors.invalid_params
    for one in exchanges(transcript, "cancel_task"):
        end = end_before(transcript, one, asked=True)
        if end is None or member(one.error, "code") == method_not_found(transcript):
            continue
        found.saw()
        if member(one.error, "code") != code:
            expected = f"a task that has ended is not cancelled: error {code}"
            found.broken(expected, said(one), end.event, *one.events)


def method_not_found(transcript: Transcript) -> int:
    """Return the code of the error for unknown methods."""
    return profile_of(transcript.revision).errors.method_not_found


def said(one: TaskExchange) -> str:
    """Return an answer in words."""
    if one.error is not None:
        return f"error {one.error.get('code')} {one.error.get('message')!r}"
    return "a result"


@rule("tasks:progress", unseen="no task with a progress token made progress")
def progress_of_a_task_ends_with_it(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    tokens = {
        str(one.meta.get(profile.progress_token_key)): str(state["taskId"])
        for one, state in created_tasks(transcript)
        if profile.progress_token_key in one.meta
    }
    states = states_by_task(transcript)
    for event, frame in transcript.frames("server"):
        if python_name(str(frame.get("method"))) != "progress" or not is_object(
            frame.get("params")
        ):
            continue
        id = tokens.get(str(frame["params"].get("progressToken")))
        if id is None:
            continue
        found.saw()
        for state in states.get(id, ()):
            # Over HTTP two messages on two streams can come in another order than they were sent.
            in_order = transcript.transport != "http" or state.event.exchange == event.exchange
            if state.has_ended and state.event.number < event.number and in_order:
                expected = "there is no progress of a task that has ended"
                came = f"it was {state.status} before"
                found.broken(expected, came, state.event, event)
                break
