"""Script of a client with tasks: calls tools as tasks, and follows each to its end."""

from __future__ import annotations

from typing import Any

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.known_extensions import tasks_extension
from mcp_gen.compat.reference.client_script import ARGUMENTS, ClientScript
from mcp_gen.compat.reference.task_client import TaskClient, state_in
from mcp_gen.compat.reference.tasks import ENDED

__all__ = ["TaskScript"]

SLOW = "slow"
"""Beginning of the names of tools that can be tasks."""


class TaskScript(ClientScript):
    """Calls tools that take tasks as tasks, where the server has them."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        if self.profile.tasks == "extension":
            extensions: Json = {tasks_extension().identifier: {}}
            self.capabilities = {**self.capabilities, "extensions": extensions}

    def has_tasks(self) -> bool:
        """Return True if the server makes tasks of calls."""
        declared = self.server_capabilities
        if self.profile.tasks == "extension":
            return is_object(member(declared, "extensions", tasks_extension().identifier))
        return is_object(member(declared, "tasks", "requests", "tools", "call"))

    def takes(self, tool: Json) -> bool:
        """Return True for a tool that is called as a task."""
        if self.profile.tasks == "extension":
            return str(tool["name"]).startswith(SLOW)
        return member(tool, "execution", "taskSupport") in ("optional", "required")

    async def call(self, tool: Json, token: Any) -> None:
        """Call a tool; one that takes tasks, as a task."""
        if self.has_tasks() and self.takes(tool):
            await self.call_task(tool)
        else:
            await super().call(tool, token)

    async def call_task(self, tool: Json) -> None:
        """Call a tool as a task, and follow the task, if there is one."""
        task = TaskClient(self)
        made = await task.call(tool["name"], ARGUMENTS.get(tool["name"], {}))
        state = state_in(made.result)
        if state is not None:
            await self.follow(task, str(state["taskId"]), made.asked.message)

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        """Ask for the state of a task until it has ended, and do what it needs.

        Args:
            task: Requests about tasks.
            id: Id of the task.
            asked: The call.
        """
        while True:
            state = (await task.get(id)).result or {}
            if state.get("status") in (*ENDED, None):
                break
            if state.get("status") == "input_required":
                await self.answer_task(task, id, state)
                if not task.is_extension:
                    return
            await self.pause(task, state)
        if not task.is_extension:
            await self.fetch(task, id)

    async def answer_task(self, task: TaskClient, id: str, state: Json) -> None:
        """Do what a task needs that asks for something: wait for its result, or update it."""
        if task.is_extension:
            await task.update(id, task.answers(state.get("inputRequests", {})))
        else:
            await self.fetch(task, id)

    async def fetch(self, task: TaskClient, id: str) -> None:
        """Ask for the result of a task."""
        await task.result(id)

    async def pause(self, task: TaskClient, state: Json) -> None:
        """Wait as long as a state asks for."""
        await task.pause(state)
