"""Core task protocol (2025-11-25): the client requests a task and fetches its result.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

import mcp_wire
from mcp_gen.client.requests.pages import walk_pages
from mcp_gen.client.tasks.protocol import TaskProtocol, await_known_task
from mcp_gen.client.tasks.state import snapshot_of
from mcp_gen.core.errors import InvalidRequest, McpError, MethodNotFound
from mcp_wire.peer_calls import ServerCaller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Mapping

    from msgspec import Raw

    from mcp_gen.client.requests.session_calls import SessionCalls
    from mcp_gen.client.tasks.protocol import InputAnswers
    from mcp_gen.client.tasks.state import TaskSnapshot

__all__ = ["CoreTaskProtocol"]


class _Execution(Struct, frozen=True, rename="camel"):
    task_support: str | None = None


class _ListedTool(Struct, frozen=True):
    name: str
    execution: _Execution = _Execution()


class _ListedTools(Struct, frozen=True):
    tools: tuple[_ListedTool, ...]


class CoreTaskProtocol(TaskProtocol):
    """Requests a task where the tool supports or requires one."""

    def __init__(self, calls: SessionCalls, max_pages: int) -> None:
        self._calls = calls
        self._max_pages = max_pages
        self._metadata: Any = mcp_wire.types(calls.session.revision).TaskMetadata
        self._task_support: dict[str, str | None] | None = None
        """Task support by tool name; None until the tools are listed for it."""
        self._listed: dict[str, str | None] = {}
        """Task support of the tools that the program has listed, by name."""
        if self._declared:
            self.listed_type = mcp_wire.types(calls.session.revision).ListToolsResult

    def note_listed(self, raw: Raw) -> Mapping[str, str | None]:
        """Cache and return the task support of the tools on a page of the tool list."""
        try:
            page = msgspec.json.decode(raw, type=_ListedTools)
        except msgspec.DecodeError:
            return {}  # newer types, with which the program reads the list, have no `execution`
        found = {tool.name: tool.execution.task_support for tool in page.tools}
        self._listed |= found
        return found

    async def task_params(self, tool: str, task_request: Any) -> Any:
        """Return TaskMetadata if the server declared tasks and the tool supports them.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation
        """
        if not self._declared or await self._task_support_of(tool) not in ("optional", "required"):
            return None
        if task_request is True:
            return self._metadata()
        return self._metadata(ttl=task_request) if isinstance(task_request, int) else task_request

    async def requires_task(self, tool: str, error: McpError) -> bool:
        """Return True if the tool is listed with the task support `required`."""
        if not self._declared:
            return False
        if error.code in (MethodNotFound.code, InvalidRequest.code):
            self.forget()  # the listed task support is outdated
        # Some servers use another error code: the listed task support decides then.
        try:
            return await self._task_support_of(tool) == "required"
        except McpError:
            return False  # tools cannot be listed: report the first error

    def forget(self) -> None:
        """Drop the listed task support: the tool list has changed."""
        self._task_support = None
        self._listed.clear()

    async def get(self, id: str, timeout_s: float | None) -> TaskSnapshot:
        """Send `tasks/get`."""
        request = self._calls.send_with_retry(
            lambda calls: calls.get_task(task_id=id, timeout_s=timeout_s)
        )
        return snapshot_of(await await_known_task(id, request))

    def answer_input(
        self, task: InputAnswers, snapshot: TaskSnapshot
    ) -> Coroutine[Any, Any, Any] | None:
        """Return an early `tasks/result` request while input is required.

        The server sends its input requests while that request is open.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#input-required-status
        """
        if snapshot.state.status != "input_required":
            return None
        return self._early_outcome(snapshot.state.id)

    async def _early_outcome(self, id: str) -> Any:
        try:
            return await self._get_payload(id, None)
        except McpError:
            # The task failed, or the server rejects early requests: its status shows which.
            return None

    async def outcome(self, snapshot: TaskSnapshot, timeout_s: float | None) -> Any:
        """Send `tasks/result`."""
        return await self._get_payload(snapshot.state.id, timeout_s)

    async def _get_payload(self, id: str, timeout_s: float | None) -> Any:
        result = await self._calls.send_with_retry(
            lambda calls: calls.get_task_payload(task_id=id, timeout_s=timeout_s)
        )
        return self._calls.tool_result(result)

    async def cancel(self, id: str, timeout_s: float | None) -> TaskSnapshot | None:
        """Send `tasks/cancel`."""
        request = self._calls.send_once(
            lambda calls: calls.cancel_task(task_id=id, timeout_s=timeout_s)
        )
        return snapshot_of(await request)

    @property
    def can_cancel(self) -> bool:
        """True if the server declared `tasks.cancel`."""
        tasks = self._calls.session.opening.capabilities.tasks
        return tasks is not None and tasks.cancel is not None

    async def list_tasks(self) -> AsyncIterator[TaskSnapshot]:
        """Yield all tasks (`tasks/list`), page by page."""
        request = partial(self._list_page, ServerCaller.list_tasks.__name__)
        async for task in walk_pages("tasks", request, lambda page: page.tasks, self._max_pages):
            yield snapshot_of(task)

    @property
    def _declared(self) -> bool:
        found: Any = self._calls.session.opening.capabilities
        for step in ("tasks", "requests", "tools", "call"):
            found = getattr(found, step, None)
        return found is not None

    async def _task_support_of(self, name: str) -> str | None:
        if name in self._listed:
            return self._listed[name]
        # Newer tool types lack `execution`: decode with the types of the negotiated revision.
        if self._task_support is None:
            request = partial(self._list_page, ServerCaller.list_tools.__name__)
            tools = walk_pages("tools", request, lambda page: page.tools, self._max_pages)
            self._task_support = {
                tool.name: tool.execution and tool.execution.task_support async for tool in tools
            }
        return self._task_support.get(name)

    async def _list_page(self, method: str, cursor: str | None) -> Any:
        timeout_s = self._calls.session.default_timeout_s
        return await self._calls.send_with_retry(
            lambda calls: getattr(calls, method)(cursor=cursor, timeout_s=timeout_s)
        )
