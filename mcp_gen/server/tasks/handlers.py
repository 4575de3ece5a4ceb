"""What a server answers where tasks are meant, as a revision's own methods have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import MethodNotFound
from mcp_wire.handlers import ServerHandlers

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.server import Server
    from mcp_gen.server.tasks.core_protocol import CoreTasks

__all__ = ["TaskHandlers"]


class TaskHandlers(ServerHandlers["Context"]):
    """The part of a server that answers for tasks; only reached where it has declared them."""

    server: Server

    def _tasks(self, ctx: Context) -> CoreTasks:
        if self.server.tasks is None:
            raise MethodNotFound("this server has no tasks")
        found: CoreTasks = self.server.tasks.protocol(ctx.profile)
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
