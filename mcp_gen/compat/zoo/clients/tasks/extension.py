"""Clients that break the rules of the extension of tasks, and their twins."""

from __future__ import annotations

from typing import Any

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.client import ServerReply
from mcp_gen.compat.reference.client_script import ScriptFailure
from mcp_gen.compat.reference.task_client import TaskClient
from mcp_gen.compat.zoo.clients.tasks.task_script import TaskScript
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("tasks-extension:client:either")
class WantsNoTasks(TaskScript):
    """Says that it knows tasks, and fails where a call is answered with one."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        raise ScriptFailure("no result")


@keeps("tasks-extension:client:either")
class GivesUpTasks(TaskScript):
    """Cancels each task at once, and fails then."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        await task.cancel(id)
        raise ScriptFailure("no result")


@breaks("tasks-extension:client:elsewhere")
class TakesTasksEverywhere(TaskScript):
    """Takes a task for the answer to any request."""

    def result_of(self, name: str, reply: ServerReply) -> Json:
        if name == "get_prompt" and (reply.result or {}).get("resultType") == "task":
            return reply.result or {}
        return super().result_of(name, reply)


@keeps("tasks-extension:client:elsewhere")
class LooksAtTasksElsewhere(TaskScript):
    """Says which task it has got where there is none."""

    def result_of(self, name: str, reply: ServerReply) -> Json:
        if name == "get_prompt" and (reply.result or {}).get("resultType") == "task":
            raise ScriptFailure(f"{name} is no task: {reply.result}")
        return super().result_of(name, reply)


@breaks("tasks-extension:client:answers")
class AnswersNothing(TaskScript):
    """Goes on asking for the state of a task that asks for something."""

    async def answer_task(self, task: TaskClient, id: str, state: Json) -> None:
        """Answer nothing."""


@keeps("tasks-extension:client:answers")
class DeclinesEverything(TaskScript):
    """Answers what a task asks with a refusal of the user."""

    async def answer_task(self, task: TaskClient, id: str, state: Json) -> None:
        answers: Json = {key: {"action": "decline"} for key in state.get("inputRequests", {})}
        await task.update(id, answers)


@breaks("tasks-extension:client:keys")
class AnswersTwice(TaskScript):
    """Answers also what was answered before."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.given: dict[str, Json] = {}

    async def answer_task(self, task: TaskClient, id: str, state: Json) -> None:
        given = self.given.setdefault(id, {})
        given.update(task.answers(state.get("inputRequests", {})))
        await task.update(id, given)


@keeps("tasks-extension:client:keys")
class LooksBeforeItAnswers(TaskScript):
    """Answers what is still asked when it looks once more."""

    async def answer_task(self, task: TaskClient, id: str, state: Json) -> None:
        await task.pause(state)
        again = (await task.get(id)).result or state
        await super().answer_task(task, id, again)


@breaks("tasks-extension:client:cancels")
class CancelsCalls(TaskScript):
    """Cancels the call that a task was made by, and looks what comes of it."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        await task.get(id)
        await self.tell("cancelled", {"requestId": asked["id"]})
        await super().follow(task, id, asked)


@keeps("tasks-extension:client:cancels")
class CancelsByRequest(TaskScript):
    """Cancels a task by its own request, and looks what comes of it."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        await task.cancel(id)
        await super().follow(task, id, asked)
