"""Servers that make tasks of calls otherwise than the extension wants, and their twins."""

from __future__ import annotations

from typing import Any

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.known_extensions import tasks_extension
from mcp_gen.compat.method_names import python_name, wire_names
from mcp_gen.compat.reference.call import Failure, NeedsInput, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.tasks import ReferenceTask
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("tasks-extension:declared-only")
class TasksForEverybody(ReferenceServer):
    """Makes a task of a call whether its client knows tasks or not."""

    def becomes_task(self, call: ReferenceCall, tool: Json) -> bool:
        return self.task_support(tool) == "optional" or super().becomes_task(call, tool)


@keeps("tasks-extension:declared-only")
class FewTasks(ReferenceServer):
    """Makes no tasks of calls of one tool, whoever its client is."""

    def becomes_task(self, call: ReferenceCall, tool: Json) -> bool:
        return tool["name"] != "slow" and super().becomes_task(call, tool)


@breaks("tasks-extension:required")
class InvalidCallsWithoutTasks(ReferenceServer):
    """Refuses a client that knows no tasks as if its params were wrong."""

    def becomes_task(self, call: ReferenceCall, tool: Json) -> bool:
        if self.task_support(tool) == "required" and not self.knows_tasks(call):
            raise Failure(self.profile.errors.invalid_params, "It is always a task")
        return super().becomes_task(call, tool)


@keeps("tasks-extension:required")
class MoreIsMissing(ReferenceServer):
    """Names a capability of its own beside the extension that a client lacks."""

    def demand_extension(self, call: ReferenceCall) -> None:
        try:
            super().demand_extension(call)
        except Failure as failure:
            needed: Json = {"extensions": {tasks_extension().identifier: {}, "com.example/own": {}}}
            raise Failure(failure.code, str(failure), {"requiredCapabilities": needed}) from None


@breaks("tasks-extension:methods")
class StatesForEverybody(ReferenceServer):
    """Tells the state of a task to a client that has not declared the extension."""

    def find_task(self, call: ReferenceCall) -> ReferenceTask:
        task = self.tasks.get(call.params["taskId"])
        return task if task is not None else super().find_task(call)


@keeps("tasks-extension:methods")
class RefusesInItsOwnWords(ReferenceServer):
    """Says in words which extension is missing, too."""

    def demand_extension(self, call: ReferenceCall) -> None:
        try:
            super().demand_extension(call)
        except Failure as failure:
            raise Failure(failure.code, "You must know tasks.", failure.data) from None


@breaks("tasks-extension:result-type")
class StatesAsTasks(ReferenceServer):
    """Gives a state the type of a new task."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if python_name(call.method) == "get_task":
            result = {**result, "resultType": "task"}
        return super().result_frame(call, result)


@keeps("tasks-extension:result-type")
class TypesInMetadata(ReferenceServer):
    """Says in the metadata of a state that it is one of a task."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "taskId" in result:
            result = {**result, "_meta": {**result["_meta"], "com.example/resultType": "task"}}
        return super().result_frame(call, result)


@breaks("tasks-extension:durable")
class TasksThatComeLater(ReferenceServer):
    """Knows a task from the second request for it on."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._known: set[str] = set()

    def find_task(self, call: ReferenceCall) -> ReferenceTask:
        task = super().find_task(call)
        if task.id not in self._known:
            self._known.add(task.id)
            raise Failure(self.profile.errors.invalid_params, "Unknown task")
        return task


@keeps("tasks-extension:durable")
class TasksWithoutLimit(ReferenceServer):
    """Says of its tasks that they are kept without limit."""

    def state(self, task: ReferenceTask) -> Json:
        return {**super().state(task), "ttlMs": None}


def name_question(server: ReferenceServer) -> Json:
    """Return the question for a name, as results have it."""
    schema: Json = {"type": "object", "properties": {"name": {"type": "string"}}}
    form = {"mode": "form", "message": "Your name?", "requestedSchema": schema}
    asked = server.question_frame("elicit", form)
    return {"method": asked["method"], "params": asked["params"]}


@breaks("tasks-extension:rounds-first")
class RoundsInTasks(ReferenceServer):
    """Completes a task with a result that asks for input."""

    def completed(self, task: ReferenceTask, result: Json) -> None:
        needed = {"name": name_question(self)}
        super().completed(task, {"resultType": "input_required", "inputRequests": needed})


@keeps("tasks-extension:rounds-first")
class RoundsBeforeTasks(ReferenceServer):
    """Asks for a name before a call becomes a task."""

    def becomes_task(self, call: ReferenceCall, tool: Json) -> bool:
        becomes_task = super().becomes_task(call, tool)
        if becomes_task and "inputResponses" not in call.params:
            raise NeedsInput({"elicit": name_question(self)})
        return becomes_task


@breaks("tasks-extension:unknown")
class UnknownTasksAreFaults(ReferenceServer):
    """Answers requests for unknown tasks with an internal error."""

    def find_task(self, call: ReferenceCall) -> ReferenceTask:
        self.demand_extension(call)
        if call.params["taskId"] not in self.tasks:
            raise Failure(self.profile.errors.internal_error, "Unknown task")
        return super().find_task(call)


@keeps("tasks-extension:unknown")
class UnknownTasksAreNamed(ReferenceServer):
    """Names an unknown task in the data of the error."""

    def find_task(self, call: ReferenceCall) -> ReferenceTask:
        self.demand_extension(call)
        id = call.params["taskId"]
        if id not in self.tasks:
            raise Failure(self.profile.errors.invalid_params, "Unknown task", {"taskId": id})
        return super().find_task(call)


@breaks("tasks-extension:legacy")
class OldLists(ReferenceServer):
    """Lists its tasks as they were listed once."""

    async def answer(self, call: ReferenceCall) -> Json:
        if call.method in wire_names("list_tasks"):
            meta: Json = {str(self.profile.server_info_key): self.info()}
            return {"resultType": "complete", "tasks": [], "_meta": meta}
        return await super().answer(call)


@keeps("tasks-extension:legacy")
class OldMetadata(ReferenceServer):
    """Says in the metadata of its results that there are tasks."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        meta: dict[str, Any] = {**result.get("_meta", {}), "com.example/tasks": {"list": {}}}
        return super().result_frame(call, {**result, "_meta": meta})


@breaks("tasks-extension:listen:refused")
class NewsForEverybody(ReferenceServer):
    """Tells news of tasks to a client that has not declared the extension."""

    def check_news_of_tasks(self, call: ReferenceCall) -> None:
        return


@keeps("tasks-extension:listen:refused")
class NoNews(ReferenceServer):
    """Agrees to no news of tasks, and tells none."""

    def acknowledge(self, call: ReferenceCall) -> None:
        self.check_news_of_tasks(call)
        call.params["notifications"].pop("taskIds", None)
        super().acknowledge(call)


@breaks("tasks-extension:listen:quiet")
class ProgressOfTasks(ReferenceServer):
    """Reports progress of a task to those who listen for its news."""

    def tell_state(self, task: ReferenceTask) -> None:
        super().tell_state(task)
        for call in list(self.listening):
            if task.id in self.news_wanted(call) and call.progress_token is not None:
                done = {"progressToken": call.progress_token, "progress": 1, "message": "1"}
                call.tell("progress", done)


@keeps("tasks-extension:listen:quiet")
class NewsTwice(ReferenceServer):
    """Tells each news of a task twice."""

    def tell_state(self, task: ReferenceTask) -> None:
        super().tell_state(task)
        super().tell_state(task)


@breaks("tasks-extension:listen:whole")
class NewsWithoutResults(ReferenceServer):
    """Tells news of a completed task without its result."""

    def notification_frame(self, name: str, params: Json) -> Json:
        frame = super().notification_frame(name, params)
        if name == "task_status":
            frame["params"].pop("result", None)
        return frame


@keeps("tasks-extension:listen:whole")
class NewsWithoutInterval(ReferenceServer):
    """Does not say with news how often a task may be asked for."""

    def notification_frame(self, name: str, params: Json) -> Json:
        frame = super().notification_frame(name, params)
        if name == "task_status":
            frame["params"].pop("pollIntervalMs", None)
        return frame
