"""Checks of the metadata that names a task, and of questions of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.reference.task_client import TaskClient
from mcp_gen.compat.views.task_traffic import (
    TaskQuestion,
    ToldState,
    created_tasks,
    exchanges,
    news,
    questions,
    states_by_task,
    tasks_known,
)
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.transcript import Transcript

ASKING = ("elicit", "create_message")
"""Questions of tools, by Python name; a server can ask for roots whenever it likes."""
NO_QUESTION = "no task asked its client"


def related_task(transcript: Transcript, part: Any) -> Any:
    """Return the task that the metadata of params or a result names; None for none."""
    key = profile_of(transcript.revision).related_task_key or ""
    return member(part, "_meta", key, "taskId")


@rule("tasks:related", unseen="no result of a task and no progress of one was told")
def results_and_progress_name_the_task(transcript: Transcript, found: Found) -> None:
    expected = "every message that belongs to a task names it in its metadata"
    known = tasks_known(transcript)
    for one in exchanges(transcript, "get_task_payload"):
        if one.result is not None and one.task in known:
            found.saw()
            named = related_task(transcript, one.result)
            if named != one.task:
                came = f"the result of {one.task!r} names {named!r}"
                found.broken(expected, came, *one.events, where="$.result._meta")
    key = profile_of(transcript.revision).progress_token_key
    tokens = {
        str(one.meta[key]): state["taskId"]
        for one, state in created_tasks(transcript)
        if key in one.meta
    }
    for event, frame in transcript.frames("server"):
        if python_name(str(frame.get("method"))) != "progress":
            continue
        id = tokens.get(str(member(frame, "params", "progressToken")))
        if id is not None:
            found.saw()
            named = related_task(transcript, frame.get("params"))
            if named != id:
                came = f"progress of {id!r} names {named!r}"
                found.broken(expected, came, event, where="$.params._meta")


@rule("tasks:related:absent", unseen="no state of a task was told")
def states_repeat_no_id_in_their_metadata(transcript: Transcript, found: Found) -> None:
    expected = "a message with the state of a task has no metadata that names the task"
    for one in exchanges(transcript, "get_task", "list_tasks", "cancel_task"):
        if one.result is not None:
            found.saw()
            named = related_task(transcript, one.result)
            if named is not None:
                found.broken(expected, f"it names {named!r}", one.event, where="$.result._meta")
    for event, params in news(transcript):
        found.saw()
        named = related_task(transcript, params)
        if named is not None:
            found.broken(expected, f"it names {named!r}", event, where="$.params._meta")


@rule("tasks:input:related", unseen=NO_QUESTION)
def questions_of_tasks_name_them(transcript: Transcript, found: Found) -> None:
    expected = "a question of a task names the task in its metadata"
    known = tasks_known(transcript)
    for question in questions(transcript, *ASKING):
        named = related_task(transcript, question.request.get("params"))
        if named is not None:
            found.saw()
            if named not in known:
                came = f"it names {named!r}, which is no task"
                found.broken(expected, came, question.event, where="$.params._meta")
            continue
        for state in states_while_open(transcript, question):
            if state.status == "input_required" and not is_other_work_open(transcript, question):
                came = f"it names none, while {state.state.get('taskId')!r} waits for an answer"
                found.broken(expected, came, question.event, where="$.params._meta")
                break


@rule("tasks:input:status", unseen="no task was asked for its state while its question was open")
def a_task_that_asks_says_so(transcript: Transcript, found: Found) -> None:
    for question in questions(transcript, *ASKING):
        named = related_task(transcript, question.request.get("params"))
        for state in states_while_open(transcript, question):
            if state.state.get("taskId") != named:
                continue
            found.saw()
            if state.status == "working":
                expected = "a task whose question is open has the status `input_required`"
                came = f"it has {state.status!r}"
                where = "$.result.status"
                found.broken(expected, came, question.event, state.event, where=where)


def states_while_open(transcript: Transcript, question: TaskQuestion) -> Iterator[ToldState]:
    """Yield the states that were asked for, and told, while a question was open."""
    for states in states_by_task(transcript).values():
        for one in states:
            is_before = question.answered is None or one.event.number < question.answered.number
            if one.by == "get" and one.begun > question.event.number and is_before:
                yield one


def is_other_work_open(transcript: Transcript, question: TaskQuestion) -> bool:
    """Return True if the question can belong to a request that is no request about a task."""
    about_tasks = ("get_task", "get_task_payload", "list_tasks", "cancel_task")
    return any(
        one.asked.number < question.event.number < one.event.number
        for one in exchanges(transcript)
        if one.name not in about_tasks
    )


@probe("tasks:related:params")
async def requests_are_about_the_task_of_their_params(trial: ServerTrial) -> None:
    client = await trial.having("tasks")
    known = tasks_known(client.transcript)
    if len(known) < 2:
        raise NotTested("fewer than two calls became tasks: name them with --call")
    key = client.profile.related_task_key or ""
    tasks = TaskClient(client)
    for id, other in (known[:2], known[1::-1]):
        if (await tasks.get(id)).result is None:
            continue
        reply = trial.answered(await tasks.get(id, meta={key: {"taskId": other}}))
        trial.saw()
        told: Json = reply.result or {}
        if told.get("taskId") != id:
            expected = "a request is about the task of its params, whatever its metadata says"
            came = (
                f"params named {id!r}, metadata {other!r}, the answer is of {told.get('taskId')!r}"
            )
            trial.broken(expected, came, *reply.events, where="$.result.taskId")
    if not trial.has_seen:
        raise NotTested("the tasks are kept no longer")
