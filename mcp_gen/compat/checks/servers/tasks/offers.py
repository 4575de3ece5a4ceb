"""Checks that a server takes tasks where it has said so, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.reference.task_client import TaskClient, state_in
from mcp_gen.compat.views.task_traffic import exchanges, listed_tools, server_declared
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial, ToolCall
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import Transcript, WireEvent

CALLS = ("tasks", "requests", "tools", "call")
"""Path of the capability to make tasks of calls of tools."""
UNKNOWN = "00000000-0000-4000-8000-000000000000"
"""An id that no server gives."""


def support(tool: Json | None) -> str:
    """Return `required`, `optional` or `forbidden`."""
    said = member(tool, "execution", "taskSupport")
    return said if isinstance(said, str) else "forbidden"


@probe("tasks:declared")
async def a_server_that_takes_tasks_declares_them(trial: ServerTrial) -> None:
    client = await trial.main()
    declared, errors = client.server_capabilities, trial.profile.errors
    takes = is_object(member(declared, *CALLS))
    has_tasks = is_object(declared.get("tasks"))
    for name, tool in listed_tools(client.transcript).items():
        if support(tool) != "forbidden" and not takes:
            has_tasks = True
            expected = "a server whose tools take tasks declares `tasks.requests.tools.call`"
            trial.broken(expected, f"it does not, and {name!r} takes them", *opening(client))
    unknown: Json = {"taskId": UNKNOWN}
    for method, capability, params in (
        ("list_tasks", "list", {}),
        ("cancel_task", "cancel", unknown),
    ):
        reply = trial.answered(await client.ask(method, params))
        is_declared = is_object(member(declared, "tasks", capability))
        if is_declared and reply.code == errors.method_not_found:
            expected = f"a server that declares `tasks.{capability}` has the method"
            trial.broken(expected, "the method is not found", *reply.events)
        elif not is_declared and reply.result is not None:
            has_tasks = True
            expected = f"a server with this method declares `tasks.{capability}`"
            trial.broken(expected, "it does not, and answers with a result", *reply.events)
    if not has_tasks:
        raise NotTested("the server takes no tasks")


def opening(client: ReferenceClient) -> tuple[WireEvent, ...]:
    """Return the handshake, as evidence."""
    return client.opening.events if client.opening else ()


@probe("tasks:ignored")
async def the_wish_for_a_task_is_passed_over(trial: ServerTrial) -> None:
    client = await trial.main()
    if is_object(member(client.server_capabilities, *CALLS)):
        raise NotTested("the server makes tasks of calls")
    for plain in exchanges(client.transcript, "call_tool"):
        if plain.result is None or "task" in plain.params or state_in(plain.result):
            continue
        name, arguments = plain.params.get("name"), plain.params.get("arguments")
        reply = trial.answered(
            await TaskClient(client).call(str(name), arguments if is_object(arguments) else {})
        )
        expected = "a server that makes no tasks of calls answers as if none was wanted"
        if state_in(reply.result) is not None:
            trial.broken(expected, "the answer is a task", *reply.events, where="$.result")
        elif reply.error is not None:
            came = f"the plain call had a result, this one has error {reply.code}"
            trial.broken(expected, came, plain.event, *reply.events)
        return
    raise NotTested("no call of a tool had a result: name one with --call")


@probe("tasks:tools:forbidden")
async def a_tool_that_takes_no_tasks_refuses_to_be_one(trial: ServerTrial) -> None:
    client = await trial.having("tasks.requests.tools.call")
    tools = listed_tools(client.transcript)
    call = first_call(trial, tools, ("forbidden",))
    reply = trial.answered(await TaskClient(client).call(call.name, call.arguments))
    code = trial.profile.errors.method_not_found
    if reply.code != code:
        came = "a result" if reply.error is None else f"error {reply.code}"
        expected = f"a tool that takes no tasks is not called as one: error {code}"
        trial.broken(expected, came, *reply.events)


def first_call(trial: ServerTrial, tools: dict[str, Json], kinds: tuple[str, ...]) -> ToolCall:
    """Return the first of the user's calls whose tool takes tasks so.

    Raises:
        NotTested: there is none.
    """
    for call in trial.calls:
        if call.name in tools and support(tools[call.name]) in kinds:
            return call
    raise NotTested(f"no tool whose tasks are {' or '.join(kinds)} is called: use --call")


@rule("tasks:tools:required", unseen="no tool that is only ever a task was called plainly")
def a_tool_that_is_only_ever_a_task_refuses_a_plain_call(
    transcript: Transcript, found: Found
) -> None:
    tools = listed_tools(transcript)
    errors = profile_of(transcript.revision).errors
    allowed = [errors.method_not_found]
    if all(support(tool) == "required" for tool in tools.values()):
        # Of requests that all are to be tasks, there is another error.
        allowed.append(errors.invalid_request)
    if not is_object(member(server_declared(transcript), *CALLS)):
        return
    for one in exchanges(transcript, "call_tool"):
        tool = tools.get(str(one.params.get("name")))
        if support(tool) != "required" or "task" in one.params:
            continue
        found.saw()
        code = member(one.error, "code")
        if code not in allowed:
            expected = f"the plain call is refused with error {errors.method_not_found}"
            came = "a result" if one.error is None else f"error {code}"
            found.broken(expected, came, *one.events)
