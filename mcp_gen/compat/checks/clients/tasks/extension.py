"""Checks of clients that know the extension of tasks: answers, and how tasks are cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.views.conversation import conversation, id_key
from mcp_gen.compat.views.task_lives import task_lives
from mcp_gen.compat.views.task_traffic import exchanges
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript, WireFrame
    from mcp_gen.compat.views.task_lives import TaskLife


@rule("tasks-extension:client:keys", unseen="the client answered no question of a task")
def only_open_questions_of_tasks_are_answered(transcript: Transcript, found: Found) -> None:
    for life in task_lives(transcript):
        acknowledged = {
            id_key(one.request["id"]): one.event.number
            for one in exchanges(transcript, "update_task")
            if one.result is not None
        }
        answered: dict[str, int] = {}
        for update in life.requests("update_task"):
            for key in _responses(update):
                found.saw()
                wrong = _wrong(life, update, key, answered)
                if wrong:
                    expected = "only questions of a task that are open are answered"
                    where = "$.params.inputResponses"
                    found.broken(expected, wrong, life.told[-1].event, update.event, where=where)
            number = acknowledged.get(id_key(update.members["id"]))
            if number is not None:
                answered.update(dict.fromkeys(_responses(update), number))


def _wrong(life: TaskLife, update: WireFrame, key: str, answered: dict[str, int]) -> str:
    """Return what is wrong with the answer to a question; empty if nothing is."""
    told = [one for one in life.told if one.event.number < update.event.number]
    if not any(key in _questions(one.state) for one in told):
        return f"the task has asked nothing with the key {key!r}"
    since = answered.get(key)
    # An answer may be sent again, as long as the task still asks for it.
    if since is None or since > update.event.number:
        return ""
    again = any(key in _questions(one.state) for one in told if one.begun > since)
    return "" if again else f"the question {key!r} was answered before"


def _responses(update: WireFrame) -> Json:
    return _object(member(update.members, "params", "inputResponses"))


def _questions(state: Json) -> Json:
    return _object(state.get("inputRequests"))


def _object(value: Any) -> Json:
    return value if is_object(value) else {}


@rule("tasks-extension:client:cancels", unseen="the client cancelled no task")
def tasks_are_cancelled_by_a_request(transcript: Transcript, found: Found) -> None:
    cancelled = profile_of(transcript.revision).cancelled
    lives = {id_key(life.call.request["id"]): life for life in task_lives(transcript)}
    if any(life.requests("cancel_task") for life in lives.values()):
        found.saw()
    for event, frame in conversation(transcript):
        if event.sender != "client" or not cancelled or frame.get("method") != cancelled.name:
            continue
        life = lives.get(id_key(member(frame, "params", "requestId")))
        # Before it has heard of the task, a client may cancel its call.
        if life is not None and any(one.event.number < event.number for one in life.asked):
            expected = "a task is cancelled by its own request"
            found.broken(expected, "a notification for requests came", life.call.event, event)
