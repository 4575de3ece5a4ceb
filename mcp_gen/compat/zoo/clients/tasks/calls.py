"""Clients that break the rules of calls that are tasks, and their twins."""

from __future__ import annotations

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.client_script import ARGUMENTS
from mcp_gen.compat.reference.task_client import TaskClient
from mcp_gen.compat.zoo.clients.tasks.task_script import TaskScript
from mcp_gen.compat.zoo.zoo import breaks, keeps


class _CallsSlowTools(TaskScript):
    """Waits for the result of each task at once."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        """Wait for the result."""
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


@breaks("tasks:client:required")
class CallsPlainlyFirst(TaskScript):
    """Calls a tool plainly first, though it is only ever a task."""

    async def call_task(self, tool: Json) -> None:
        await self.ask("call_tool", {"name": tool["name"], "arguments": {}})
        await super().call_task(tool)


@keeps("tasks:client:required")
class CallsOptionalPlainly(TaskScript):
    """Calls tools as tasks only where they are nothing else."""

    def takes(self, tool: Json) -> bool:
        return False


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
