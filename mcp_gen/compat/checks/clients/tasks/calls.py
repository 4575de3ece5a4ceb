"""Checks of clients: calls that are tasks, and how tasks are cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import Json, is_object, member, objects
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.views.conversation import conversation, id_key, is_request
from mcp_gen.compat.views.task_traffic import exchanges, listed_tools, server_declared
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript, WireEvent

ABOUT_TASKS = ("get_task", "get_task_payload", "cancel_task")


def _calls(transcript: Transcript) -> list[tuple[WireEvent, Json]]:
    """Return the calls of tools: event, request."""
    return [
        (event, frame)
        for event, frame in conversation(transcript)
        if event.sender == "client"
        and is_request(frame)
        and python_name(str(frame["method"])) == "call_tool"
    ]


def _is_task(frame: Json) -> bool:
    return is_object(member(frame, "params", "task"))


def _takes_tasks(transcript: Transcript) -> bool:
    return is_object(member(server_declared(transcript), "tasks", "requests", "tools", "call"))


@rule("tasks:client:declared-only", unseen="every server of this run takes tasks, or none was used")
def tasks_are_for_servers_that_take_them(transcript: Transcript, found: Found) -> None:
    if _takes_tasks(transcript):
        return
    for event, frame in _calls(transcript):
        found.saw()
        if _is_task(frame):
            expected = "calls are tasks only where the server has declared that it takes such"
            found.broken(expected, "it has not", event, where="$.params.task")


@rule("tasks:client:forbidden", unseen="the client called no tool that takes no tasks")
def tools_without_tasks_are_called_plainly(transcript: Transcript, found: Found) -> None:
    if not _takes_tasks(transcript):
        return
    tools = listed_tools(transcript)
    for event, frame in _calls(transcript):
        tool: Any = tools.get(str(member(frame, "params", "name")))
        if tool is None or (member(tool, "execution", "taskSupport") or "forbidden") != "forbidden":
            continue
        found.saw()
        if _is_task(frame):
            expected = "a tool that does not say that it takes tasks is called plainly"
            found.broken(expected, "it was called as a task", event, where="$.params.task")


@rule(
    "tasks:client:required",
    unseen="the client makes no tasks of calls, or called no tool that is only ever one",
)
def tools_that_are_only_ever_tasks_are_called_as_such(transcript: Transcript, found: Found) -> None:
    calls = _calls(transcript)
    # Who knows no tasks calls every tool plainly, and is told by the error what is lacking.
    if not _takes_tasks(transcript) or not any(_is_task(frame) for _, frame in calls):
        return
    for event, frame in calls:
        if _support_at(transcript, event, str(member(frame, "params", "name"))) != "required":
            continue
        found.saw()
        if not _is_task(frame):
            expected = "a tool that says that it is only ever a task is called as one"
            found.broken(expected, "it was called plainly", event, where="$.params")


def _support_at(transcript: Transcript, event: WireEvent, name: str) -> Any:
    """Return what a tool had said of tasks when it was called; None if it had not been listed."""
    said: Any = None
    for one in exchanges(transcript, "list_tools"):
        if one.event.number > event.number:
            break
        for tool in objects(member(one.result, "tools")):
            if tool.get("name") == name:
                said = member(tool, "execution", "taskSupport") or "forbidden"
    return said


@rule("tasks:client:related-absent", unseen="the client made no request about a task")
def requests_about_tasks_name_them_once(transcript: Transcript, found: Found) -> None:
    key = profile_of(transcript.revision).related_task_key or ""
    for one in exchanges(transcript, *ABOUT_TASKS):
        found.saw()
        if key in one.meta:
            expected = "a request about a task names it in its params alone"
            found.broken(expected, f"`_meta` has `{key}`", one.asked, where="$.params._meta")


@rule("tasks:client:cancels", unseen="the client cancelled no task")
def tasks_are_cancelled_by_their_own_request(transcript: Transcript, found: Found) -> None:
    if exchanges(transcript, "cancel_task"):
        found.saw()
    cancelled = profile_of(transcript.revision).cancelled
    made = {id_key(frame["id"]): event for event, frame in _calls(transcript) if _is_task(frame)}
    for event, frame in conversation(transcript):
        id = id_key(member(frame, "params", "requestId"))
        if event.sender != "client" or not cancelled or frame.get("method") != cancelled.name:
            continue
        if id in made:
            expected = "a task is cancelled by its own request"
            found.broken(expected, "a notification for requests came", made[id], event)
