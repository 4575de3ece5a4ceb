"""Checks of the extension of tasks: which calls become tasks, and which requests are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.tasks.offers import UNKNOWN
from mcp_gen.compat.checks.servers.tasks.states import NO_TASK, judge_ids
from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.known_extensions import tasks_extension
from mcp_gen.compat.method_names import wire_names
from mcp_gen.compat.reference.task_client import TaskClient, state_in
from mcp_gen.compat.views.task_traffic import (
    TaskExchange,
    created_tasks,
    exchanges,
    server_declared,
    states_by_task,
    tasks_known,
)
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import Transcript

ABOUT_TASKS = ("get_task", "update_task", "cancel_task")
DECLARES = "a client that has not declared the extension"


def declares(transcript: Transcript, one: TaskExchange) -> bool:
    """Return True if a request declares the extension."""
    key = profile_of(transcript.revision).client_capabilities_key or ""
    return is_object(member(one.meta, key, "extensions", tasks_extension().identifier))


def names_extension(error: Json | None) -> bool:
    """Return True if an error names the extension as the capability that is missing."""
    needed = member(error, "data", "requiredCapabilities", "extensions")
    return is_object(needed) and tasks_extension().identifier in needed


async def having_tasks(trial: ServerTrial) -> TaskClient:
    """Return the tasks of the shared client, if the server has declared the extension.

    Raises:
        NotTested: it has not.
    """
    client = await trial.main()
    identifier = tasks_extension().identifier
    if not is_object(member(client.server_capabilities, "extensions", identifier)):
        raise NotTested(f"the server does not declare `{identifier}`")
    return TaskClient(client)


@rule("tasks-extension:declared-only", unseen=f"no tool was called by {DECLARES}")
def only_clients_that_know_tasks_get_them(transcript: Transcript, found: Found) -> None:
    if not is_object(
        member(server_declared(transcript), "extensions", tasks_extension().identifier)
    ):
        return
    for one in exchanges(transcript, "call_tool"):
        if declares(transcript, one):
            continue
        found.saw()
        if state_in(one.result) is not None:
            expected = f"{DECLARES} gets no task"
            found.broken(expected, "the answer is a task", *one.events, where="$.result")


@rule(
    "tasks-extension:required", unseen=f"no tool that is only ever a task was called by {DECLARES}"
)
def tools_that_are_tasks_refuse_clients_that_know_none(
    transcript: Transcript, found: Found
) -> None:
    code = profile_of(transcript.revision).errors.missing_required_client_capability
    taken = [task_of_call(one) for one, _ in created_tasks(transcript) if declares(transcript, one)]
    for one in exchanges(transcript, "call_tool"):
        refused = one.error is not None and not declares(transcript, one)
        if (
            not refused
            or task_of_call(one) not in taken
            or not is_only_ever_a_task(transcript, one)
        ):
            continue
        found.saw()
        expected = f"the call is refused with error {code}, which names the extension"
        if member(one.error, "code") != code or not names_extension(one.error):
            found.broken(expected, str(one.error), *one.events, where="$.error")


def is_only_ever_a_task(transcript: Transcript, refused: TaskExchange) -> bool:
    """Return True if the same call, with the extension, became a task that got on well."""
    states = states_by_task(transcript)
    return any(
        told.status in ("completed", "input_required")
        for one, state in created_tasks(transcript)
        if task_of_call(one) == task_of_call(refused)
        for told in states[str(state["taskId"])]
    )


def task_of_call(one: TaskExchange) -> tuple[Any, Any]:
    """Return the tool and the arguments of a call."""
    return one.params.get("name"), one.params.get("arguments")


@probe("tasks-extension:methods")
async def clients_that_know_no_tasks_cannot_ask_for_them(trial: ServerTrial) -> None:
    tasks = await having_tasks(trial)
    code = trial.profile.errors.missing_required_client_capability
    id = (tasks_known(tasks.client.transcript) or [UNKNOWN])[-1]
    for name in ABOUT_TASKS:
        answers: Json = {"inputResponses": {}} if name == "update_task" else {}
        reply = trial.answered(await tasks.client.ask(name, {"taskId": id, **answers}))
        if reply.code != code or not names_extension(reply.error):
            came = "a result" if reply.error is None else f"{reply.error}"
            expected = f"{DECLARES} is refused with error {code}, which names the extension"
            trial.broken(expected, came, *reply.events, where="$.error")


@probe("tasks-extension:unknown")
async def unknown_tasks_are_errors_of_the_params(trial: ServerTrial) -> None:
    tasks = await having_tasks(trial)
    code = trial.profile.errors.invalid_params
    reply = trial.answered(await tasks.get(UNKNOWN))
    if reply.code != code:
        came = "a result" if reply.error is None else f"error {reply.code}"
        expected = f"a task that the server does not know is error {code}"
        trial.broken(expected, came, *reply.events)


@probe("tasks-extension:legacy")
async def tasks_of_the_protocol_are_gone(trial: ServerTrial) -> None:
    client = await trial.main()
    if "tasks" in client.server_capabilities and client.opening is not None:
        where = "$.result.capabilities.tasks"
        expected = "tasks are an extension, and no capability of the protocol"
        trial.broken(expected, "`tasks` is declared", *client.opening.events, where=where)
    id = (tasks_known(client.transcript) or [UNKNOWN])[-1]
    extension = tasks_extension().identifier
    has_extension = is_object(member(client.server_capabilities, "extensions", extension))
    meta = TaskClient(client).meta if has_extension else {}
    for name, params in (("get_task_payload", {"taskId": id}), ("list_tasks", {})):
        (method,) = wire_names(name)
        frame = client.request_frame(method, params, meta=meta)
        reply = trial.answered(await client.ask_frame(frame))
        if reply.code != trial.profile.errors.method_not_found:
            came = "a result" if reply.error is None else f"error {reply.code}"
            expected = f"{method!r} is no method any more"
            trial.broken(expected, came, *reply.events, where="$.result")
    await wish_is_passed_over(trial, client)


async def wish_is_passed_over(trial: ServerTrial, client: ReferenceClient) -> None:
    """Call a tool that had a result once more, with the wish of the protocol for a task."""
    for plain in exchanges(client.transcript, "call_tool"):
        if plain.result is None or state_in(plain.result) or "content" not in plain.result:
            continue
        if declares(client.transcript, plain):
            continue
        params = {key: value for key, value in plain.params.items() if key != "_meta"}
        reply = await client.ask("call_tool", {**params, "task": {"ttl": 60_000}})
        if state_in(reply.result) is not None or reply.error is not None:
            expected = "the wish for a task of the protocol is passed over"
            came = "a task" if reply.error is None else f"error {reply.code}"
            trial.broken(expected, came, plain.event, *reply.events, where="$.result")
        return


@rule("tasks-extension:ids", unseen=NO_TASK)
def ids_of_tasks_cannot_be_guessed(transcript: Transcript, found: Found) -> None:
    judge_ids(transcript, found)


@rule("tasks-extension:result-type", unseen="no request was answered with a task or about one")
def results_say_their_type(transcript: Transcript, found: Found) -> None:
    for one in exchanges(transcript):
        if one.result is None:
            continue
        said = one.result.get("resultType")
        is_new = one.name == "call_tool" and state_in(one.result) is not None
        if is_new or one.name in ABOUT_TASKS:
            found.saw()
            wanted = "task" if is_new else "complete"
            if said != wanted:
                expected = f"the result has the `resultType` `{wanted}`"
                found.broken(expected, f"it has {said!r}", *one.events, where="$.result")
        elif said == "task":
            found.saw()
            expected = "a result that is no new task has another `resultType` than `task`"
            found.broken(expected, "it has `task`", *one.events, where="$.result")


@rule("tasks-extension:durable", unseen=NO_TASK)
def a_new_task_can_be_asked_for(transcript: Transcript, found: Found) -> None:
    for made, state in created_tasks(transcript):
        for one in exchanges(transcript, "get_task", "cancel_task"):
            if one.task != state["taskId"] or not declares(transcript, one):
                continue
            if one.name == "get_task":
                found.saw()
                if one.error is not None:
                    expected = "a task that the client has heard of can be asked for"
                    came = f"error {one.error.get('code')}"
                    found.broken(expected, came, made.event, *one.events)
            break


@rule("tasks-extension:rounds-first", unseen="no call asked in rounds before it became a task")
def rounds_end_before_the_task(transcript: Transcript, found: Found) -> None:
    rounds = [one for one in exchanges(transcript, "call_tool") if "inputResponses" in one.params]
    for one in rounds:
        if state_in(one.result) is not None:
            found.saw()
    for one in exchanges(transcript, "get_task"):
        inner = member(one.result, "result")
        if is_object(inner) and inner.get("resultType") == "input_required":
            expected = "a tool that asks in rounds does so before it becomes a task"
            came = "the result of the task asks for input"
            found.broken(expected, came, *one.events, where="$.result.result")
