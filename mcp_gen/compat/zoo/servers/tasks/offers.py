"""Servers that take tasks otherwise than they declare, or list them wrongly, and their twins."""

from __future__ import annotations

from typing import ClassVar

from mcp_gen.compat.json_values import Json, is_object
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.tasks import ENDED, TASKS_PER_PAGE, ReferenceTask
from mcp_gen.compat.zoo.zoo import breaks, keeps


class WithoutLists(ReferenceServer):
    """Does not declare that it lists tasks."""

    def task_capabilities(self) -> Json:
        declared = super().task_capabilities()
        declared["tasks"] = {key: one for key, one in declared["tasks"].items() if key != "list"}
        return declared


@breaks("tasks:declared")
class UndeclaredLists(WithoutLists):
    """Lists tasks without having declared it."""


@keeps("tasks:declared")
class NoLists(WithoutLists):
    """Does not declare that it lists tasks, and has no such method."""

    async def list_tasks(self, call: ReferenceCall) -> Json:
        raise Failure(self.profile.errors.method_not_found, "Method not found")


class WithoutTasks(ReferenceServer):
    """Takes no tasks, and says so; wishes for them are passed over."""

    def task_capabilities(self) -> Json:
        return {}

    def task_support(self, tool: Json) -> str:
        return "forbidden"

    def tools(self) -> list[Json]:
        return [
            {key: one for key, one in tool.items() if key != "execution"}
            for tool in super().tools()
        ]

    def becomes_task(self, call: ReferenceCall, tool: Json) -> bool:
        return False

    async def list_tasks(self, call: ReferenceCall) -> Json:
        raise Failure(self.profile.errors.method_not_found, "Method not found")

    async def cancel_task(self, call: ReferenceCall) -> Json:
        raise Failure(self.profile.errors.method_not_found, "Method not found")


@breaks("tasks:ignored")
class UnaskedTasks(WithoutTasks):
    """Refuses a call that is to be a task, though it takes none."""

    def becomes_task(self, call: ReferenceCall, tool: Json) -> bool:
        if "task" in call.params:
            raise Failure(self.profile.errors.invalid_params, "There are no tasks")
        return False


@keeps("tasks:ignored")
class IgnoredWishes(WithoutTasks):
    """Passes over the wish for a task."""


@breaks("tasks:tools:forbidden")
class PlainAnswersToWishes(ReferenceServer):
    """Answers a call of a tool that takes no tasks plainly, though it is to be one."""

    def becomes_task(self, call: ReferenceCall, tool: Json) -> bool:
        is_plain = self.profile.tasks == "core" and self.task_support(tool) == "forbidden"
        return False if is_plain else super().becomes_task(call, tool)


@keeps("tasks:tools:forbidden")
class ForbiddenInWords(ReferenceServer):
    """Says of each tool that takes no tasks that it does not."""

    def tools(self) -> list[Json]:
        return [{"execution": {"taskSupport": "forbidden"}, **tool} for tool in super().tools()]


@breaks("tasks:tools:required")
class InvalidPlainCalls(ReferenceServer):
    """Refuses a plain call of a tool that is only ever a task as an invalid request."""

    def becomes_task(self, call: ReferenceCall, tool: Json) -> bool:
        is_plain = not is_object(call.params.get("task"))
        if self.profile.tasks == "core" and is_plain and self.task_support(tool) == "required":
            raise Failure(self.profile.errors.invalid_request, "It must be a task")
        return super().becomes_task(call, tool)


@keeps("tasks:tools:required")
class RefusalsWithData(ReferenceServer):
    """Says more of a refused call in the data of the error."""

    def becomes_task(self, call: ReferenceCall, tool: Json) -> bool:
        try:
            return super().becomes_task(call, tool)
        except Failure as failure:
            raise Failure(failure.code, str(failure), {"tool": tool["name"]}) from None


@breaks("tasks:errors")
class UnknownTasksAreInternalErrors(ReferenceServer):
    """Refuses the cursor of an unknown page with another error."""

    def task_page(self, call: ReferenceCall, tasks: list[Json]) -> Json:
        try:
            return super().task_page(call, tasks)
        except Failure as failure:
            raise Failure(self.profile.errors.internal_error, str(failure)) from None


@keeps("tasks:errors")
class UnknownTasksWithData(ReferenceServer):
    """Names the unknown task in the data of the error."""

    def find_task(self, call: ReferenceCall) -> ReferenceTask:
        try:
            return super().find_task(call)
        except Failure as failure:
            raise Failure(failure.code, str(failure), {"taskId": call.params["taskId"]}) from None


@breaks("tasks:list:pages")
class CursorsOfOnePage(ReferenceServer):
    """Gives with each page but the last the cursor of the second one."""

    def task_page(self, call: ReferenceCall, tasks: list[Json]) -> Json:
        page = super().task_page(call, tasks)
        return {**page, "nextCursor": str(TASKS_PER_PAGE)} if "nextCursor" in page else page


@keeps("tasks:list:pages")
class EmptyLastPages(ReferenceServer):
    """Ends the list with an empty page."""

    def task_page(self, call: ReferenceCall, tasks: list[Json]) -> Json:
        if call.params.get("cursor") == "end":
            return {"tasks": []}
        page = super().task_page(call, tasks)
        return {"nextCursor": "end", **page}


@breaks("tasks:list:all")
class ListsOfOpenTasks(ReferenceServer):
    """Lists only the tasks that have not ended in success."""

    def task_page(self, call: ReferenceCall, tasks: list[Json]) -> Json:
        return super().task_page(call, [one for one in tasks if one["status"] != "completed"])


@keeps("tasks:list:all")
class ForgottenFailures(ReferenceServer):
    """Forgets tasks that have failed once they are listed, and lists them no more."""

    async def list_tasks(self, call: ReferenceCall) -> Json:
        for task in [one for one in self.tasks.values() if one.status in ENDED[1:]]:
            del self.tasks[task.id]
        return await super().list_tasks(call)


@breaks("tasks:owner:unlisted")
class TasksOfAll(ReferenceServer):
    """Lists the tasks of all connections."""

    latest: ClassVar[list[TasksOfAll]] = []

    async def list_tasks(self, call: ReferenceCall) -> Json:
        if self not in self.latest:
            type(self).latest = [*self.latest, self]
        tasks = [self.state(task) for one in self.latest for task in one.tasks.values()]
        return self.task_page(call, tasks)


@keeps("tasks:owner:unlisted")
class TasksByConnection(ReferenceServer):
    """Knows the tasks of all connections, and lists those of one."""

    latest: ClassVar[dict[str, ReferenceTask]] = {}

    def find_task(self, call: ReferenceCall) -> ReferenceTask:
        type(self).latest = {**self.latest, **self.tasks}
        task = self.latest.get(call.params["taskId"])
        return task if task is not None else super().find_task(call)
