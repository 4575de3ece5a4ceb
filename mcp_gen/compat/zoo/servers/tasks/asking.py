"""Servers that break the rules of tasks of their questions, and their twins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.views.task_traffic import TASKS_OF_QUESTIONS
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_gen.compat.reference.call import Outlet

TTL_MS = 60_000


class _MakesTasksOfQuestions(ReferenceServer):
    """Wants tasks of its questions, where its client takes them."""

    def question_frame(self, name: str, params: Json) -> Json:
        """Return the question, to be a task where that is declared."""
        frame = super().question_frame(name, params)
        if name in TASKS_OF_QUESTIONS and self.wants_task(name):
            frame["params"]["task"] = {"ttl": TTL_MS}
        return frame

    def wants_task(self, name: str) -> bool:
        """Return True if the client has declared that it makes tasks of a question."""
        path = ("tasks", "requests", *TASKS_OF_QUESTIONS[name])
        return is_object(member(self.client_capabilities, *path))

    async def ask(self, frame: Json, outlet: Outlet | None = None) -> Json:
        """Ask, and return the answer, if need be that of the task."""
        answer = await super().ask(frame, outlet)
        id = member(answer, "task", "taskId")
        return answer if id is None else await self.answer_of(id, outlet)

    async def answer_of(self, id: str, outlet: Outlet | None) -> Json:
        """Return the result of a task of the client."""
        return await self.ask(self.question_frame("get_task_payload", {"taskId": id}), outlet)


@breaks("tasks:asking:result")
class GuessesAnswers(_MakesTasksOfQuestions):
    """Asks for the state of the client's task, and takes it for the answer."""

    async def answer_of(self, id: str, outlet: Outlet | None) -> Json:
        return await self.ask(self.question_frame("get_task", {"taskId": id}), outlet)


@keeps("tasks:asking:result")
class AsksUntilTheEnd(_MakesTasksOfQuestions):
    """Asks for the state of the client's task until it has ended, and then for its result."""

    async def answer_of(self, id: str, outlet: Outlet | None) -> Json:
        state: Json = {}
        while state.get("status") != "completed":
            state = await self.ask(self.question_frame("get_task", {"taskId": id}), outlet)
        return await super().answer_of(id, outlet)


@breaks("tasks:asking:declared")
class QuestionsAsTasks(_MakesTasksOfQuestions):
    """Wants tasks of its questions to the user, whoever the client is."""

    def wants_task(self, name: str) -> bool:
        return name == "elicit"


@keeps("tasks:asking:declared")
class QuestionsAboutTasks(ReferenceServer):
    """Says of a question in its metadata that it takes time."""

    def question_frame(self, name: str, params: Json) -> Json:
        meta = {**params.get("_meta", {}), "com.example/task": {"ttl": 60_000}}
        return super().question_frame(name, {**params, "_meta": meta})
