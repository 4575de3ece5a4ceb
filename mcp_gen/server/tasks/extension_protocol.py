"""Tasks as the server wants them: it decides which calls become one, and clients look at them.

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
from mcp_gen.server.tasks.context import context_in, work_in
from mcp_gen.server.tasks.core_protocol import result_at
from mcp_gen.server.tasks.expiry import iso, ttl_ms
from mcp_gen.server.tasks.input_requests import TaskInputRequests
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

    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.stores.tasks import StoredTask
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tasks.running import RunningTask
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.callers import OnProgress
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["ExtensionHandlers", "ExtensionTaskHandler"]

P = TypeVar("P")
R = TypeVar("R")

_RESULTS: dict[str, Any] = {kind.status: kind for kind in methods.TASKS_GET.results}
_NOTICES: dict[str, Any] = {kind.status: kind for kind in get_args(TaskStatusNotificationParams)}


class ExtensionTaskHandler:
    """Decides which calls become tasks, at a revision that leaves that to the server."""

    def __init__(self, box: TaskManager, profile: Profile) -> None:
        self._manager = box
        self.profile = profile

    async def call(self, ctx: Context, params: Any, tool: ServerTool, tools: ToolRegistry) -> Any:
        """The result of a call that has one soon, or else the task that it has become.

        Raises:
            MissingCapability: the tool only runs as a task, and the client knows of none.
        """
        if tool.task is None:
            return await run_with_rounds(ctx, params, tools.call)
        if ctx.declares(EXTENSION) is None:
            if tool.task == "required":
                ctx.require(EXTENSION)
            return await run_with_rounds(ctx, params, tools.call)
        task = self._manager.new(ctx, tool)
        task.tells_progress = True
        inside = context_in(ctx, task, PreTaskChannel(task, origin_of(ctx).channel))
        task.input = TaskInputRequests(inside, params, task)
        set_rounds(inside, task.input)
        self._manager.start(task, work_in(inside, params, tools))
        try:
            await task.decided(self._manager.options.grace_s)
            if task.done and _answers(task, required=tool.task == "required"):
                return _outcome(task)
            task.is_answer = True
            await self._manager.make(task)
        except BaseException:
            # Nobody will know of it.
            task.stop()
            raise
        return CreateTaskResult(status=self._status(task.record), **self._fields(task.record))

    # --- how tasks are told of ---

    def shown(self, task: StoredTask, kinds: dict[str, Any]) -> Any:
        """A task as clients see it, with what belongs to its status."""
        status = self._status(task)
        more: dict[str, Any] = {}
        if status == "input_required":
            asked: Any = types.InputRequests
            more["input_requests"] = mcp_wire.decode(asked, encode(task.questions))
        elif status == "completed":
            more["result"] = result_at(task, self.profile)
        elif status == "failed":
            more["error"] = msgspec.json.decode(task.error, type=types.Error)
        return kinds[status](**self._fields(task), **more)

    def result(self, task: StoredTask) -> GetTaskResult:
        """What a client gets that looks how a task stands."""
        shown: GetTaskResult = self.shown(task, _RESULTS)
        return shown

    def notice(self, task: StoredTask) -> TaskStatusNotificationParams:
        """What a client gets that listens for how a task stands."""
        shown: TaskStatusNotificationParams = self.shown(task, _NOTICES)
        return shown

    def _status(self, task: StoredTask) -> Any:
        if task.status == "input_required" and not task.questions:
            # It waits for a client that it asks in another way.
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
    """What a server answers to the requests of the extension."""

    def __init__(self, box: TaskManager) -> None:
        self._box = box

    def _protocol(self, ctx: Context) -> ExtensionTaskHandler:
        found: ExtensionTaskHandler = self._box.protocol(ctx.profile)
        return found

    async def get_task(self, ctx: Context, params: GetTaskRequestParams) -> GetTaskResult:
        """tasks/get"""
        task = await self._box.find(ctx, params.task_id)
        return self._protocol(ctx).result(task)

    async def update_task(self, ctx: Context, params: UpdateTaskRequestParams) -> UpdateTaskResult:
        """tasks/update"""
        task = await self._box.find(ctx, params.task_id)
        here = self._box.running.get(task.id)
        if here is not None:
            if here.input is not None:
                await self._box.run_on_task_loop(here, here.input.answered(params.input_responses))
        elif not task.over:
            raise McpError(
                ProtocolError.code, "the task runs in another process; route by its id to reach it"
            )
        return UpdateTaskResult()

    async def cancel_task(self, ctx: Context, params: CancelTaskRequestParams) -> CancelTaskResult:
        """tasks/cancel"""
        await self._box.cancel(ctx, params.task_id)
        return CancelTaskResult()


class PreTaskChannel:
    """The outlet of a handler: that of its request, until this is answered with a task.

    In tasks nothing is sent: what there is to be told, the task says itself.
    """

    def __init__(self, task: RunningTask, before: Channel) -> None:
        self._task = task
        self._before = before

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        """Send a notification of the request."""
        if not self._task.is_answer:
            self._before.notify(method, params)

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> msgspec.Raw:
        """Refuse, as at every revision that asks in results."""
        return await self._before.request(method, params, timeout_s=timeout_s, progress=progress)

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be sent."""
        if not self._task.is_answer:
            await self._before.drain()

    def answers(self, id: RequestId | None) -> bool:
        """Whether the request, or then the task, goes on."""
        return not self._task.record.over if self._task.is_answer else self._before.answers(id)

    def task(self, id: RequestId | None) -> asyncio.Task[Any] | None:
        """Where the handler runs."""
        return self._task.handler


def _answers(task: RunningTask, *, required: bool) -> bool:
    """Whether a handler that has ended has answered its request."""
    asks = type(task.result) is latest.InputRequiredResult
    return asks or not required


def _outcome(task: RunningTask) -> Any:
    if task.failure is not None:
        raise task.failure
    return task.result
