"""What a client answers where messages may belong to tasks, and requests may become some.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.client.callbacks.answers import CallbackAnswers
from mcp_gen.client.callbacks.own_tasks import ClientTasks
from mcp_gen.core.projection.project import project

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from mcp_gen.client.callbacks.callbacks import ClientCallbacks
    from mcp_gen.client.session.session import ClientSession
    from mcp_wire import common
    from mcp_wire.profile import Profile

__all__ = ["TaskAnswers"]


class TaskAnswers(CallbackAnswers):
    """The program's handlers; each answer says which of the server's tasks it belongs to.

    A client with `tasks` runs what a server asks for as a task of its own, if the server wants it.
    """

    def __init__(
        self,
        offer: ClientCallbacks,
        profile: Profile,
        run: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        super().__init__(offer, profile)
        self._key = profile.related_task_key or ""
        self._own = ClientTasks(profile, run) if offer.tasks else None
        self._about_tasks = {
            one.__name__
            for one in (self.get_task, self.get_task_payload, self.list_tasks, self.cancel_task)
        }

    def offers(self, name: str) -> bool:
        """Whether the request of this Python name is answered."""
        if name in self._about_tasks:
            return self._own is not None and self._offer.answers_with_tasks(self._profile)
        return super().offers(name)

    # --- what may become a task ---

    async def elicit(self, ctx: ClientSession, params: common.ElicitRequestParams) -> Any:
        """elicitation/create, see `Answers`; or the task that it becomes."""
        return await self._answered(ctx, params, super().elicit)

    async def create_message(
        self, ctx: ClientSession, params: common.CreateMessageRequestParams
    ) -> Any:
        """sampling/createMessage, see `Answers`; or the task that it becomes."""
        return await self._answered(ctx, params, super().create_message)

    async def list_roots(
        self, ctx: ClientSession, params: common.RequestParams | common.ListRootsRequestParams
    ) -> common.ListRootsResult:
        """roots/list, see `Answers`."""
        roots: common.ListRootsResult = self._related(params, await super().list_roots(ctx, params))
        return roots

    async def _answered(
        self, ctx: ClientSession, params: Any, handler: Callable[[Any, Any], Awaitable[Any]]
    ) -> Any:
        async def answer() -> Any:
            return self._related(params, await handler(ctx, params))

        if self._own is not None and params.task is not None:
            return await self._own.start(ctx, params.task.ttl, answer)
        return await answer()

    def _related(self, params: Any, result: Any) -> Any:
        related = params.meta and params.meta.get(self._key)
        if related is None:
            return result
        made = project(result, self._profile.revision).value  # newer ones have no `meta`
        return msgspec.structs.replace(made, meta={**(made.meta or {}), self._key: related})

    # --- what has become of it ---

    async def get_task(
        self, ctx: ClientSession, params: common.GetTaskRequestParams
    ) -> common.GetTaskResult:
        """tasks/get"""
        return await self._tasks.get(params.task_id)

    async def get_task_payload(
        self, ctx: ClientSession, params: common.GetTaskPayloadRequestParams
    ) -> common.GetTaskPayloadResult:
        """tasks/result, once there is one."""
        return await self._tasks.outcome(params.task_id)

    async def list_tasks(
        self, ctx: ClientSession, params: common.PaginatedRequestParams
    ) -> common.ListTasksResult:
        """tasks/list"""
        return await self._tasks.all(params.cursor)

    async def cancel_task(
        self, ctx: ClientSession, params: common.CancelTaskRequestParams
    ) -> common.CancelTaskResult:
        """tasks/cancel"""
        return await self._tasks.cancel(params.task_id)

    @property
    def _tasks(self) -> ClientTasks:
        assert self._own is not None
        return self._own
