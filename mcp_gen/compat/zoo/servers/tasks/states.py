"""Servers whose states of tasks are wrong, and their twins."""

from __future__ import annotations

from datetime import UTC, datetime

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.tasks import ENDED, ReferenceTask
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("tasks:ids")
@breaks("tasks-extension:ids")
class CountedIds(ReferenceServer):
    """Counts its tasks."""

    def new_task(self, call: ReferenceCall) -> ReferenceTask:
        task = super().new_task(call)
        task.id = f"task-{len(self.tasks) + 1:08}"
        return task


@keeps("tasks:ids")
@keeps("tasks-extension:ids")
class ShortIds(ReferenceServer):
    """Gives ids of eleven characters, with a count before a part that is drawn."""

    def new_task(self, call: ReferenceCall) -> ReferenceTask:
        task = super().new_task(call)
        task.id = f"{len(self.tasks)}.{task.id[:11]}"
        return task


@breaks("tasks:created")
class ResultsWithTasks(ReferenceServer):
    """Answers a call with the task and a result at once."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "task" in result:
            result = {**result, "content": [{"type": "text", "text": "soon"}]}
        return super().result_frame(call, result)


@keeps("tasks:created")
class TextForTheModel(ReferenceServer):
    """Says in the metadata of a new task what to tell the model meanwhile."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        key = self.profile.model_immediate_response_key
        if "task" in result and key:
            result = {**result, "_meta": {key: "It is being worked on."}}
        return super().result_frame(call, result)


@breaks("tasks:status:begins")
class TasksThatAskAtOnce(ReferenceServer):
    """Makes tasks that begin as ones that ask."""

    def created(self, task: ReferenceTask) -> Json:
        made = super().created(task)
        return {"task": {**made["task"], "status": "input_required"}}


@keeps("tasks:status:begins")
class TasksWithMessages(ReferenceServer):
    """Says of a new task that it waits, in words."""

    def new_task(self, call: ReferenceCall) -> ReferenceTask:
        task = super().new_task(call)
        task.message = "The task waits for its turn."
        return task


@breaks("tasks:status:ended")
class TasksThatEndTwice(ReferenceServer):
    """Says of a task that failed, once it is asked again, that it has completed."""

    async def get_task(self, call: ReferenceCall) -> Json:
        state = await super().get_task(call)
        task = self.find_task(call)
        if task.status == "failed":
            task.status, task.message = "completed", None
        return state


@keeps("tasks:status:ended")
class NewMessagesAfterTheEnd(ReferenceServer):
    """Changes the message of a task that has ended."""

    async def get_task(self, call: ReferenceCall) -> Json:
        state = await super().get_task(call)
        task = self.find_task(call)
        if task.status in ENDED:
            task.message, task.updated_at = "Its result will be deleted soon.", datetime.now(UTC)
        return state


@breaks("tasks:cancel:stays")
class TasksThatEndAfterAll(ReferenceServer):
    """Says of a cancelled task that it has completed, once its work has."""

    async def get_task(self, call: ReferenceCall) -> Json:
        state = await super().get_task(call)
        task = self.find_task(call)
        if task.status == "cancelled":
            task.status, task.result = "completed", {"content": []}
        return state


@keeps("tasks:cancel:stays")
class WorkThatGoesOn(ReferenceServer):
    """Lets the work of a cancelled task go on to its end."""

    def stop_task(self, task: ReferenceTask) -> None:
        self.end(task, "cancelled", "The task was cancelled; its work goes on.")


@breaks("tasks:times")
class TimesInSeconds(ReferenceServer):
    """Tells times as seconds since 1970."""

    def state(self, task: ReferenceTask) -> Json:
        return {**super().state(task), "lastUpdatedAt": f"{task.updated_at.timestamp():.0f}"}


@keeps("tasks:times")
class TimesInUniversalTime(ReferenceServer):
    """Tells times in whole seconds, with `Z`."""

    def state(self, task: ReferenceTask) -> Json:
        made = task.created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        changed = task.updated_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        return {**super().state(task), "createdAt": made, "lastUpdatedAt": changed}


@breaks("tasks:ttl")
class TasksWithoutTtl(ReferenceServer):
    """Does not say how long a task is kept when it is asked for its state."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "taskId" in result:
            result = {key: value for key, value in result.items() if key != "ttl"}
        return super().result_frame(call, result)


@keeps("tasks:ttl")
class TasksThatAreKept(ReferenceServer):
    """Keeps tasks as long as it runs, unless a time was asked for that is too long."""

    def state(self, task: ReferenceTask) -> Json:
        return {**super().state(task), "ttl": None if task.ttl_ms == 60_000 else task.ttl_ms}


@breaks("tasks:limits")
class TasksForEver(ReferenceServer):
    """Keeps a task as long as is asked for, be it for ever."""

    def new_task(self, call: ReferenceCall) -> ReferenceTask:
        task = super().new_task(call)
        task.ttl_ms = call.params["task"]["ttl"]
        return task


@keeps("tasks:limits")
class TasksForAYear(ReferenceServer):
    """Keeps a task for a year at most."""

    def new_task(self, call: ReferenceCall) -> ReferenceTask:
        task = super().new_task(call)
        task.ttl_ms = min(call.params["task"].get("ttl", 0), 31_536_000_000)
        return task


@breaks("tasks:failed:says")
class SilentFailures(ReferenceServer):
    """Does not say why a task failed."""

    def end(self, task: ReferenceTask, status: str, message: str | None) -> None:
        super().end(task, status, None)


@keeps("tasks:failed:says")
class ShortFailures(ReferenceServer):
    """Says why a task failed in one word."""

    def end(self, task: ReferenceTask, status: str, message: str | None) -> None:
        super().end(task, status, message and "error")
