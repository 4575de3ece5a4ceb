"""Servers that name the tasks of their messages wrongly, and their twins."""

from __future__ import annotations

from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.call import ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.tasks import ReferenceTask
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("tasks:related")
class UnnamedResults(ReferenceServer):
    """Does not name the task of a result."""

    async def get_task_payload(self, call: ReferenceCall) -> Json:
        result = await super().get_task_payload(call)
        return {key: value for key, value in result.items() if key != "_meta"}


@keeps("tasks:related")
class NamedFailures(ReferenceServer):
    """Tells no progress of tasks."""

    def tell_of_task(self, task: ReferenceTask, name: str, params: Json) -> None:
        return


@breaks("tasks:related:absent")
class StatesWithMetadata(ReferenceServer):
    """Names the task of a state in its metadata, too."""

    async def get_task(self, call: ReferenceCall) -> Json:
        return {**await super().get_task(call), "_meta": self.related(self.find_task(call))}


@keeps("tasks:related:absent")
class StatesWithOtherMetadata(ReferenceServer):
    """Has metadata of its own with the state of a task."""

    async def get_task(self, call: ReferenceCall) -> Json:
        meta = {"com.example/task": {"taskId": call.params["taskId"]}}
        return {**await super().get_task(call), "_meta": meta}


@breaks("tasks:related:params")
class TasksOfTheMetadata(ReferenceServer):
    """Tells the state of the task that the metadata names, if it does."""

    def find_task(self, call: ReferenceCall) -> ReferenceTask:
        named = member(call.meta, self.profile.related_task_key or "", "taskId")
        return self.tasks[named] if named in self.tasks else super().find_task(call)


@keeps("tasks:related:params")
class LatestTasksFirst(ReferenceServer):
    """Lists its tasks from the latest to the first."""

    async def list_tasks(self, call: ReferenceCall) -> Json:
        return self.task_page(call, [self.state(one) for one in reversed(self.tasks.values())])


@breaks("tasks:input:related")
class UnnamedQuestions(ReferenceServer):
    """Does not name the task of a question."""

    def question_frame(self, name: str, params: Json) -> Json:
        return super().question_frame(name, {**params, "_meta": {}})


@keeps("tasks:input:related")
class QuestionsWithMoreMetadata(ReferenceServer):
    """Names the task of a question beside metadata of its own."""

    def related(self, task: ReferenceTask) -> Json:
        return {"com.example/task": task.status, **super().related(task)}


@breaks("tasks:input:status")
class WorkWhileAsking(ReferenceServer):
    """Says of a task that it works while it waits for an answer."""

    def change(self, task: ReferenceTask, status: str, message: str | None = None) -> None:
        super().change(task, "working" if status == "input_required" else status, message)


@keeps("tasks:input:status")
class TellsWhatItAsks(ReferenceServer):
    """Says of a task that asks what it waits for."""

    def change(self, task: ReferenceTask, status: str, message: str | None = None) -> None:
        said = "It waits for the user." if status == "input_required" else message
        super().change(task, status, said)
