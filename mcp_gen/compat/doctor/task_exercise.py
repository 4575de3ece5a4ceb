"""Exercise of tasks: each tool that can be a task is followed from its call to its end."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.known_extensions import tasks_extension
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.reference.task_client import (
    TASKS_OF_CLIENT,
    AnswersAsTasks,
    TaskClient,
    state_in,
)
from mcp_gen.compat.reference.tasks import ENDED
from mcp_gen.compat.views.task_traffic import TASKS_OF_QUESTIONS, listed_tools

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import ToolCall, TriedServer
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import WireEvent

__all__ = ["answer_with_tasks", "follow_tasks", "takes_tasks"]

LONG_TTL_MS = 2**53 - 1
"""A time to keep a task that no limit is longer than: about 285,000 years."""
NO_KEY = "no such question"


async def follow_tasks(server: TriedServer) -> None:
    """Call the tools that the user has named as tasks, follow them, and cancel one."""
    client = await server.main()
    if not takes_tasks(client):
        return
    tasks = TaskClient(client)
    taken: list[ToolCall] = []
    key = client.profile.progress_token_key
    for number, call in enumerate(_callable(client, server.calls)):
        reply = await tasks.call(call.name, call.arguments, meta={key: f"task-progress-{number}"})
        id = member(state_in(reply.result), "taskId")
        if isinstance(id, str):
            taken.append(call)
            await _follow(tasks, id, server.timeout_s)
    for call in taken[:1]:
        reply = await tasks.call(call.name, call.arguments, ttl_ms=LONG_TTL_MS)
        id = member(state_in(reply.result), "taskId")
        if isinstance(id, str):
            await _cancel(tasks, id)


async def answer_with_tasks(server: TriedServer) -> None:
    """Call the tools that ask as a client that makes tasks of questions, where it can say so."""
    asking = [
        one.call
        for one in server.called
        if {python_name(name) for name in one.questions} & TASKS_OF_QUESTIONS.keys()
    ]
    if server.profile.tasks != "core" or not asking:
        return
    client = server.client(answers=AnswersAsTasks(server.profile))
    client.capabilities = {**client.capabilities, "tasks": TASKS_OF_CLIENT}
    try:
        await client.open()
        for call in asking:
            server.waits.begin(f"call of {call.name}")
            await client.ask("call_tool", call.params)
    finally:
        await client.aclose()


def takes_tasks(client: ReferenceClient) -> bool:
    """Return True if the server has declared that calls of tools can be tasks."""
    declared = client.server_capabilities
    if client.profile.tasks == "extension":
        return is_object(member(declared, "extensions", tasks_extension().identifier))
    if client.profile.tasks == "core":
        return is_object(member(declared, "tasks", "requests", "tools", "call"))
    return False


def _callable(client: ReferenceClient, calls: tuple[ToolCall, ...]) -> list[ToolCall]:
    """Return the calls that can be tasks; with the extension, the server tells with its answer."""
    if client.profile.tasks == "extension":
        return list(calls)
    listed = listed_tools(client.transcript)
    return [
        call
        for call in calls
        if member(listed.get(call.name), "execution", "taskSupport") in ("optional", "required")
    ]


async def _follow(tasks: TaskClient, id: str, timeout_s: float) -> None:
    state = (await tasks.get(id)).result
    if tasks.is_extension:
        await _follow_by_state(tasks, id, state, timeout_s)
    else:
        await _follow_by_result(tasks, id)
        await tasks.get(id)
        await tasks.result(id)
    await tasks.cancel(id)
    await tasks.get(id)


async def _follow_by_result(tasks: TaskClient, id: str) -> None:
    """Wait for the result of a task; its state is asked for while each question is open."""
    client = tasks.client
    client.may_answer.clear()
    try:
        asked = await tasks.begin_result(id)
        start = asked.number
        while (event := await _question_or_answer(client, asked, start)) is not None:
            if "method" not in event.message:
                return
            await tasks.get(id)
            start = event.number + 1
            await _let_answer(client, event)
    finally:
        client.may_answer.set()


async def _question_or_answer(
    client: ReferenceClient, asked: WireEvent, start: int
) -> WireEvent | None:
    """Return the next question of the server, or the answer to a request."""

    def is_either(event: WireEvent) -> bool:
        message: Any = event.message
        if event.sender != "server" or not is_object(message) or "id" not in message:
            return False
        return "method" in message or message["id"] == asked.message["id"]

    return await client.transcript.first(is_either, client.timeout_s, start=start)


async def _let_answer(client: ReferenceClient, question: WireEvent) -> None:
    """Answer the questions that are open, and no later ones."""

    def is_answer(event: WireEvent) -> bool:
        return event.sender == "client" and member(event.message, "id") == question.message["id"]

    client.may_answer.set()
    await client.transcript.first(is_answer, client.timeout_s, start=question.number)
    client.may_answer.clear()


async def _follow_by_state(
    tasks: TaskClient, id: str, state: Json | None, timeout_s: float
) -> None:
    """Ask for the state of a task until it has ended, and answer its questions."""
    answered: set[str] = set()
    end_s = monotonic() + timeout_s
    while state is not None and state.get("status") not in ENDED and monotonic() < end_s:
        questions: Any = state.get("inputRequests")
        asked: Json = questions if is_object(questions) else {}
        new = {key: one for key, one in asked.items() if key not in answered}
        if new:
            if not answered:
                await tasks.update(id, {NO_KEY: {"action": "decline"}})
                await tasks.get(id)
            await tasks.update(id, tasks.answers(new))
            answered |= new.keys()
        await tasks.pause(state)
        state = (await tasks.get(id)).result


async def _cancel(tasks: TaskClient, id: str) -> None:
    """Cancel a task that has just begun, and see that it stays so."""
    reply = await tasks.cancel(id)
    for _ in range(3):
        state = (await tasks.get(id)).result
        await tasks.pause(state)
    if not tasks.is_extension and reply.error is None:
        await tasks.result(id)
