"""Task protocol of the tasks extension: the server creates tasks; results come with `tasks/get`.

Source: https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from mcp_gen.client.tasks.protocol import TaskProtocol, await_known_task
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
    """Handles tasks that the server creates unrequested."""

    def __init__(self, calls: SessionCalls) -> None:
        self._calls = calls
        self._to_server = ToServer(calls.session)

    async def task_params(self, tool: str, task_request: Any) -> Any:
        """Return None: the server alone decides."""
        return None

    async def requires_task(self, tool: str, error: McpError) -> bool:
        """Return False: calls are not rejected for lack of a task."""
        return False

    def forget(self) -> None:
        """Do nothing: no facts are cached."""

    async def get(self, id: str, timeout_s: float | None) -> TaskSnapshot:
        """Send `tasks/get`; the result or error comes with the state."""
        request = self._calls.send_with_retry(
            lambda _: self._to_server.get_task(id, timeout_s=timeout_s)
        )
        return snapshot_of(await await_known_task(id, request))

    def answer_input(
        self, task: InputAnswers, snapshot: TaskSnapshot
    ) -> Coroutine[Any, Any, Any] | None:
        """Return a `tasks/update` request with the answers that the server does not have yet."""
        requests = {
            key: one for key, one in snapshot.input_requests.items() if key not in task.told
        }
        return self._answer(task, snapshot.state.id, requests) if requests else None

    async def _answer(self, task: InputAnswers, id: str, requests: Mapping[str, Any]) -> None:
        unanswered = {key: one for key, one in requests.items() if key not in task.answers}
        task.answers |= await self._calls.answer_requests(unanswered)
        answers = {key: task.answers[key] for key in requests}
        try:
            # Servers ignore answers they already have, so a retry is safe.
            await self._calls.send_with_retry(lambda _: self._to_server.update_task(id, answers))
        except McpError:
            if not (await self.get(id, None)).state.finished:
                raise
        task.told.update(requests)

    async def outcome(self, snapshot: TaskSnapshot, timeout_s: float | None) -> Any:
        """Return the result that came with the state."""
        if snapshot.result is None and snapshot.error is None:
            # Finished on creation: the answer to the call has the status, but no result.
            snapshot = await self.get(snapshot.state.id, timeout_s)
        if snapshot.error is not None:
            data = None if snapshot.error.data is UNSET else snapshot.error.data
            raise McpError(snapshot.error.code, snapshot.error.message, data)
        return self._calls.tool_result(snapshot.result)

    async def cancel(self, id: str, timeout_s: float | None) -> TaskSnapshot | None:
        """Send `tasks/cancel`; return None, because the server only acknowledges it."""
        request = self._calls.send_once(
            lambda _: self._to_server.cancel_task(id, timeout_s=timeout_s)
        )
        await await_known_task(id, request)
        return None

    @property
    def can_cancel(self) -> bool:
        """True: every server of the extension supports `tasks/cancel`."""
        return True

    def list_tasks(self) -> AsyncIterator[TaskSnapshot]:
        """Raise UsageError: the extension has no list of tasks."""
        raise UsageError(f"{self._calls.session.revision} has no list of tasks: keep their ids")
