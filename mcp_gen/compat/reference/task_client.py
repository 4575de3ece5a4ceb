"""Tasks of the reference client: makes them, asks for their state and result, updates, cancels."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.known_extensions import tasks_extension
from mcp_gen.compat.method_names import method_of

if TYPE_CHECKING:
    from mcp_gen.compat.reference.client import ReferenceClient, ServerReply
    from mcp_gen.compat.transcript import WireEvent

__all__ = ["MAX_ROUNDS", "TaskClient", "state_in"]

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
