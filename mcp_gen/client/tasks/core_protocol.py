"""Tasks as a revision itself has them: the client asks for one, and fetches what came of it.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.client.requests.pages import walk_pages
from mcp_gen.client.tasks.protocol import TaskProtocol, known
from mcp_gen.client.tasks.state import snapshot_of
from mcp_gen.core.errors import InvalidRequest, McpError, MethodNotFound
from mcp_wire.callers import ServerCaller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from mcp_gen.client.requests.session_calls import SessionCalls
    from mcp_gen.client.tasks.protocol import InputAnswers
    from mcp_gen.client.tasks.state import TaskSnapshot

__all__ = ["CoreTaskProtocol"]


class CoreTaskProtocol(TaskProtocol):
    """The client asks for a task where the tool allows it, or needs it."""

    def __init__(self, calls: SessionCalls, max_pages: int) -> None:
        self._calls = calls
        self._max_pages = max_pages
        self._metadata: Any = mcp_wire.types(calls.session.revision).TaskMetadata
        self._support: dict[str, str | None] | None = None
        """What each tool says of tasks, once the tools were listed."""

    async def task_params(self, tool: str, asked_for: Any) -> Any:
        """TaskMetadata, if the server has declared tasks and the tool allows one.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation
        """
        if not self._declared or await self._supported(tool) not in ("optional", "required"):
            return None
        if asked_for is True:
            return self._metadata()
        return self._metadata(ttl=asked_for) if isinstance(asked_for, int) else asked_for

    async def requires_task(self, tool: str, error: McpError) -> bool:
        """Whether the tool is listed as one that runs as a task only."""
        if not self._declared:
            return False
        if error.code in (MethodNotFound.code, InvalidRequest.code):
            self.forget()  # what was listed before has just been contradicted
        # There are servers that say so with another code: then what was listed will do.
        try:
            return await self._supported(tool) == "required"
        except McpError:
            return False  # a server that lists nothing: what it said first is what is wrong

    def forget(self) -> None:
        """There are other tools now."""
        self._support = None

    async def get(self, id: str, timeout_s: float | None) -> TaskSnapshot:
        """Ask where a task stands."""
        asking = self._calls.send_with_retry(
            lambda calls: calls.get_task(task_id=id, timeout_s=timeout_s)
        )
        return snapshot_of(await known(id, asking))

    def answer_input(
        self, task: InputAnswers, seen: TaskSnapshot
    ) -> Coroutine[Any, Any, Any] | None:
        """Ask for what comes of it before it is over: the server asks live meanwhile.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#input-required-status
        """
        if seen.state.status != "input_required":
            return None
        return self._early_outcome(seen.state.id)

    async def _early_outcome(self, id: str) -> Any:
        try:
            return await self._payload(id, None)
        except McpError:
            # What came of it, or that this server does not like the question: its status tells.
            return None

    async def outcome(self, seen: TaskSnapshot, timeout_s: float | None) -> Any:
        """Fetch what came of it."""
        return await self._payload(seen.state.id, timeout_s)

    async def _payload(self, id: str, timeout_s: float | None) -> Any:
        result = await self._calls.send_with_retry(
            lambda calls: calls.get_task_payload(task_id=id, timeout_s=timeout_s)
        )
        return self._calls.tool_result(result)

    async def cancel(self, id: str, timeout_s: float | None) -> TaskSnapshot | None:
        """Call it off."""
        asking = self._calls.send_once(
            lambda calls: calls.cancel_task(task_id=id, timeout_s=timeout_s)
        )
        return snapshot_of(await asking)

    @property
    def can_cancel(self) -> bool:
        """Whether the server has declared it."""
        tasks = self._calls.session.server_capabilities.tasks
        return tasks is not None and tasks.cancel is not None

    async def list_tasks(self) -> AsyncIterator[TaskSnapshot]:
        """All pages of them."""
        asking = partial(self._page, ServerCaller.list_tasks.__name__)
        async for task in walk_pages("tasks", asking, lambda page: page.tasks, self._max_pages):
            yield snapshot_of(task)

    @property
    def _declared(self) -> bool:
        found: Any = self._calls.session.server_capabilities
        for step in ("tasks", "requests", "tools", "call"):
            found = getattr(found, step, None)
        return found is not None

    async def _supported(self, name: str) -> str | None:
        # Newer revisions list tools without it: they are read with the types of this one.
        if self._support is None:
            asking = partial(self._page, ServerCaller.list_tools.__name__)
            tools = walk_pages("tools", asking, lambda page: page.tools, self._max_pages)
            self._support = {
                tool.name: tool.execution and tool.execution.task_support async for tool in tools
            }
        return self._support.get(name)

    async def _page(self, lists: str, cursor: str | None) -> Any:
        timeout_s = self._calls.session.default_timeout_s
        return await self._calls.send_with_retry(
            lambda calls: getattr(calls, lists)(cursor=cursor, timeout_s=timeout_s)
        )
