"""Checks of the extension of tasks: news of tasks on listening requests."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.tasks.extension_calls import (
    DECLARES,
    having_tasks,
    names_extension,
)
from mcp_gen.compat.checks.servers.tasks.offers import UNKNOWN
from mcp_gen.compat.json_values import Json, is_array, is_object, member
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.reference.client import answer_in
from mcp_gen.compat.reference.task_client import TaskClient, state_in
from mcp_gen.compat.reference.tasks import ENDED
from mcp_gen.compat.views.task_traffic import created_tasks, exchanges, news

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import Transcript, WireEvent

TOKEN = "listening"
SAME = ("taskId", "status", "statusMessage", "createdAt", "result", "error", "inputRequests")
"""Members of a state that are the same whoever hears of it, and when."""


async def listen(client: ReferenceClient, id: str, meta: Json) -> tuple[WireEvent, WireEvent]:
    """Ask for news of a task; return the request, and the answer or acknowledgement.

    Raises:
        NotTested: there is none, or the revision has no such requests.
    """
    profile = client.profile
    if profile.listen is None:
        raise NotTested("the revision has no listening requests")
    params: Json = {"notifications": {"taskIds": [id]}}
    asked = await client.send(client.request_frame(profile.listen.name, params, meta=meta))
    number = member(asked.message, "id")

    def is_either(event: WireEvent) -> bool:
        told = member(event.message, "params", "_meta", profile.subscription_id_key or "")
        is_answer = event.sender == "server" and answer_in(event, number) is not None
        return is_answer or (event.sender == "server" and told == number)

    event = await client.transcript.first(is_either, client.timeout_s, start=asked.number)
    if event is None:
        raise NotTested("the server did not answer")
    return asked, event


@probe("tasks-extension:listen:refused")
async def clients_that_know_no_tasks_hear_nothing_of_them(trial: ServerTrial) -> None:
    await having_tasks(trial)
    client = await trial.fresh()
    asked, event = await listen(client, UNKNOWN, {})
    code = trial.profile.errors.missing_required_client_capability
    error = member(event.message, "error")
    if member(error, "code") != code or not names_extension(error):
        expected = f"{DECLARES} is refused with error {code}, which names the extension"
        came = "the request was acknowledged" if error is None else str(error)
        trial.broken(expected, came, asked, event)


@probe("tasks-extension:listen:quiet")
async def news_of_tasks_bring_nothing_else(trial: ServerTrial) -> None:
    main = await having_tasks(trial)
    taken = [one for one, _ in created_tasks(main.client.transcript)]
    if not taken:
        raise NotTested("no call of a tool became a task: name one with --call")
    client = await trial.fresh()
    tasks = TaskClient(client)
    arguments: Any = taken[0].params.get("arguments")
    reply = await tasks.call(str(taken[0].params.get("name")), arguments or {})
    id = member(state_in(reply.result), "taskId")
    if not isinstance(id, str):
        raise NotTested("the call became no task this time")
    meta = {**tasks.meta, client.profile.progress_token_key: TOKEN}
    asked, acknowledged = await listen(client, id, meta)
    agreed = member(acknowledged.message, "params", "notifications", "taskIds")
    if not is_array(agreed) or id not in agreed:
        raise NotTested("the server tells no news of tasks")
    await follow(tasks, id)
    for event, frame in client.transcript.frames("server"):
        kind = python_name(str(frame.get("method")))
        if kind in ("progress", "logging_message") and is_of(client, asked, event, frame):
            expected = "a stream with news of tasks has no progress and no log messages of theirs"
            trial.broken(expected, f"it has {frame['method']!r}", asked, event)


def is_of(client: ReferenceClient, asked: WireEvent, event: WireEvent, frame: Json) -> bool:
    """Return True if a notification belongs to a listening request."""
    meta = member(frame, "params", "_meta", client.profile.subscription_id_key or "")
    token = member(frame, "params", "progressToken")
    is_on_stream = asked.exchange != 0 and event.exchange == asked.exchange
    return is_on_stream or meta == member(asked.message, "id") or token == TOKEN


async def follow(tasks: TaskClient, id: str) -> None:
    """Ask for the state of a task until it has ended, or time is up."""
    end_s = monotonic() + tasks.client.timeout_s
    state = (await tasks.get(id)).result
    while state is not None and state.get("status") not in ENDED and monotonic() < end_s:
        await tasks.pause(state)
        state = (await tasks.get(id)).result
    await tasks.client.settle()


@rule("tasks-extension:listen:whole", unseen="no news of a task came")
def news_are_the_whole_state(transcript: Transcript, found: Found) -> None:
    told = [one for one in exchanges(transcript, "get_task") if is_object(one.result)]
    for event, state in news(transcript):
        found.saw()
        for one in told:
            if is_later_of_same(one.result, state):
                asked: Json = one.result or {}
                differing = [key for key in SAME if key in asked and asked[key] != state.get(key)]
                if differing:
                    expected = "news of a task are its state, as one who asks gets it"
                    came = f"they differ in `{differing[0]}`"
                    found.broken(expected, came, *one.events, event, where="$.params")
                    break


def is_later_of_same(told: Json | None, state: Json) -> bool:
    """Return True if a state is of the same moment of a task as its news."""
    same = ("taskId", "status", "lastUpdatedAt")
    return told is not None and all(told.get(key) == state.get(key) for key in same)
