"""Scenario of a server that wants tasks of its questions."""

from __future__ import annotations

import contextlib
from typing import Any

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.reference.tasks import TTL_MS
from mcp_gen.compat.scenarios.asking.asking_server import NAME_FORM, SAY_SOMETHING, AskingServer
from mcp_gen.compat.scenarios.scenario import stimulus

__all__ = ["CANCELLED_MESSAGE", "WantsTasks"]

QUESTIONS = {"elicit": ("elicitation", NAME_FORM), "create_message": ("sampling", SAY_SOMETHING)}
"""Capability to be asked, and params, by the Python name of a question."""
CANCELLED_MESSAGE = "This question will be cancelled."
"""Message of the form whose task is cancelled: a program may leave it open."""
UNKNOWN = "a-task-that-there-is-not"


@stimulus("tasks:client:receives:created")
class WantsTasks(AskingServer):
    """Wants tasks of its questions, whatever was declared, and asks for them; cancels one."""

    async def when_ready(self) -> None:
        """Ask whom one can ask, plainly and as tasks; then about a task that there is not."""
        for name, (capability, params) in QUESTIONS.items():
            if capability in self.client_capabilities:
                await self._result_of(name, params)
                await self._ask_about(await self._task_for(name, params))
        if "elicitation" in self.client_capabilities:
            await self._call_off(await self._task_for("elicit", self._cancelled_form()))
        if "tasks" in self.client_capabilities:
            for name in ("get_task", "get_task_payload", "cancel_task"):
                await self._result_of(name, {"taskId": UNKNOWN})

    def _cancelled_form(self) -> Json:
        return {**NAME_FORM, "message": CANCELLED_MESSAGE}

    async def _result_of(self, name: str, params: Json) -> Json:
        """Ask, and return the result; empty for an error."""
        with contextlib.suppress(Failure):
            return await self.ask(self.question(name, params))
        return {}

    async def _task_for(self, name: str, params: Json) -> Any:
        """Ask a question that is to be a task; return the task's id, None for none."""
        result = await self._result_of(name, {**params, "task": {"ttl": TTL_MS}})
        task = result.get("task")
        return member(task, "taskId") if is_object(task) else None

    async def _ask_about(self, id: Any) -> None:
        if id is not None:
            await self._result_of("get_task", {"taskId": id})
            await self._result_of("get_task_payload", {"taskId": id})

    async def _call_off(self, id: Any) -> None:
        if id is not None:
            await self._result_of("cancel_task", {"taskId": id})
            await self._result_of("get_task", {"taskId": id})
