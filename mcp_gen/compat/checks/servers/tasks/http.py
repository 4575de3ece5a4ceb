"""Checks of requests about tasks over HTTP: what is answered with a stream, and disconnects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.http_exchanges import answers_in, exchange_of, exchanges, http_of
from mcp_gen.compat.checks.servers.tasks.offers import support
from mcp_gen.compat.json_values import member
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.reference.task_client import TaskClient, state_in
from mcp_gen.compat.views.task_traffic import listed_tools

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.transcript import Transcript

A_MOMENT_S = 0.2
"""Longest wait for the beginning of a response, in seconds, before the client disconnects."""


@rule("tasks:http:polling", unseen="no state of a task was asked for")
def states_of_tasks_come_as_json(transcript: Transcript, found: Found) -> None:
    for one in exchanges(transcript):
        names = [python_name(str(request["method"])) for request in one.requests]
        if names != ["get_task"] or one.status != 200:
            continue
        found.saw()
        if one.is_stream:
            expected = "a request for the state of a task is answered with JSON"
            found.broken(expected, "a stream of events came", *one.evidence)


@probe("tasks:http")
async def a_client_that_disconnects_has_not_cancelled_its_task(trial: ServerTrial) -> None:
    main = await trial.having("tasks.requests.tools.call")
    tools = listed_tools(main.transcript)
    client = await trial.fresh()
    tasks = TaskClient(client)
    # What the task asks is left open, so that it does not end before.
    client.may_answer.clear()
    for call in trial.calls:
        if support(tools.get(call.name)) == "forbidden":
            continue
        made = trial.answered(await tasks.call(call.name, call.arguments))
        id = member(state_in(made.result), "taskId")
        if isinstance(id, str) and await _disconnects(trial, tasks, id):
            client.may_answer.set()
            await tasks.cancel(id)
            return
    raise NotTested("no task took long enough to disconnect from the request for its result")


async def _disconnects(trial: ServerTrial, tasks: TaskClient, id: str) -> bool:
    """Disconnect from a request for a result; return False if the task had ended before."""
    client = tasks.client
    http = http_of(client)
    asked = await tasks.begin_result(id)
    await http.response(asked.exchange, A_MOMENT_S)
    http.hang_up(asked.exchange)
    left = await http.ended(asked.exchange, trial.timeout_s)
    await client.settle()
    reply = trial.answered(await tasks.get(id))
    if answers_in(exchange_of(client, asked.exchange)) or left is None:
        return False
    status = member(reply.result, "status")
    if status is None or status == "cancelled":
        came = f"it is {status}" if reply.error is None else f"error {reply.code} came"
        expected = "a task goes on when its client disconnects from a request about it"
        trial.broken(expected, came, asked, left, *reply.events)
    return True
