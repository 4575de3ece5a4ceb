"""Tasks that clients listen to: told on their streams as soon as they stand elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.core.errors import InvalidParams
from mcp_gen.server.topics import Also
from mcp_wire.extensions.tasks import EXTENSION, methods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_gen.core.task_store import StoredTask
    from mcp_gen.server.context import Context
    from mcp_gen.server.tasks.box import TaskBox
    from mcp_gen.server.tasks.running import RunningTask

__all__ = ["WatchedTasks"]

_FIELD: str = EXTENSION.wanted.__struct_fields__[0]
"""Under which clients name the tasks that they want to hear of."""
_METHOD = methods.NOTIFICATIONS_TASKS


class WatchedTasks:
    """What requests that listen hear of tasks."""

    def __init__(self, box: TaskBox) -> None:
        self._box = box
        self._news = box.server.notify
        self._news.tell_first(_FIELD, self._so_far)

    async def granted(self, ctx: Context, wanted: Any) -> list[str] | None:
        """Of the tasks that a client wants to hear of, those that it may ask for."""
        asked: Sequence[str] = getattr(wanted, _FIELD) or ()
        ids = dict.fromkeys(asked)
        return [id for id in ids if await self._is_known(ctx, id)] or None

    async def _is_known(self, ctx: Context, id: str) -> bool:
        try:
            await self._box.find(ctx, id)
        except InvalidParams:
            return False
        return True

    async def _so_far(self, id: str) -> Any:
        # What has come to rest before anybody listened would not be told of any more.
        task = await self._box.store.load(id)
        if task is None or not (task.over or task.questions):
            return None
        return _METHOD, self._notice(task)

    def tell(self, task: RunningTask) -> None:
        """A task stands elsewhere."""
        topic = Also(_FIELD, task.id)
        if self._news.has_listeners(topic):
            self._news.tell_also(topic, _METHOD, self._notice(task.record))

    def _notice(self, task: StoredTask) -> Any:
        profile = mcp_wire.profile(EXTENSION.revisions[-1])
        return self._box.protocol(profile).notice(task)
