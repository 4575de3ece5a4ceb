"""Answers task-augmented server requests and relates answers to the server's own tasks.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.client.callbacks.answers import CallbackAnswers
from mcp_gen.client.callbacks.own_tasks import ClientTasks
from mcp_gen.core.projection.project import restate

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from mcp_gen.client.callbacks.callbacks import ClientCallbacks
    from mcp_gen.client.session.session import ClientSession
    from mcp_wire import common
    from mcp_wire.profile import Profile

__all__ = ["TaskAnswers"]


class TaskAnswers(CallbackAnswers):
    """Request handlers that copy the related task into `_meta` and may answer with a task.

    A client with `tasks` runs a request as a task of its own if the server asks for one.
    """

    def __init__(
        self,
        callbacks: ClientCallbacks,
        profile: Profile,
        run: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        super().__init__(callbacks, profile)
        self._key = profile.related_task_key or ""
        self._client_tasks = ClientTasks(profile, run) if callbacks.tasks else None
        self._task_methods = {
            one.__name__
            for one in (self.get_task, self.get_task_payload, self.list_tasks, self.cancel_task)
        }

    def offers(self, name: str) -> bool:
        """Return True if the request with this Python name is answered."""
        if name in self._task_methods:
            return self._client_tasks is not None and self._callbacks.answers_with_tasks(
                self._profile
            )
        return super().offers(name)

    # --- requests that may run as tasks ---

    async def elicit(self, ctx: ClientSession, params: common.ElicitRequestParams) -> Any:
        """Answer `elicitation/create` with the result or a task; see `CallbackAnswers.elicit`."""
        return await self._answer(ctx, params, super().elicit)

    async def create_message(
        self, ctx: ClientSession, params: common.CreateMessageRequestParams
    ) -> Any:
        """Answer `sampling/createMessage` with the result or a task; see `CallbackAnswers`."""
        return await self._answer(ctx, params, super().create_message)

    async def list_roots(
        self, ctx: ClientSession, params: common.RequestParams | common.ListRootsRequestParams
    ) -> common.ListRootsResult:
        """Answer `roots/list`; see `CallbackAnswers.list_roots`."""
        roots: common.ListRootsResult = self._related(params, await super().list_roots(ctx, params))
        return roots

    async def _answer(
        self, ctx: ClientSession, params: Any, handler: Callable[[Any, Any], Awaitable[Any]]
    ) -> Any:
        async def answer() -> Any:
            return self._related(params, await handler(ctx, params))

        if self._client_tasks is not None and params.task is not None:
            return await self._client_tasks.start(ctx, params.task.ttl, answer)
        return await answer()

    def _related(self, params: Any, result: Any) -> Any:
        related = params.meta and params.meta.get(self._key)
        if related is None:
            return result
        projected = restate(
            result, self._profile.revision
        ).value  # results of newer types have no `meta`
        return msgspec.structs.replace(
            projected, meta={**(projected.meta or {}), self._key: related}
        )

    # --- tasks/get, tasks/result, tasks/list, tasks/cancel ---

    async def get_task(
        self, ctx: ClientSession, params: common.GetTaskRequestParams
    ) -> common.GetTaskResult:
        """Answer `tasks/get`."""
        return await self._tasks.get(params.task_id)

    async def get_task_payload(
        self, ctx: ClientSession, params: common.GetTaskPayloadRequestParams
    ) -> common.GetTaskPayloadResult:
        """Answer `tasks/result` when the task has finished."""
        return await self._tasks.outcome(params.task_id)

    async def list_tasks(
        self, ctx: ClientSession, params: common.PaginatedRequestParams
    ) -> common.ListTasksResult:
        """Answer `tasks/list`."""
        return await self._tasks.all(params.cursor)

    async def cancel_task(
        self, ctx: ClientSession, params: common.CancelTaskRequestParams
    ) -> common.CancelTaskResult:
        """Answer `tasks/cancel`."""
        return await self._tasks.cancel(params.task_id)

    @property
    def _tasks(self) -> ClientTasks:
        assert self._client_tasks is not None
        return self._client_tasks
