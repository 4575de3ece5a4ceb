"""Servers whose states of tasks are not those of the extension, and their twins."""

from __future__ import annotations

import asyncio

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.tasks import ReferenceTask
from mcp_gen.compat.zoo.zoo import breaks, keeps


class ChangedStates(ReferenceServer):
    """Answers requests for a state with a changed one."""

    def changed(self, state: Json) -> Json:
        """Return the state that is told."""
        return state

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        is_state = python_name(call.method) == "get_task"
        return super().result_frame(call, self.changed(result) if is_state else result)


@breaks("tasks-extension:get:working")
class ResultsOfWork(ChangedStates):
    """Has a result with the state of a task that works."""

    def changed(self, state: Json) -> Json:
        return {**state, "result": {"content": []}} if state["status"] == "working" else state


@keeps("tasks-extension:get:working")
class WordsOfWork(ChangedStates):
    """Says in words what a task does that works."""

    def changed(self, state: Json) -> Json:
        said = "It has no result yet."
        return {**state, "statusMessage": said} if state["status"] == "working" else state


@breaks("tasks-extension:get:input")
class NoQuestions(ChangedStates):
    """Does not say what a task asks."""

    def changed(self, state: Json) -> Json:
        return {**state, "inputRequests": {}} if "inputRequests" in state else state


@keeps("tasks-extension:get:input")
class TwoQuestions(ReferenceServer):
    """Asks two questions at once."""

    async def run_slow_asking(self, call: ReferenceCall, arguments: Json) -> Json:
        await call.step()
        asked = (self.run_ask_user(call, arguments) for _ in range(2))
        return (await asyncio.gather(*asked))[0]


@breaks("tasks-extension:get:completed")
class NoResults(ChangedStates):
    """Does not tell the result of a task."""

    def changed(self, state: Json) -> Json:
        return {key: value for key, value in state.items() if key != "result"}


@keeps("tasks-extension:get:completed")
class EmptyResults(ReferenceServer):
    """Completes a task with nothing."""

    async def run_slow(self, call: ReferenceCall, arguments: Json) -> Json:
        return {**await super().run_slow(call, arguments), "content": []}


@breaks("tasks-extension:get:cancelled")
class ForgetsCancelledTasks(ReferenceServer):
    """Forgets a task that is to be cancelled."""

    async def cancel_task(self, call: ReferenceCall) -> Json:
        result = await super().cancel_task(call)
        del self.tasks[call.params["taskId"]]
        return result


@keeps("tasks-extension:get:cancelled")
class CancelsLater(ReferenceServer):
    """Cancels a task a moment after it said that it would."""

    def stop_task(self, task: ReferenceTask) -> None:
        asyncio.get_running_loop().call_later(0.005, super().stop_task, task)


@breaks("tasks-extension:get:failed")
class ErrorsWithoutCode(ChangedStates):
    """Tells the error of a task without its code."""

    def changed(self, state: Json) -> Json:
        if "error" in state:
            return {**state, "error": {"message": state["error"]["message"]}}
        return state


@keeps("tasks-extension:get:failed")
class ErrorsWithData(ChangedStates):
    """Tells the error of a task with data."""

    def changed(self, state: Json) -> Json:
        return {**state, "error": {**state["error"], "data": [1]}} if "error" in state else state


@breaks("tasks-extension:failed-only")
class FailsWithTools(ReferenceServer):
    """Lets a task fail when its tool tells of an error."""

    def completed(self, task: ReferenceTask, result: Json) -> None:
        if result.get("isError"):
            text = str(result["content"][0]["text"])
            self.failed(task, Failure(self.profile.errors.internal_error, text))
        else:
            super().completed(task, result)


@keeps("tasks-extension:failed-only")
class CompletesWithWords(ChangedStates):
    """Says in words that a tool told of an error."""

    def changed(self, state: Json) -> Json:
        is_error = state.get("result", {}).get("isError")
        return {**state, "statusMessage": "it failed"} if is_error else state


@breaks("tasks-extension:keys")
class OneKey(ReferenceServer):
    """Has one key for all questions of a task."""

    async def ask_by_state(self, task: ReferenceTask, key: str, name: str, params: Json) -> Json:
        answer = await super().ask_by_state(task, "question", name, params)
        del task.answers["question"]
        return answer


@keeps("tasks-extension:keys")
class KeysOfAllTasks(ReferenceServer):
    """Has the same keys for the questions of each task."""

    async def ask_by_state(self, task: ReferenceTask, key: str, name: str, params: Json) -> Json:
        return await super().ask_by_state(task, key.rpartition("-")[2], name, params)


class ToldAnswers(ReferenceServer):
    """Answers one request about a task with its state."""

    method = ""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if python_name(call.method) == self.method:
            state = self.state(self.tasks[call.params["taskId"]])
            result = {**result, "taskId": state["taskId"], "status": state["status"]}
        return super().result_frame(call, result)


class NotedAnswers(ReferenceServer):
    """Answers one request about a task with metadata of its own."""

    method = ""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if python_name(call.method) == self.method:
            result = {**result, "_meta": {**result["_meta"], "com.example/task": True}}
        return super().result_frame(call, result)


@breaks("tasks-extension:update:empty")
class StatesAfterUpdates(ToldAnswers):
    """Answers an update with the state of the task."""

    method = "update_task"


@keeps("tasks-extension:update:empty")
class NotesAfterUpdates(NotedAnswers):
    """Answers an update with metadata."""

    method = "update_task"


@breaks("tasks-extension:cancel:empty")
class StatesAfterCancelling(ToldAnswers):
    """Answers the wish to cancel with the state of the task."""

    method = "cancel_task"


@keeps("tasks-extension:cancel:empty")
class NotesAfterCancelling(NotedAnswers):
    """Answers the wish to cancel with metadata."""

    method = "cancel_task"


@breaks("tasks-extension:update:stale")
class StrictUpdates(ReferenceServer):
    """Refuses answers to nothing that is open."""

    async def update_task(self, call: ReferenceCall) -> Json:
        if not call.params["inputResponses"].keys() <= self.find_task(call).questions.keys():
            raise Failure(self.profile.errors.invalid_params, "No such question")
        return await super().update_task(call)


@keeps("tasks-extension:update:stale")
class KeepsStaleAnswers(ReferenceServer):
    """Takes answers one at a time, and passes over all others of an update."""

    async def update_task(self, call: ReferenceCall) -> Json:
        answers: Json = call.params["inputResponses"]
        known = [key for key in answers if key in self.find_task(call).questions]
        call.params["inputResponses"] = {key: answers[key] for key in known[:1]}
        return await super().update_task(call)
