"""Checks of clients that make tasks of the questions of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.views.task_lives import declared_by_client
from mcp_gen.compat.views.task_traffic import TASKS_OF_QUESTIONS, questions
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.compat.views.task_traffic import TaskQuestion

NO_TASKS = "the client declares no tasks of questions, or was asked for none"
PROPER = {"elicit": "action", "create_message": "role"}
"""A member that each answer to a question has, by the Python name of the question."""
ABOUT_ONE = ("get_task", "get_task_payload")


def _answer(one: TaskQuestion, part: str) -> Json | None:
    """Return the result or the error that a question was answered with; None for none."""
    found = one.answered and member(one.answered.message, part)
    return found if is_object(found) else None


def _is_to_be_task(one: TaskQuestion) -> bool:
    return is_object(member(one.request, "params", "task"))


def _takes(transcript: Transcript, name: str) -> bool:
    """Return True if the client has declared that it makes tasks of a question."""
    path = ("tasks", "requests", *TASKS_OF_QUESTIONS[name])
    return is_object(member(declared_by_client(transcript), *path))


def _id_in(result: Json | None) -> Any:
    """Return the id of the task that a question was answered with; None for none."""
    return member(result, "task", "taskId")


def _made(transcript: Transcript) -> set[Any]:
    """Return the ids of the tasks that the client has made."""
    asked = questions(transcript, *TASKS_OF_QUESTIONS)
    return {_id_in(_answer(one, "result")) for one in asked} - {None}


@rule("tasks:client:receives:declared", unseen="the client made no task of a question")
def who_makes_tasks_of_questions_says_so(transcript: Transcript, found: Found) -> None:
    for name, path in TASKS_OF_QUESTIONS.items():
        for one in questions(transcript, name):
            if one.answered is None or _id_in(_answer(one, "result")) is None:
                continue
            found.saw()
            if not _takes(transcript, name):
                declared = ".".join(("tasks", "requests", *path))
                expected = f"a client that makes tasks of such questions declares `{declared}`"
                found.broken(expected, "it has not", one.event, one.answered, where="$.result.task")


@rule(
    "tasks:client:receives:ignored",
    unseen="the client makes tasks of questions, or answered none with a result",
)
def who_makes_no_tasks_answers_as_ever(transcript: Transcript, found: Found) -> None:
    for name in TASKS_OF_QUESTIONS:
        if _takes(transcript, name):
            continue
        plain: TaskQuestion | None = None
        for one in questions(transcript, name):
            if not _is_to_be_task(one):
                plain = one if _answer(one, "result") is not None else plain
            elif plain is not None and one.answered is not None:
                found.saw()
                error = _answer(one, "error")
                if error is not None:
                    expected = "a client that makes no tasks passes over that it is to be one"
                    came = f"a plain question had a result, this one has error {error.get('code')}"
                    found.broken(expected, came, plain.event, one.event, one.answered)


@rule("tasks:client:receives:created", unseen=NO_TASKS)
def questions_that_are_to_be_tasks_become_such(transcript: Transcript, found: Found) -> None:
    kinds: dict[Any, str] = {}
    for name in TASKS_OF_QUESTIONS:
        for one in questions(transcript, name):
            result = _answer(one, "result")
            # A client may refuse a question, with an error.
            if not _is_to_be_task(one) or not _takes(transcript, name) or result is None:
                continue
            found.saw()
            id = _id_in(result)
            kinds[id] = name
            if id is None and one.answered is not None:
                expected = "a question that is to be a task is answered with the task"
                found.broken(expected, "it was answered plainly", one.event, one.answered)
    for one in questions(transcript, "get_task_payload"):
        name = kinds.get(member(one.request, "params", "taskId"), "")
        result = _answer(one, "result")
        if name and result is not None and one.answered is not None and PROPER[name] not in result:
            expected = "the result of the task is the answer to the question"
            came = f"it has no `{PROPER[name]}`"
            found.broken(expected, came, one.event, one.answered, where="$.result")


@rule("tasks:client:receives:errors", unseen=NO_TASKS)
def unknown_tasks_of_the_client_are_refused(transcript: Transcript, found: Found) -> None:
    declared = member(declared_by_client(transcript), "tasks")
    if not is_object(declared):
        return
    made, code = _made(transcript), profile_of(transcript.revision).errors.invalid_params
    names = (*ABOUT_ONE, *(("cancel_task",) if is_object(declared.get("cancel")) else ()))
    for one in questions(transcript, *names):
        if one.answered is None or member(one.request, "params", "taskId") in made:
            continue
        found.saw()
        error = _answer(one, "error")
        if member(error, "code") != code:
            came = "a result came" if error is None else f"error {error.get('code')} came"
            expected = f"a task that the client does not know is error {code}"
            found.broken(expected, came, one.event, one.answered)


@rule(
    "tasks:client:receives:cancel",
    unseen="the client declares no `tasks.cancel`, or all its tasks had ended before",
)
def cancelled_tasks_of_the_client_stay_so(transcript: Transcript, found: Found) -> None:
    if not is_object(member(declared_by_client(transcript), "tasks", "cancel")):
        return
    made, gone = _made(transcript), profile_of(transcript.revision).errors.invalid_params
    for cancel in questions(transcript, "cancel_task"):
        id = member(cancel.request, "params", "taskId")
        if cancel.answered is None or id not in made:
            continue
        error = _answer(cancel, "error")
        if error is not None and error.get("code") == gone:
            continue  # It had ended before.
        found.saw()
        states = [
            one
            for one in questions(transcript, "get_task")
            if member(one.request, "params", "taskId") == id
            and one.event.number > cancel.answered.number
        ]
        for one in (cancel, *states):
            error, status = _answer(one, "error"), member(_answer(one, "result"), "status")
            # What was cancelled may be forgotten.
            is_gone = one is not cancel and member(error, "code") == gone
            if one.answered is None or status == "cancelled" or is_gone:
                continue
            came = f"it is {status}" if error is None else f"error {error.get('code')} came"
            expected = "a task that is cancelled is stopped, and stays so"
            found.broken(expected, came, cancel.event, one.event, one.answered)
            break
