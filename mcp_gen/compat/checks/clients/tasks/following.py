"""Checks of clients that follow tasks: how often they ask, what they answer, lists of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import member
from mcp_gen.compat.method_names import method_of
from mcp_gen.compat.views.conversation import conversation, id_key, is_answer, is_request
from mcp_gen.compat.views.task_lives import interval_ms, task_lives
from mcp_gen.compat.views.task_traffic import exchanges, questions
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript

__all__ = ["QUESTIONS"]

QUESTIONS = ("elicit", "create_message", "list_roots")
"""Questions of a server, by Python name."""
FEW_STATES = "the client asked for the state of no task three times"


def states_are_not_asked_for_too_often(transcript: Transcript, found: Found) -> None:
    """Report three requests for the state of a task within the time between two of them.

    Two may be closer: a client may ask at once after an event, such as an answer to a question.
    """
    asked = exchanges(transcript, "get_task")
    for life in task_lives(transcript):
        states = [one for one in asked if one.task == life.id]
        for first, second, third in zip(states, states[1:], states[2:], strict=False):
            said = [interval_ms(one.result) for one in (first, second)]
            wait_ms = min((one for one in said if one is not None), default=None)
            if wait_ms is None:
                continue
            found.saw()
            took_ms = (third.asked.at_s - first.asked.at_s) * 1000
            if took_ms < wait_ms:
                expected = f"the state is asked for every {wait_ms} ms, as it says itself"
                events = (first.asked, second.asked, third.asked)
                found.broken(expected, "it was asked for three times in less", *events)


rule("tasks:client:interval", unseen=FEW_STATES)(states_are_not_asked_for_too_often)
rule("tasks-extension:client:interval", unseen=FEW_STATES)(states_are_not_asked_for_too_often)


@rule("tasks:client:related", unseen="the client answered no question of a task")
def answers_to_questions_of_tasks_name_the_task(transcript: Transcript, found: Found) -> None:
    key = profile_of(transcript.revision).related_task_key or ""
    for one in questions(transcript, *QUESTIONS):
        task = member(one.request, "params", "_meta", key, "taskId")
        result = one.answered and member(one.answered.message, "result")
        # An error has no place for metadata.
        if task is None or one.answered is None or result is None:
            continue
        found.saw()
        named = member(result, "_meta", key, "taskId")
        if named != task:
            expected = "the answer to a question of a task names the task"
            came = f"`_meta` names {id_key(named)} instead of {id_key(task)}"
            found.broken(expected, came, one.event, one.answered, where="$.result._meta")


@rule("tasks:client:cursors", unseen="the client asked for no second page of tasks")
def cursors_of_tasks_go_back_as_they_came(transcript: Transcript, found: Found) -> None:
    name = method_of(profile_of(transcript.revision), "list_tasks").name
    open_ones: set[str] = set()
    given: set[str] = set()
    for event, frame in conversation(transcript):
        if event.sender == "client" and is_request(frame) and frame["method"] == name:
            open_ones.add(id_key(frame["id"]))
            cursor = member(frame, "params", "cursor")
            if cursor is None:
                continue
            found.saw()
            if id_key(cursor) not in given:
                expected = "a cursor is one that the server has given for the list of tasks"
                came = f"it never gave {id_key(cursor)}"
                found.broken(expected, came, event, where="$.params.cursor")
        elif event.sender == "server" and is_answer(frame) and id_key(frame.get("id")) in open_ones:
            given.add(id_key(member(frame, "result", "nextCursor")))
