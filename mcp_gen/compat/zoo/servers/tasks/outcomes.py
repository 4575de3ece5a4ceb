"""Servers whose results of tasks are wrong, and their twins."""

from __future__ import annotations

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.tasks import ENDED, ReferenceTask
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("tasks:result:same")
class WrappedResults(ReferenceServer):
    """Answers with the result of a task in a member of its own."""

    async def get_task_payload(self, call: ReferenceCall) -> Json:
        result = await super().get_task_payload(call)
        meta = result.pop("_meta")
        return {"result": result, "_meta": meta}


@keeps("tasks:result:same")
class ResultsWithMetadata(ReferenceServer):
    """Counts in the metadata how often a result was read."""

    async def get_task_payload(self, call: ReferenceCall) -> Json:
        result = await super().get_task_payload(call)
        return {**result, "_meta": {**result["_meta"], "com.example/read": call.id}}


@breaks("tasks:result:waits")
class ResultsNotReady(ReferenceServer):
    """Refuses to tell the result of a task that has not ended."""

    async def wait_for_end(self, task: ReferenceTask, call: ReferenceCall) -> None:
        if task.status not in ENDED:
            raise Failure(self.profile.errors.internal_error, "The task has not ended")


@keeps("tasks:result:waits")
class ResultsBeforeNews(ReferenceServer):
    """Tells no states of its own accord: the result is the first to say that a task ended."""

    def tell_state(self, task: ReferenceTask) -> None:
        return


@breaks("tasks:cancel:stops")
class SlowCancelling(ReferenceServer):
    """Answers that a task will be cancelled, and lets it go on until it is asked for."""

    def stop_task(self, task: ReferenceTask) -> None:
        return


@keeps("tasks:cancel:stops")
class ForgottenTasks(ReferenceServer):
    """Forgets a task once it was cancelled."""

    async def cancel_task(self, call: ReferenceCall) -> Json:
        state = await super().cancel_task(call)
        del self.tasks[call.params["taskId"]]
        return state


@breaks("tasks:cancel:ended")
class CancellingOfWhatEnded(ReferenceServer):
    """Answers the wish to cancel a task that has ended with its state."""

    async def cancel_task(self, call: ReferenceCall) -> Json:
        task = self.find_task(call)
        return self.state(task) if task.status in ENDED else await super().cancel_task(call)


@keeps("tasks:cancel:ended")
class ForgottenEnds(ReferenceServer):
    """Knows a task no longer that has ended and is to be cancelled."""

    async def cancel_task(self, call: ReferenceCall) -> Json:
        task = self.find_task(call)
        if task.status in ENDED:
            del self.tasks[task.id]
            raise Failure(self.profile.errors.invalid_params, "Unknown task")
        return await super().cancel_task(call)


@breaks("tasks:progress")
class LateProgress(ReferenceServer):
    """Reports progress of a task once more when its state is asked for after its end."""

    async def get_task(self, call: ReferenceCall) -> Json:
        task = self.find_task(call)
        if task.status in ENDED and task.call.progress_token is not None:
            done = {
                "progressToken": task.call.progress_token,
                "progress": 100 + call.id,
                "message": "done",
            }
            self.tell("progress", {**done, "_meta": self.related(task)})
        return await super().get_task(call)


@keeps("tasks:progress")
class LastProgress(ReferenceServer):
    """Reports progress of a task just before its end."""

    def end(self, task: ReferenceTask, status: str, message: str | None) -> None:
        if task.status not in ENDED and task.call.progress_token is not None:
            done = {"progressToken": task.call.progress_token, "progress": 100, "message": "done"}
            self.tell_of_task(task, "progress", done)
        super().end(task, status, message)
