"""Tasks extension (2026-07-28): the server decides which calls become tasks.

Source: https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, get_args

import msgspec
from msgspec import UNSET

import mcp_wire
from mcp_gen.core.errors import McpError, ProtocolError
from mcp_gen.server.context.context import Context, origin_of, set_rounds
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.server.tasks.context import task_context, task_coroutine
from mcp_gen.server.tasks.core_protocol import result_at
from mcp_gen.server.tasks.expiry import iso, ttl_ms
from mcp_gen.server.tasks.input_requests import TaskInputRequests
from mcp_gen.session.messages.channel import NULL_CHANNEL
from mcp_wire import encode, latest
from mcp_wire.extensions.tasks import (
    EXTENSION,
    CancelTaskRequestParams,
    CancelTaskResult,
    CreateTaskResult,
    GetTaskRequestParams,
    GetTaskResult,
    Handlers,
    TaskStatusNotificationParams,
    UpdateTaskRequestParams,
    UpdateTaskResult,
    methods,
    types,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.stores.tasks import StoredTask
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tasks.running import RunningTask
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = ["ExtensionHandlers", "ExtensionTaskHandler"]

P = TypeVar("P")
R = TypeVar("R")

_RESULTS: dict[str, Any] = {kind.status: kind for kind in methods.TASKS_GET.results}
_NOTIFICATIONS: dict[str, Any] = {
    kind.status: kind for kind in get_args(TaskStatusNotificationParams)
}


class ExtensionTaskHandler:
    """Answers calls of tools that may run as tasks, at revisions with the tasks extension."""

    def __init__(self, manager: TaskManager, profile: Profile) -> None:
        self._manager = manager
        self.profile = profile

    async def call(self, ctx: Context, params: Any, tool: ServerTool, tools: ToolRegistry) -> Any:
        """Answer `tools/call` with the result if it is there within `grace_s`, else with a task.

        A tool with `task="required"` is always answered with a task, unless its handler returns
        input requests first.

        Raises:
            MissingCapability: The tool requires a task; the client did not declare the extension.
            McpError: The client has too many running tasks, or the store is full.
        """
        if tool.task is None:
            return await run_with_rounds(ctx, params, tools.call)
        if ctx.declares(EXTENSION) is None:
            if tool.task == "required":
                ctx.require(EXTENSION)
            return await run_with_rounds(ctx, params, tools.call)
        task = self._manager.new(ctx, tool)
        submitter = self._manager.submitter
        if submitter is not None and submitter.takes(tool, tools):
            await submitter.submit(ctx, task, tool, params)
            return self._created(task)
        task.tells_progress = True
        task_ctx = task_context(ctx, task, PreTaskChannel(task, origin_of(ctx).channel))
        task.input = TaskInputRequests(task_ctx, params, task)
        set_rounds(task_ctx, task.input)
        self._manager.start(task, task_coroutine(task_ctx, params, tools))
        try:
            await task.wait_grace(self._manager.options.grace_s)
            if task.done and _answers_request(task, required=tool.task == "required"):
                return _outcome(task)
            task.is_answer = True
            await self._manager.store_task(task)
        except BaseException:
            # The client never gets the id of this task.
            task.stop()
            raise
        return self._created(task)

    def _created(self, task: RunningTask) -> CreateTaskResult:
        return CreateTaskResult(status=self._status(task.record), **self._fields(task.record))

    def resume(
        self, ctx: Context, task: RunningTask, params: Any, tools: ToolRegistry
    ) -> Coroutine[Any, Any, Any]:
        """Return the coroutine of a task that was created in another process.

        Raises:
            InvalidParams: The `requestState` of the call is not valid.
        """
        task.tells_progress = task.is_answer = True
        task_ctx = task_context(ctx, task, PreTaskChannel(task, NULL_CHANNEL))
        task.input = TaskInputRequests(task_ctx, params, task)
        set_rounds(task_ctx, task.input)
        return task_coroutine(task_ctx, params, tools)

    # --- status ---

    def shown(self, task: StoredTask, kinds: dict[str, Any]) -> Any:
        """Return a task as the wire type of its status: one of `kinds`, by status."""
        status = self._status(task)
        status_fields: dict[str, Any] = {}
        if status == "input_required":
            requests_type: Any = types.InputRequests
            status_fields["input_requests"] = mcp_wire.decode(requests_type, encode(task.questions))
        elif status == "completed":
            status_fields["result"] = result_at(task, self.profile)
        elif status == "failed":
            status_fields["error"] = msgspec.json.decode(task.error, type=types.Error)
        return kinds[status](**self._fields(task), **status_fields)

    def result(self, task: StoredTask) -> GetTaskResult:
        """Return a task as the result of `tasks/get`."""
        shown: GetTaskResult = self.shown(task, _RESULTS)
        return shown

    def notice(self, task: StoredTask) -> TaskStatusNotificationParams:
        """Return a task as the params of `notifications/tasks`."""
        shown: TaskStatusNotificationParams = self.shown(task, _NOTIFICATIONS)
        return shown

    def _status(self, task: StoredTask) -> Any:
        if task.status == "input_required" and not task.questions:
            # It waits for a request that was sent on a channel: nothing to answer here.
            return "working"
        return task.status

    def _fields(self, task: StoredTask) -> dict[str, Any]:
        return {
            "task_id": task.id,
            "status_message": task.message,
            "created_at": iso(task.created_at),
            "last_updated_at": iso(task.updated_at),
            "ttl_ms": ttl_ms(task),
            "poll_interval_ms": max(1, round(self._manager.options.poll_interval_s * 1000)),
        }


class ExtensionHandlers(Handlers[Context]):
    """Handlers of `tasks/get`, `tasks/update` and `tasks/cancel` of the extension."""

    def __init__(self, manager: TaskManager) -> None:
        self._manager = manager

    def _protocol(self, ctx: Context) -> ExtensionTaskHandler:
        found: ExtensionTaskHandler = self._manager.protocol(ctx.profile)
        return found

    async def get_task(self, ctx: Context, params: GetTaskRequestParams) -> GetTaskResult:
        """Answer `tasks/get`."""
        task = await self._manager.find(ctx, params.task_id)
        return self._protocol(ctx).result(task)

    async def update_task(self, ctx: Context, params: UpdateTaskRequestParams) -> UpdateTaskResult:
        """Answer `tasks/update`: pass the responses to the handler of the task.

        Raises:
            McpError: The task runs in another process.
        """
        task = await self._manager.find(ctx, params.task_id)
        running = self._manager.running.get(task.id)
        if running is not None:
            if running.input is not None:
                await self._manager.run_on_task_loop(
                    running, running.input.accept_responses(params.input_responses)
                )
        elif self._manager.nodes is not None and not task.is_final:
            await self._manager.nodes.respond(task, params.input_responses)
        elif not task.is_final:
            raise McpError(
                ProtocolError.code, "the task runs in another process; route by its id to reach it"
            )
        return UpdateTaskResult()

    async def cancel_task(self, ctx: Context, params: CancelTaskRequestParams) -> CancelTaskResult:
        """Answer `tasks/cancel`; a task that has ended stays as it is."""
        await self._manager.cancel(ctx, params.task_id)
        return CancelTaskResult()


class PreTaskChannel:
    """Channel of a handler that may become a task: the channel of its request until then.

    Once the request is answered with the task, notifications are dropped: the status of the task
    carries progress and input requests.
    """

    def __init__(self, task: RunningTask, request_channel: Channel) -> None:
        self._task = task
        self._request_channel = request_channel

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification on the request; drop it once the task is the answer."""
        if not self._task.is_answer:
            self._request_channel.notify(method, params)

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> msgspec.Raw:
        """Pass the request to the channel of the request, which rejects it here."""
        return await self._request_channel.request(
            method, params, timeout_s=timeout_s, progress=progress
        )

    async def drain(self) -> None:
        """Wait for back-pressure: until the client has read enough."""
        if not self._task.is_answer:
            await self._request_channel.drain()

    def answers(self, id: RequestId | None) -> bool:
        """Return True while the request, or after it the task, is in progress."""
        return (
            not self._task.record.is_final
            if self._task.is_answer
            else self._request_channel.answers(id)
        )

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """Return the asyncio task of the handler."""
        return self._task.handler


def _answers_request(task: RunningTask, *, required: bool) -> bool:
    """Return True if the outcome of an ended handler is the response to its request."""
    needs_input = type(task.result) is latest.InputRequiredResult
    return needs_input or not required


def _outcome(task: RunningTask) -> Any:
    if task.failure is not None:
        raise task.failure
    return task.result
