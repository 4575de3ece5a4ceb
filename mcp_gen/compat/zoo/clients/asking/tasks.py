"""Clients that break the rules of tasks, and their twins."""

from __future__ import annotations

from typing import Any

from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.client_script import ARGUMENTS, ClientScript
from mcp_gen.compat.reference.task_client import TaskClient
from mcp_gen.compat.zoo.zoo import breaks, keeps


class _CallsSlowTools(ClientScript):
    """Knows the arguments of tools that take tasks."""

    async def call(self, tool: Json, token: Any) -> None:
        """Call a tool; one that takes tasks, as a task."""
        if member(tool, "execution", "taskSupport") == "optional":
            task = TaskClient(self)
            made = await task.call(tool["name"], ARGUMENTS.get(tool["name"], {}))
            await self.follow(task, str(member(made.result, "task", "taskId")), made.asked.message)
        else:
            await super().call(tool, token)

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        """Do what is to be done with a task."""
        await task.result(id)


class _EndsEarly(_CallsSlowTools):
    """Is done after it has listed its tools and called one."""

    async def call_as_task(self, name: str) -> None:
        """Call a tool as a task, and take any answer."""
        await TaskClient(self).call(name, ARGUMENTS.get(name, {}))


@breaks("tasks:client:declared-only")
class AlwaysTasks(_EndsEarly):
    """Calls a tool as a task where there are none."""

    async def use_tools(self) -> None:
        if "tasks" not in self.server_capabilities:
            await self.call_as_task("echo")
        await super().use_tools()


@keeps("tasks:client:declared-only")
class TasksWhereTaken(_CallsSlowTools):
    """Calls tools as tasks where that is declared."""


@breaks("tasks:client:forbidden")
class AnythingAsTask(_EndsEarly):
    """Calls any tool as a task where there are tasks."""

    async def use_tools(self) -> None:
        await super().use_tools()
        if "tasks" in self.server_capabilities:
            await self.call_as_task("echo")


@keeps("tasks:client:forbidden")
class AsksForStates(_CallsSlowTools):
    """Asks for the state of each task before it asks for its result."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        await task.get(id)
        await super().follow(task, id, asked)


@breaks("tasks:client:related-absent")
class NamesTasksTwice(_CallsSlowTools):
    """Names a task in the metadata, too."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        assert self.profile.related_task_key is not None
        await task.get(id, meta={self.profile.related_task_key: {"taskId": id}})
        await super().follow(task, id, asked)


@keeps("tasks:client:related-absent")
class MarksStates(_CallsSlowTools):
    """Asks for the state of a task with metadata of its own."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        await task.get(id, meta={"com.example/task": id})
        await super().follow(task, id, asked)


@breaks("tasks:client:cancels")
class CancelsCallsOfTasks(_CallsSlowTools):
    """Cancels the call that a task was made by."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        await self.tell("cancelled", {"requestId": asked["id"]})


@keeps("tasks:client:cancels")
class CancelsTasks(_CallsSlowTools):
    """Cancels a task at once."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        await task.cancel(id)
