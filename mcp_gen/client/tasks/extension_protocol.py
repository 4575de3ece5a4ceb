"""Tasks as an extension has them: the server decides, and what came of it comes with its state.

Source: https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from mcp_gen.client.tasks.protocol import TaskProtocol, known
from mcp_gen.client.tasks.state import snapshot_of
from mcp_gen.core.errors import McpError, UsageError
from mcp_wire.extensions.tasks.requests import ToServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Mapping

    from mcp_gen.client.requests.session_calls import SessionCalls
    from mcp_gen.client.tasks.protocol import InputAnswers
    from mcp_gen.client.tasks.state import TaskSnapshot

__all__ = ["ExtensionTaskProtocol"]


class ExtensionTaskProtocol(TaskProtocol):
    """The server answers a call with a task where it sees fit."""

    def __init__(self, calls: SessionCalls) -> None:
        self._calls = calls
        self._to_server = ToServer(calls.session)

    async def task_params(self, tool: str, asked_for: Any) -> Any:
        """Nothing: the server alone decides."""
        return None

    async def requires_task(self, tool: str, error: McpError) -> bool:
        """It was refused for another reason."""
        return False

    def forget(self) -> None:
        """Nothing is known of tools."""

    async def get(self, id: str, timeout_s: float | None) -> TaskSnapshot:
        """Ask where a task stands, and for what comes with that."""
        asking = self._calls.send_with_retry(
            lambda _: self._to_server.get_task(id, timeout_s=timeout_s)
        )
        return snapshot_of(await known(id, asking))

    def answer_input(
        self, task: InputAnswers, seen: TaskSnapshot
    ) -> Coroutine[Any, Any, Any] | None:
        """Answer what the server asks and has not been told yet."""
        asked = {key: one for key, one in seen.questions.items() if key not in task.told}
        return self._answer(task, seen.state.id, asked) if asked else None

    async def _answer(self, task: InputAnswers, id: str, asked: Mapping[str, Any]) -> None:
        unasked = {key: one for key, one in asked.items() if key not in task.answers}
        task.answers |= await self._calls.answer_requests(unasked)
        answers = {key: task.answers[key] for key in asked}
        try:
            # What it has been told already a server passes over, so it may be told again.
            await self._calls.send_with_retry(lambda _: self._to_server.update_task(id, answers))
        except McpError:
            if not (await self.get(id, None)).state.finished:
                raise
        task.told.update(asked)

    async def outcome(self, seen: TaskSnapshot, timeout_s: float | None) -> Any:
        """What came with its state."""
        if seen.result is None and seen.error is None:
            # It was over when it began: the answer to a call says that, and no more.
            seen = await self.get(seen.state.id, timeout_s)
        if seen.error is not None:
            data = None if seen.error.data is UNSET else seen.error.data
            raise McpError(seen.error.code, seen.error.message, data)
        return self._calls.tool_result(seen.result)

    async def cancel(self, id: str, timeout_s: float | None) -> TaskSnapshot | None:
        """Call it off; the server only says that it has heard."""
        asking = self._calls.send_once(
            lambda _: self._to_server.cancel_task(id, timeout_s=timeout_s)
        )
        await known(id, asking)
        return None

    @property
    def can_cancel(self) -> bool:
        """Every server does."""
        return True

    def list_tasks(self) -> AsyncIterator[TaskSnapshot]:
        """There is no list."""
        raise UsageError(f"{self._calls.session.revision} has no list of tasks: keep their ids")
