"""Tasks of 2025-11-25: the client decides which call runs as a task.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import InvalidParams, McpError, MethodNotFound
from mcp_gen.core.projection.project import restate
from mcp_gen.core.stores.tasks import NOTHING
from mcp_gen.server.context.context import origin_of, runtime_of
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.server.listing.cursors import decode, encode
from mcp_gen.server.listing.scopes import missing_scopes
from mcp_gen.server.notifications.topics import is_watched, send
from mcp_gen.server.tasks.context import task_context, task_coroutine
from mcp_gen.server.tasks.expiry import iso, ttl_ms
from mcp_gen.server.tasks.related_channel import TaskChannel
from mcp_gen.session.peer.session import sender_for

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from mcp_gen.core.stores.tasks import StoredTask
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.tasks.host import ReattachableChannel
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tasks.running import RunningTask
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_wire.profile import Profile

__all__ = ["CAPABILITIES", "PAGE_SIZE", "CoreTaskHandler", "add_task_support", "with_capability"]

CAPABILITIES = frozenset({"tasks", "tasks.list", "tasks.cancel"})
"""Capabilities that a server with tasks declares, as method rows name them."""
PAGE_SIZE = 100
"""Tasks per page of `tasks/list`, if the server sets no page size."""


class _Cursor(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Pagination cursor: the last task of the page before."""

    created_at: float
    id: str


class CoreTaskHandler:
    """Answers the `tasks/*` methods of a revision, and calls with the `task` param."""

    def __init__(self, manager: TaskManager, profile: Profile) -> None:
        self._manager = manager
        self._profile = profile
        self._types: Any = mcp_wire.types(profile.revision)

    # --- calls ---

    async def call(self, ctx: Context, params: Any, tool: ServerTool, tools: ToolRegistry) -> Any:
        """Answer `tools/call` with the result, or with a CreateTaskResult if it has `task`.

        Raises:
            MethodNotFound: The tool requires a task and the call has no `task`, or the reverse.
            McpError: The client has too many running tasks, or the store is full.
        """
        if not self._declares_tasks(ctx):
            return await run_with_rounds(ctx, params, tools.call)
        task_params = params.task
        if task_params is None:
            if tool.task == "required":
                raise MethodNotFound(f"{tool.name} only runs as a task: call it with `task`")
            return await run_with_rounds(ctx, params, tools.call)
        if tool.task is None:
            raise MethodNotFound(f"{tool.name} does not run as a task: call it without `task`")
        task = self._manager.new(ctx, tool, task_params.ttl)
        channel = task.channel = TaskChannel(task, self._related_meta(task.id))
        notify_listeners = task.on_change

        def on_change() -> None:
            self._notify_status(task)
            notify_listeners()

        task.on_change = on_change
        submitter = self._manager.submitter
        if submitter is not None and submitter.takes(tool, tools):
            await submitter.submit(ctx, task, tool, params)
        else:
            await self._manager.store_task(task)
            work = task_coroutine(task_context(ctx, task, channel), params, tools)
            self._manager.start(task, work)
        created = self._types.Task(**self._fields(task.record))
        key = self._profile.model_immediate_response_key
        meta = {key: tool.immediate_message} if key and tool.immediate_message else None
        return self._types.CreateTaskResult(task=created, meta=meta)

    def resume(
        self, ctx: Context, task: RunningTask, params: Any, tools: ToolRegistry
    ) -> Coroutine[Any, Any, Any]:
        """Return the coroutine of a task that was created in another process."""
        channel = task.channel = TaskChannel(task, self._related_meta(task.id))
        return task_coroutine(task_context(ctx, task, channel), params, tools)

    def _declares_tasks(self, ctx: Context) -> bool:
        session = ctx.session
        declared = (
            runtime_of(ctx).kernel.declared_capabilities() if session is None else session.declared
        )
        return declared >= CAPABILITIES

    def _related_meta(self, id: str) -> dict[str, Any]:
        related = self._types.RelatedTaskMetadata(task_id=id)
        return {self._profile.related_task_key or "": msgspec.to_builtins(related)}

    # --- tasks/* ---

    async def get(self, ctx: Context, id: str) -> Any:
        """Answer `tasks/get`.

        Raises:
            InvalidParams: The task is unknown, expired, or belongs to another client.
        """
        found = await self._manager.find(ctx, id)
        channel = self._channel(id)
        if channel is not None:
            # The session of the client may be reachable again.
            channel.check()
        return self._types.GetTaskResult(**self._fields(found))

    async def result(self, ctx: Context, id: str) -> dict[str, Any]:
        """Answer `tasks/result`: wait for the task to end and return the result of its call.

        Raises:
            InvalidParams: The task is unknown, expired, or belongs to another client.
            McpError: The task failed with this error, or it was cancelled.
        """
        manager, request_channel = self._manager, origin_of(ctx).channel
        await manager.find(ctx, id)
        channel = self._channel(id)
        if channel is None:
            if manager.nodes is None:
                return self._payload(await manager.ended(ctx, id))
            async with manager.nodes.attach(request_channel, self._profile) as follow:
                return self._payload(await manager.ended(ctx, id, follow))
        channel.open(request_channel)
        try:
            return self._payload(await manager.ended(ctx, id))
        finally:
            channel.close(request_channel)

    def _channel(self, id: str) -> ReattachableChannel | None:
        running = self._manager.running.get(id)
        return None if running is None else running.channel

    def _payload(self, task: StoredTask) -> dict[str, Any]:
        if task.error != NOTHING:
            error: dict[str, Any] = msgspec.json.decode(task.error)
            raise McpError(error["code"], error["message"], error.get("data"))
        if task.result == NOTHING:
            raise McpError(InvalidParams.code, "the task was cancelled")
        result = result_at(task, self._profile)
        return {**result, "_meta": {**result.get("_meta", {}), **self._related_meta(task.id)}}

    async def cancel(self, ctx: Context, id: str) -> Any:
        """Answer `tasks/cancel`.

        Raises:
            InvalidParams: The task is unknown to this client, or it has ended.
        """
        task, ended = await self._manager.cancel(ctx, id)
        if not ended:
            raise InvalidParams(f"the task is over already: {_status(task)} - at `$.taskId`")
        return self._types.CancelTaskResult(**self._fields(task))

    async def page(self, ctx: Context, cursor: str | None) -> Any:
        """Answer `tasks/list`: a page of the client's own tasks, oldest first.

        Raises:
            InvalidParams: The cursor is not from this list.
        """
        manager, session = self._manager, ctx.session
        after = None if cursor is None else _decode_cursor(cursor)
        size = min(manager.tools.listing.page_size or PAGE_SIZE, PAGE_SIZE)
        id = None if session is None else session.id
        found = await manager.store.page(origin_of(ctx).principal, id, after, size + 1)
        now = manager.now()
        tasks = [
            one
            for one in found[:size]
            if (one.expires_at is None or one.expires_at > now)
            # Its status message is for the same eyes as its result.
            and not (one.scopes and missing_scopes(ctx, frozenset(one.scopes)))
        ]
        has_more = len(found) > size
        return self._types.ListTasksResult(
            tasks=[self._types.Task(**self._fields(task)) for task in tasks],
            next_cursor=_encode_cursor(found[size - 1]) if has_more else None,
        )

    # --- status ---

    def _fields(self, task: StoredTask) -> dict[str, Any]:
        return {
            "task_id": task.id,
            "status": _status(task),
            "status_message": task.message,
            "created_at": iso(task.created_at),
            "last_updated_at": iso(task.updated_at),
            "ttl": ttl_ms(task),
            "poll_interval": round(self._manager.options.poll_interval_s * 1000),
        }

    def _notify_status(self, task: RunningTask) -> None:
        """Send `notifications/tasks/status` to the session that requested the task last."""
        method, session = self._profile.task_status, task.session
        if method is None or session is None or not session.reachable:
            return
        if session.profile is not self._profile or session.loop is not task.loop:
            return
        params = method.params(**self._fields(task.record))
        kernel = self._manager.kernel
        if is_watched(kernel, method):
            client = sender_for(self._profile, session.channel, kernel, session)
            self._manager.spawn(client.notify(method, params))
        else:
            send(session.channel, method, params)


def with_capability(capabilities: Any, profile: Profile, *, lists: bool) -> Any:
    """Return the server capabilities with `tasks` added.

    Args:
        capabilities: ServerCapabilities of the revision.
        profile: A revision with tasks in the protocol itself.
        lists: True to declare `tasks/list`: the server can tell whose tasks they are.
    """
    types: Any = mcp_wire.types(profile.revision)
    tools = types.ToolTaskRequests(call={})
    requests = types.ServerTaskRequests(tools=tools)
    listing = dict[str, Any]() if lists else None
    tasks = types.ServerTasksCapability(list=listing, cancel={}, requests=requests)
    return replace(capabilities, tasks=tasks)


def add_task_support(tool: ServerTool, described: Any, revision: str) -> Any:
    """Add `execution.taskSupport` to a tool description, at revisions that have it."""
    if tool.task is None or mcp_wire.profile(revision).tasks != "core":
        return described
    types: Any = mcp_wire.types(revision)
    return replace(described, execution=types.ToolExecution(task_support=tool.task))


def result_at(task: StoredTask, profile: Profile) -> dict[str, Any]:
    """Return the result of a completed task as JSON of a revision."""
    result: dict[str, Any]
    source = mcp_wire.profile(task.revision)
    if source is profile or source.call_tool is None:
        result = msgspec.json.decode(task.result)
        return result
    projected = restate(source.call_tool.decode_result(task.result), profile.revision).value
    result = msgspec.json.decode(mcp_wire.encode(projected))
    return result


def _status(task: StoredTask) -> str:
    # At this revision a result with `isError` makes the task `failed`.
    return "failed" if task.is_error else task.status


def _encode_cursor(task: StoredTask) -> str:
    return encode(_Cursor(task.created_at, task.id))


def _decode_cursor(cursor: str) -> tuple[float, str]:
    decoded = decode(cursor, _Cursor)
    if decoded is None:
        raise InvalidParams(
            "task list: expected a cursor from this list's last page - at `$.cursor`"
        )
    return decoded.created_at, decoded.id
