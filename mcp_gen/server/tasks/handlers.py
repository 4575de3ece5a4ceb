"""What a server answers where tasks are meant, as a revision's own methods have them."""

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
    """The part of a server that answers for tasks; only reached where it has declared them."""

    task_manager: TaskManager | None = None
    """The tasks, once there are any."""

    def _tasks(self, ctx: Context) -> CoreTaskHandler:
        if self.task_manager is None:
            raise MethodNotFound("this server has no tasks")
        found: CoreTaskHandler = self.task_manager.protocol(ctx.profile)
        return found

    async def get_task(self, ctx: Context, params: Any) -> Any:
        """tasks/get"""
        return await self._tasks(ctx).get(ctx, params.task_id)

    async def get_task_payload(self, ctx: Context, params: Any) -> Any:
        """tasks/result"""
        return await self._tasks(ctx).result(ctx, params.task_id)

    async def list_tasks(self, ctx: Context, params: Any) -> Any:
        """tasks/list"""
        return await self._tasks(ctx).page(ctx, params.cursor)

    async def cancel_task(self, ctx: Context, params: Any) -> Any:
        """tasks/cancel"""
        return await self._tasks(ctx).cancel(ctx, params.task_id)
