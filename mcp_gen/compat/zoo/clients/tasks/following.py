"""Clients that break the rules of following tasks, and their twins."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.reference.task_client import TaskClient
from mcp_gen.compat.reference.tasks import ENDED
from mcp_gen.compat.zoo.clients.tasks.task_script import TaskScript
from mcp_gen.compat.zoo.zoo import breaks, keeps

HASTE_S = 0.001
NOTICE_S = 0.2
"""Seconds in which a notification would have come."""


@breaks("tasks:client:interval")
@breaks("tasks-extension:client:interval")
class AsksInHaste(TaskScript):
    """Asks for each state three times more, all at once."""

    async def pause(self, task: TaskClient, state: Json) -> None:
        id = str(state["taskId"])
        await asyncio.gather(*(task.get(id) for _ in range(3)))
        await super().pause(task, state)


@keeps("tasks:client:interval")
@keeps("tasks-extension:client:interval")
class AsksTwiceAtOnce(TaskScript):
    """Asks for each state once more, and takes the longer time for it."""

    async def pause(self, task: TaskClient, state: Json) -> None:
        again = (await task.get(str(state["taskId"]))).result
        await super().pause(task, again or state)


@breaks("tasks:client:polls")
@breaks("tasks-extension:client:polls")
class StopsAsking(TaskScript):
    """Asks for two states of a task, and does not come back."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        if asked["params"]["name"] != "slow":
            await super().follow(task, id, asked)
            return
        await task.pause((await task.get(id)).result)
        await task.get(id)


@keeps("tasks:client:polls")
class WaitsForTheEnd(TaskScript):
    """Asks for one state of a task, and then for its result."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        await task.get(id)
        await self.fetch(task, id)


@keeps("tasks-extension:client:polls")
class CancelsAtLast(TaskScript):
    """Asks for one state of a task, and then cancels it."""

    async def follow(self, task: TaskClient, id: str, asked: Json) -> None:
        await task.get(id)
        await task.cancel(id)


class _HearsOfTasks(TaskScript):
    """Keeps the states that notifications tell."""

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.heard: dict[str, str] = {}

    def notified(self, frame: Json) -> None:
        """Keep the state."""
        params = frame.get("params")
        if is_object(params) and "taskId" in params:
            self.heard[params["taskId"]] = str(params.get("status"))


@breaks("tasks:client:notices-optional")
class NeedsNotices(_HearsOfTasks):
    """Asks for no result before a notification has told that it is there."""

    async def fetch(self, task: TaskClient, id: str) -> None:
        await self.transcript.first(lambda event: self.heard.get(id) in ENDED, NOTICE_S)
        if id in self.heard:
            await super().fetch(task, id)


@keeps("tasks:client:notices-optional")
class LikesNotices(_HearsOfTasks):
    """Waits for a notification for a while, and goes on without."""

    async def fetch(self, task: TaskClient, id: str) -> None:
        await self.transcript.first(lambda event: id in self.heard, NOTICE_S)
        await super().fetch(task, id)


@breaks("tasks:client:input")
class WaitsToBeAsked(TaskScript):
    """Goes on asking for the state of a task that asks for something."""

    async def answer_task(self, task: TaskClient, id: str, state: Json) -> None:
        for _ in range(2):
            await task.pause(state)
            await task.get(id)


@keeps("tasks:client:input")
class LooksAgain(TaskScript):
    """Asks once more for the state of a task that asks for something, and then for its result."""

    async def answer_task(self, task: TaskClient, id: str, state: Json) -> None:
        await task.pause(state)
        await task.get(id)
        await super().answer_task(task, id, state)


@breaks("tasks:client:related")
class AnswersNamelessly(TaskScript):
    """Does not name the task of an answer."""

    def answer_frame(self, asked: Json) -> Json:
        frame = super().answer_frame(asked)
        frame.get("result", {}).pop("_meta", None)
        return frame


@keeps("tasks:client:related")
class AnswersWithMore(TaskScript):
    """Names the task of an answer beside other metadata."""

    def answer_frame(self, asked: Json) -> Json:
        frame = super().answer_frame(asked)
        frame.get("result", {}).get("_meta", {})["com.example/asked"] = True
        return frame


class _KnowsStreams(TaskScript):
    """Knows on which stream a question has come."""

    def came_unasked(self, asked: Json) -> bool:
        """Return True if a question has come on the stream for what belongs to no request."""
        events = self.transcript.messages("server")
        return any(one.message == asked and one.exchange == self.stream for one in events)


@breaks("tasks:client:any-stream")
class AnswersOnOneStream(_KnowsStreams):
    """Answers no questions that come on the stream for what belongs to no request."""

    async def _answer(self, asked: Json) -> None:
        if not self.came_unasked(asked):
            await super()._answer(asked)


@keeps("tasks:client:any-stream")
class AnswersLater(_KnowsStreams):
    """Takes its time to answer questions that come on the stream for what belongs to no request."""

    async def _answer(self, asked: Json) -> None:
        if self.came_unasked(asked):
            await asyncio.sleep(HASTE_S)
        await super()._answer(asked)


class _ListsTasks(TaskScript):
    """Lists its tasks in the end."""

    async def use_tools(self) -> None:
        """Use the tools, and list the tasks."""
        await super().use_tools()
        if self.has_tasks():
            await self.list_tasks()

    async def list_tasks(self) -> None:
        """List the tasks, page by page."""
        params: Json = {}
        for _ in range(5):
            page = await self.ask("list_tasks", params)
            cursor = member(page.result, "nextCursor")
            if cursor is None:
                return
            params = {"cursor": self.cursor(cursor)}

    def cursor(self, came: str) -> str:
        """Return a cursor as it is sent."""
        return came


@breaks("tasks:client:cursors")
class TrimsCursorsOfTasks(_ListsTasks):
    """Takes the white space off a cursor."""

    def cursor(self, came: str) -> str:
        return came.strip()


@keeps("tasks:client:cursors")
class ListsTwice(_ListsTasks):
    """Lists its tasks twice, each time from the beginning."""

    async def list_tasks(self) -> None:
        await super().list_tasks()
        await super().list_tasks()
