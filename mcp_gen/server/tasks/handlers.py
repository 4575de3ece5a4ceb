"""Handlers of tasks/get, tasks/result, tasks/list and tasks/cancel (2025-11-25)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import MethodNotFound
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.tasks.core_protocol import CoreTaskHandler
    from mcp_gen.server.tasks.manager import TaskManager

__all__ = ["TaskHandlers"]


class TaskHandlers(ServerHandlers["Context"]):
    """Handlers of the `tasks/*` methods; reached only if the server declared tasks."""

    task_manager: TaskManager | None = None
    """Manager of the tasks; None until the server has a tool that runs as one."""

    def _tasks(self, ctx: Context) -> CoreTaskHandler:
        if self.task_manager is None:
            raise MethodNotFound("this server has no tasks")
        handler: CoreTaskHandler = self.task_manager.protocol(ctx.profile)
        return handler

    async def get_task(self, ctx: Context, params: Any) -> Any:
        """Answer `tasks/get`."""
        return await self._tasks(ctx).get(ctx, params.task_id)

    async def get_task_payload(self, ctx: Context, params: Any) -> Any:
        """Answer `tasks/result`."""
        return await self._tasks(ctx).result(ctx, params.task_id)

    async def list_tasks(self, ctx: Context, params: Any) -> Any:
        """Answer `tasks/list`."""
        return await self._tasks(ctx).page(ctx, params.cursor)

    async def cancel_task(self, ctx: Context, params: Any) -> Any:
        """Answer `tasks/cancel`."""
        return await self._tasks(ctx).cancel(ctx, params.task_id)
