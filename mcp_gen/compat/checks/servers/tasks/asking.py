"""Checks of servers that make tasks of their questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import member
from mcp_gen.compat.views.task_lives import declared_by_client
from mcp_gen.compat.views.task_traffic import TASKS_OF_QUESTIONS, exchanges, questions

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript


@rule("tasks:asking:declared", unseen="the server asked nothing that a task can be made of")
def only_clients_that_take_tasks_are_asked_for_them(transcript: Transcript, found: Found) -> None:
    declared = member(declared_by_client(transcript), "tasks", "requests")
    for name, path in TASKS_OF_QUESTIONS.items():
        for question in questions(transcript, name):
            found.saw()
            if member(question.request, "params", "task") is None:
                continue
            if member(declared, *path) is None:
                expected = "a question is to be a task only of clients that declare it"
                came = f"the client has not declared `tasks.requests.{'.'.join(path)}`"
                found.broken(expected, came, question.event, where="$.params.task")


@rule("tasks:asking:result", unseen="the server wanted no task of a question")
def the_result_of_a_task_is_the_answer(transcript: Transcript, found: Found) -> None:
    about = questions(transcript, "get_task_payload", "cancel_task")
    for question in questions(transcript, *TASKS_OF_QUESTIONS):
        told = question.answered
        id = told and member(told.message, "result", "task", "taskId")
        if told is None or id is None:
            continue
        begun = question.event.number
        waiting = [
            one
            for one in exchanges(transcript, "call_tool")
            if one.asked.number < begun and one.event.number > told.number
        ]
        asked = [one.event for one in about if member(one.request, "params", "taskId") == id]
        if asked or waiting:
            found.saw()
        for one in waiting:
            if not any(event.number < one.event.number for event in asked):
                expected = "a question that became a task is answered by the result of the task"
                came = "the call ended, and the result was not asked for"
                found.broken(expected, came, question.event, told, one.event)
