"""Tasks that clients listen to: told on their streams as soon as they stand elsewhere."""

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
    from mcp_gen.core.stores.tasks import StoredTask
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.notifications.listeners import Listeners, Said
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tasks.running import RunningTask

__all__ = ["TaskStatusListeners"]

_METHOD = methods.NOTIFICATIONS_TASKS
_PROFILE = mcp_wire.profile(EXTENSION.revisions[-1])


class TaskStatusListeners:
    """What requests that listen may hear of tasks."""

    def __init__(self, box: TaskManager, listeners: Listeners) -> None:
        self._box = box
        self._listeners = listeners

    async def granted(self, ctx: Context, wanted: Any) -> GrantedFilter:
        """Of the tasks that a request wants to hear of, those that it may ask for.

        Raises:
            MissingCapability: the client wants to hear of tasks, and does not say it knows of them.
        """
        ids: list[str] = list(dict.fromkeys(getattr(wanted, "task_ids", None) or ()))
        if not ids:
            return GrantedFilter({})
        ctx.require(EXTENSION)
        found = [id for id in ids if await self._is_known(ctx, id)]
        topics = tuple(map(_topic, found))

        async def so_far(topic: ChangeTopic) -> Sequence[Said]:
            # What has come to rest before anybody listened would not be told of any more.
            task = await self._box.store.load(topic.uri)
            if task is None or not (task.over or task.questions):
                return ()
            return ((_METHOD, b"," + self._params(task)[1:]),)

        return GrantedFilter({"task_ids": found or None}, topics, so_far)

    async def _is_known(self, ctx: Context, id: str) -> bool:
        try:
            await self._box.find(ctx, id)
        except InvalidParams:
            return False
        return True

    def publish(self, task: RunningTask) -> None:
        """A task stands elsewhere."""
        topic = _topic(task.id)
        if not self._listeners.has_listeners(topic):
            return
        params = self._params(task.record)
        for loop in list(self._box.kernel.loops):
            if loop is task.loop:
                self._listeners.publish_extension(topic, _METHOD, params, loop)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(
                    self._listeners.publish_extension, topic, _METHOD, params, loop
                )

    def _params(self, task: StoredTask) -> bytes:
        return msgspec.json.encode(self._box.protocol(_PROFILE).notice(task))


def _topic(id: str) -> ChangeTopic:
    return ChangeTopic("", "", "", id)
