"""Tasks of the reference client: those that it asks servers for, and those of its own."""

from __future__ import annotations

import asyncio
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.known_extensions import tasks_extension
from mcp_gen.compat.method_names import method_of
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.reference.client import Answers
from mcp_gen.compat.reference.tasks import ENDED, POLL_INTERVAL_MS, TTL_MS

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.compat.reference.client import ReferenceClient, ServerReply
    from mcp_gen.compat.transcript import WireEvent
    from mcp_wire.profile import Profile

__all__ = ["MAX_ROUNDS", "TASKS_OF_CLIENT", "AnswersAsTasks", "TaskClient", "state_in"]

MAX_ROUNDS = 5
"""Maximum number of times that a call is sent again with answers."""
POLL_S = 0.01
MAX_POLL_S = 1.0
"""Shortest and longest wait between two requests for the state of a task, in seconds."""


class TaskClient:
    """Requests of a client about tasks, at a revision with tasks or with the extension.

    Args:
        client: The client.
    """

    def __init__(self, client: ReferenceClient) -> None:
        self.client = client
        self.is_extension = client.profile.tasks == "extension"

    @property
    def meta(self) -> Json:
        """Metadata that declares the extension; empty without it."""
        key = self.client.profile.client_capabilities_key
        if not self.is_extension or key is None:
            return {}
        found = self.client.capabilities.get("extensions")
        extensions: Json = {**(found if is_object(found) else {}), tasks_extension().identifier: {}}
        return {key: {**self.client.capabilities, "extensions": extensions}}

    async def call(
        self, name: str, arguments: Json, *, ttl_ms: int = 60_000, meta: Json | None = None
    ) -> ServerReply:
        """Call a tool as a task; questions that come in results are answered.

        Args:
            name: The name of the tool.
            arguments: Its arguments.
            ttl_ms: Milliseconds for which the task is to be kept, where a client can ask for that.
            meta: More members of `_meta`.
        """
        params: Json = {"name": name, "arguments": arguments}
        if not self.is_extension:
            params["task"] = {"ttl": ttl_ms}
        sent = {**self.meta, **(meta or {})}
        reply = await self.client.ask("call_tool", params, meta=sent)
        for _ in range(MAX_ROUNDS):
            asked = member(reply.result, "inputRequests")
            if not is_object(asked) or member(reply.result, "taskId") is not None:
                break
            state = (reply.result or {}).get("requestState")
            again: Json = {**params, "inputResponses": self.answers(asked)}
            if state is not None:
                again["requestState"] = state
            reply = await self.client.ask("call_tool", again, meta=sent)
        return reply

    async def get(self, id: str, *, meta: Json | None = None) -> ServerReply:
        """Ask for the state of a task."""
        return await self._ask("get_task", {"taskId": id}, meta)

    async def result(self, id: str) -> ServerReply:
        """Wait for the result of a task."""
        return await self._ask("get_task_payload", {"taskId": id})

    async def begin_result(self, id: str) -> WireEvent:
        """Ask for the result of a task, and return the request without waiting."""
        client = self.client
        name = method_of(client.profile, "get_task_payload").name
        return await client.send(client.request_frame(name, {"taskId": id}))

    async def cancel(self, id: str) -> ServerReply:
        """Ask the server to cancel a task."""
        return await self._ask("cancel_task", {"taskId": id})

    async def update(self, id: str, answers: Json) -> ServerReply:
        """Send answers to questions of a task, by their keys."""
        return await self._ask("update_task", {"taskId": id, "inputResponses": answers})

    def answers(self, questions: Json) -> Json:
        """Return the answers to questions, by their keys."""
        return {
            key: self.client.answer_frame({"id": key, **asked}).get("result", {})
            for key, asked in questions.items()
            if is_object(asked) and isinstance(asked.get("method"), str)
        }

    async def pause(self, state: Json | None) -> None:
        """Wait as long as a state of a task asks for, within limits."""
        said = (state or {}).get("pollIntervalMs" if self.is_extension else "pollInterval")
        wait_s = said / 1000 if isinstance(said, int) else POLL_S
        await asyncio.sleep(min(max(wait_s, POLL_S), MAX_POLL_S))

    async def _ask(self, name: str, params: Json, meta: Json | None = None) -> ServerReply:
        return await self.client.ask(name, params, meta={**self.meta, **(meta or {})})


def state_in(result: Any) -> Json | None:
    """Return the state of a task in a result: of a new task, or one that was asked for."""
    task = member(result, "task")
    if is_object(task) and "taskId" in task:
        return task
    return result if is_object(result) and "taskId" in result else None


# --- tasks of the client ---

TASKS_OF_CLIENT: Json = {
    "list": {},
    "cancel": {},
    "requests": {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}},
}
"""Capability of a client that makes tasks of all questions."""


class AnswersAsTasks(Answers):
    """Answers that become tasks, each of which ends as soon as it is asked about.

    Args:
        profile: The revision.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.states: dict[str, Json] = {}
        """States of the tasks, by id."""
        self.answered: dict[str, Json] = {}
        """Answers to the questions, by the id of the task."""

    def elicit(self, params: Json) -> Json:
        """Return the form, filled in, or a task."""
        return self.perhaps_task(params, super().elicit)

    def create_message(self, params: Json) -> Json:
        """Return a text of the model, or a task."""
        return self.perhaps_task(params, super().create_message)

    def perhaps_task(self, params: Json, answer: Callable[[Json], Json]) -> Json:
        """Return a task for an answer if the question is to be one, else the answer."""
        return self.created(answer(params)) if is_object(params.get("task")) else answer(params)

    def created(self, answer: Json) -> Json:
        """Return the result that tells of a new task."""
        id, now = secrets.token_urlsafe(24), datetime.now(UTC).isoformat()
        self.answered[id] = answer
        times = {"createdAt": now, "lastUpdatedAt": now}
        waits = {"ttl": TTL_MS, "pollInterval": POLL_INTERVAL_MS}
        self.states[id] = {"taskId": id, "status": "working", **times, **waits}
        return {"task": dict(self.states[id])}

    def get_task(self, params: Json) -> Json:
        """Return the state of a task, which then ends."""
        state = self.state(params)
        told = dict(state)
        self.end(state, "completed")
        return told

    def get_task_payload(self, params: Json) -> Json:
        """Return the result of a task.

        Raises:
            Failure: it was cancelled.
        """
        state = self.state(params)
        self.end(state, "completed")
        if state["status"] == "cancelled":
            raise self.refusal("The task was cancelled")
        id: str = state["taskId"]
        assert self.profile.related_task_key is not None
        return {**self.answered[id], "_meta": {self.profile.related_task_key: {"taskId": id}}}

    def list_tasks(self, params: Json) -> Json:
        """Return all tasks on one page.

        Raises:
            Failure: another page is asked for.
        """
        if "cursor" in params:
            raise self.refusal("Unknown cursor")
        return {"tasks": [dict(one) for one in self.states.values()]}

    def cancel_task(self, params: Json) -> Json:
        """Cancel a task.

        Raises:
            Failure: it has ended.
        """
        state = self.state(params)
        if state["status"] in ENDED:
            raise self.refusal("The task has ended")
        self.end(state, "cancelled")
        return dict(state)

    def end(self, state: Json, status: str) -> None:
        """End a task that has not ended."""
        if state["status"] not in ENDED:
            state["status"] = status

    def state(self, params: Json) -> Json:
        """Return the state of the task that params name.

        Raises:
            Failure: there is none.
        """
        id: Any = params.get("taskId")
        if id not in self.states:
            raise self.refusal("Unknown task")
        return self.states[id]

    def refusal(self, why: str) -> Failure:
        """Return the error for params that cannot be."""
        return Failure(self.profile.errors.invalid_params, why)
