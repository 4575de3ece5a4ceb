"""Clients that make tasks of questions and break the rules of that, and their twins."""

from __future__ import annotations

from typing import Any, ClassVar

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.reference.task_client import TASKS_OF_CLIENT, AnswersAsTasks
from mcp_gen.compat.zoo.zoo import breaks, keeps


class _MakesTasks(ClientScript):
    """Makes tasks of questions."""

    answering: ClassVar[type[AnswersAsTasks]] = AnswersAsTasks
    declares: ClassVar[Json] = {"tasks": TASKS_OF_CLIENT}

    def __init__(self, *made: Any) -> None:
        super().__init__(*made)
        self.answers = self.answering(self.profile)
        self.capabilities = {**self.capabilities, **self.declares}


@breaks("tasks:client:receives:declared")
class MakesTasksUnsaid(_MakesTasks):
    """Makes tasks of questions, and does not say so."""

    declares: ClassVar[Json] = {}


@keeps("tasks:client:receives:declared")
class ListsNoTasks(_MakesTasks):
    """Makes tasks of questions, and says that they are not listed."""

    declares: ClassVar[Json] = {
        "tasks": {key: one for key, one in TASKS_OF_CLIENT.items() if key != "list"}
    }


@breaks("tasks:client:receives:ignored")
class RefusesToMakeTasks(ClientScript):
    """Makes no tasks, and refuses questions that are to be some."""

    def is_malformed(self, asked: Json) -> bool:
        return is_object(member(asked, "params", "task")) or super().is_malformed(asked)


@keeps("tasks:client:receives:ignored")
class MakesTasksOfOthers(_MakesTasks):
    """Makes tasks of questions to the model alone."""

    declares: ClassVar[Json] = {
        "tasks": {**TASKS_OF_CLIENT, "requests": {"sampling": {"createMessage": {}}}}
    }

    class _OfTheModel(AnswersAsTasks):
        def elicit(self, params: Json) -> Json:
            return super().elicit({key: one for key, one in params.items() if key != "task"})

    answering = _OfTheModel


class _AnswersAtOnce(AnswersAsTasks):
    def elicit(self, params: Json) -> Json:
        return super().elicit({key: one for key, one in params.items() if key != "task"})


class _EndsAtOnce(AnswersAsTasks):
    def created(self, answer: Json) -> Json:
        made = super().created(answer)
        self.end(self.states[made["task"]["taskId"]], "completed")
        return made


@breaks("tasks:client:receives:created")
class AnswersAtOnce(_MakesTasks):
    """Says that it makes tasks of questions, and answers them plainly."""

    answering = _AnswersAtOnce


@keeps("tasks:client:receives:created")
class EndsTasksAtOnce(_MakesTasks):
    """Has answered a question before it tells of the task."""

    answering = _EndsAtOnce


class _FindsNoTask(AnswersAsTasks):
    def state(self, params: Json) -> Json:
        if params.get("taskId") not in self.states:
            failure = self.refusal("Unknown task")
            failure.code = self.profile.errors.internal_error
            raise failure
        return super().state(params)


class _SaysWhich(AnswersAsTasks):
    def state(self, params: Json) -> Json:
        if params.get("taskId") not in self.states:
            raise self.refusal(f"There is no task {params.get('taskId')!r} any more")
        return super().state(params)


@breaks("tasks:client:receives:errors")
class BlamesItself(_MakesTasks):
    """Answers with an internal error where it does not know a task."""

    answering = _FindsNoTask


@keeps("tasks:client:receives:errors")
class SaysWhichTask(_MakesTasks):
    """Says which task it does not know."""

    answering = _SaysWhich


class _GoesOn(AnswersAsTasks):
    def get_task(self, params: Json) -> Json:
        state = self.state(params)
        if state["status"] == "cancelled":
            state["status"] = "completed"
        return super().get_task(params)


class _Forgets(AnswersAsTasks):
    def cancel_task(self, params: Json) -> Json:
        state = super().cancel_task(params)
        del self.states[state["taskId"]]
        return state


@breaks("tasks:client:receives:cancel")
class CompletesCancelledTasks(_MakesTasks):
    """Goes on with a task that was cancelled, and completes it."""

    answering = _GoesOn


@keeps("tasks:client:receives:cancel")
class ForgetsItsCancelledTasks(_MakesTasks):
    """Forgets a task as soon as it is cancelled."""

    answering = _Forgets
