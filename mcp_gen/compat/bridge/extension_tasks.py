"""Requests of the tasks extension, forwarded where the server speaks the client's revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_wire.extensions.tasks import (
    CancelTaskRequestParams,
    GetTaskRequestParams,
    Handlers,
    TaskSubscriptionAcknowledgedNotifications,
    TaskSubscriptionNotifications,
    UpdateTaskRequestParams,
    methods,
)

if TYPE_CHECKING:
    from mcp_gen.compat.bridge.upstreams import Upstreams
    from mcp_gen.server.context.context import Context
    from mcp_wire.method import Method

__all__ = ["TaskForwarding"]


class TaskForwarding(Handlers["Context"]):
    """Handlers of the tasks extension.

    Args:
        upstreams: Sessions with the server.
    """

    def __init__(self, upstreams: Upstreams) -> None:
        self._upstreams = upstreams

    async def _forward(self, ctx: Context, method: Method[Any, Any], params: Any) -> Any:
        upstream = await self._upstreams.of(ctx)
        return await upstream.call_extension(ctx, method, params)

    async def get_task(self, ctx: Context, params: GetTaskRequestParams) -> Any:
        """Forward `tasks/get`."""
        return await self._forward(ctx, methods.TASKS_GET, params)

    async def update_task(self, ctx: Context, params: UpdateTaskRequestParams) -> Any:
        """Forward `tasks/update`."""
        return await self._forward(ctx, methods.TASKS_UPDATE, params)

    async def cancel_task(self, ctx: Context, params: CancelTaskRequestParams) -> Any:
        """Forward `tasks/cancel`."""
        return await self._forward(ctx, methods.TASKS_CANCEL, params)

    async def agree(
        self, ctx: Context, wanted: TaskSubscriptionNotifications
    ) -> TaskSubscriptionAcknowledgedNotifications:
        """Grant no notifications of tasks: clients poll with `tasks/get`."""
        return TaskSubscriptionAcknowledgedNotifications()
