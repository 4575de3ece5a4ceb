"""Task status notifications to `subscriptions/listen` requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

import mcp_wire
from mcp_gen.core.errors import InvalidParams
from mcp_gen.server.notifications.listeners import GrantedFilter
from mcp_gen.server.notifications.topics import ChangeTopic
from mcp_wire.extensions.tasks import EXTENSION, methods

if TYPE_CHECKING:
    import asyncio

    from mcp_gen.core.stores.tasks import StoredTask
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.notifications.listeners import EncodedNotification, Listeners
    from mcp_gen.server.tasks.manager import TaskManager

__all__ = ["TaskStatusListeners"]

_METHOD = methods.NOTIFICATIONS_TASKS
_PROFILE = mcp_wire.profile(EXTENSION.revisions[-1])


class TaskStatusListeners:
    """Task status topics of `subscriptions/listen` (`notifications/tasks`)."""

    def __init__(self, manager: TaskManager, listeners: Listeners) -> None:
        self._manager = manager
        self._listeners = listeners

    async def granted(self, ctx: Context, wanted: Any) -> GrantedFilter:
        """Return the part of the requested filter that the request may subscribe to.

        Raises:
            MissingCapability: The filter names tasks, but the client did not declare the extension.
        """
        ids: list[str] = list(dict.fromkeys(getattr(wanted, "task_ids", None) or ()))
        if not ids:
            return GrantedFilter({})
        ctx.require(EXTENSION)
        known = [id for id in ids if await self._is_known(ctx, id)]
        topics = tuple(map(_topic, known))

        async def initial_notifications(topic: ChangeTopic) -> Sequence[EncodedNotification]:
            # The last change may precede the subscription, so send the current status first.
            task = await self._manager.store.load(str(topic.uri))
            if task is None or not (task.is_final or task.questions):
                return ()
            return ((_METHOD, b"," + self._params(task)[1:]),)

        return GrantedFilter({"task_ids": known or None}, topics, initial_notifications)

    async def _is_known(self, ctx: Context, id: str) -> bool:
        try:
            await self._manager.find(ctx, id)
        except InvalidParams:
            return False
        return True

    def is_watched(self, id: str) -> bool:
        """Return True if a task has listeners."""
        return self._listeners.has_listeners(_topic(id))

    def publish(self, task: StoredTask, here: asyncio.AbstractEventLoop) -> None:
        """Send the status of a task to its listeners, on every event loop that serves.

        Args:
            task: The task.
            here: The running event loop.
        """
        if not self.is_watched(task.id):
            return
        topic, params = _topic(task.id), self._params(task)
        for loop in list(self._manager.kernel.loops):
            if loop is here:
                self._listeners.publish_extension(topic, _METHOD, params, loop)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(
                    self._listeners.publish_extension, topic, _METHOD, params, loop
                )

    def _params(self, task: StoredTask) -> bytes:
        return msgspec.json.encode(self._manager.protocol(_PROFILE).notice(task))


def _topic(id: str) -> ChangeTopic:
    return ChangeTopic("", "", "", id)
