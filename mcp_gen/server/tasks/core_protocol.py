"""Tasks as the client wants them: it asks for one, and for what has become of it.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import InvalidParams, McpError, MethodNotFound, ProtocolError
from mcp_gen.core.projection.project import project
from mcp_gen.core.stores.tasks import NOTHING
from mcp_gen.server.context.context import origin_of, runtime_of
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.server.listing.cursors import decode, encode
from mcp_gen.server.notifications.topics import is_watched, send
from mcp_gen.server.tasks.context import context_in, work_in
from mcp_gen.server.tasks.expiry import iso, ttl_ms
from mcp_gen.server.tasks.related_channel import TaskChannel
from mcp_gen.session.peer.session import sender_for

if TYPE_CHECKING:
    from mcp_gen.core.stores.tasks import StoredTask
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.tasks.host import ReattachableChannel
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tasks.running import RunningTask
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_wire.profile import Profile

__all__ = ["CAPABILITIES", "PAGE_SIZE", "CoreTaskHandler", "with_capability", "with_support"]

CAPABILITIES = frozenset({"tasks", "tasks.list", "tasks.cancel"})
"""What a server with tasks declares, as methods ask for it."""
PAGE_SIZE = 100
"""How many tasks a page has, where the server does not say how many items pages have."""


class _Place(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Behind which task a page begins."""

    created_at: float
    id: str


class CoreTaskHandler:
    """Answers a revision's own requests for tasks, and calls that want to become one."""

    def __init__(self, box: TaskManager, profile: Profile) -> None:
        self._manager = box
        self._profile = profile
        self._types: Any = mcp_wire.types(profile.revision)

    # --- calls ---

    async def call(self, ctx: Context, params: Any, tool: ServerTool, tools: ToolRegistry) -> Any:
        """The result of a call, or the task that it has become.

        Raises:
            MethodNotFound: the tool only runs as a task, or never does, and the call says else.
        """
        if not self._declared(ctx):
            return await run_with_rounds(ctx, params, tools.call)
        wish = params.task
        if wish is None:
            if tool.task == "required":
                raise MethodNotFound(f"{tool.name} only runs as a task: call it with `task`")
            return await run_with_rounds(ctx, params, tools.call)
        if tool.task is None:
            raise MethodNotFound(f"{tool.name} does not run as a task: call it without `task`")
        task = self._manager.new(ctx, tool, wish.ttl)
        outlet = task.channel = TaskChannel(task, self._related(task.id))
        listened = task.on_change

        def told() -> None:
            self._notify_status(task)
            listened()

        task.on_change = told
        await self._manager.make(task)
        self._manager.start(task, work_in(context_in(ctx, task, outlet), params, tools))
        made = self._types.Task(**self._fields(task.record))
        key = self._profile.model_immediate_response_key
        said = {key: tool.immediate_message} if key and tool.immediate_message else None
        return self._types.CreateTaskResult(task=made, meta=said)

    def _declared(self, ctx: Context) -> bool:
        session = ctx.session
        declared = (
            runtime_of(ctx).kernel.declared_capabilities() if session is None else session.declared
        )
        return declared >= CAPABILITIES

    def _related(self, id: str) -> dict[str, Any]:
        related = self._types.RelatedTaskMetadata(task_id=id)
        return {self._profile.related_task_key or "": msgspec.to_builtins(related)}

    # --- what has become of them ---

    async def get(self, ctx: Context, id: str) -> Any:
        """How a task stands. Raises InvalidParams for one that the client may not ask for."""
        found = await self._manager.find(ctx, id)
        channel = self._channel(id)
        if channel is not None:
            # A client that asks may have opened a way to itself.
            channel.check()
        return self._types.GetTaskResult(**self._fields(found))

    async def result(self, ctx: Context, id: str) -> dict[str, Any]:
        """What the call is answered with, once there is something; raises its error."""
        way = origin_of(ctx).channel
        await self._manager.find(ctx, id)
        channel = self._channel(id)
        if channel is not None:
            channel.open(way)
        try:
            task = await self._manager.ended(ctx, id)
        finally:
            if channel is not None:
                channel.close(way)
        return self._payload(task)

    def _channel(self, id: str) -> ReattachableChannel | None:
        here = self._manager.running.get(id)
        return None if here is None else here.channel

    def _payload(self, task: StoredTask) -> dict[str, Any]:
        if task.error != NOTHING:
            told: dict[str, Any] = msgspec.json.decode(task.error)
            raise McpError(told["code"], told["message"], told.get("data"))
        if task.result == NOTHING:
            raise McpError(ProtocolError.code, "the task was cancelled")
        result = result_at(task, self._profile)
        return {**result, "_meta": {**result.get("_meta", {}), **self._related(task.id)}}

    async def cancel(self, ctx: Context, id: str) -> Any:
        """End a task. Raises InvalidParams if there is nothing to end."""
        task, ended = await self._manager.cancel(ctx, id)
        if not ended:
            raise InvalidParams(f"the task is over already: {_status(task)} - at `$.taskId`")
        return self._types.CancelTaskResult(**self._fields(task))

    async def page(self, ctx: Context, cursor: str | None) -> Any:
        """A page of the client's own tasks, oldest first."""
        box, session = self._manager, ctx.session
        behind = None if cursor is None else _place_of(cursor)
        size = box.tools.listing.page_size or PAGE_SIZE
        id = None if session is None else session.id
        found = await box.store.page(origin_of(ctx).principal, id, behind, size + 1)
        now = box.now()
        tasks = [one for one in found[:size] if one.expires_at is None or one.expires_at > now]
        more = len(found) > size
        return self._types.ListTasksResult(
            tasks=[self._types.Task(**self._fields(task)) for task in tasks],
            next_cursor=_cursor_to(found[size - 1]) if more else None,
        )

    # --- how tasks are told of ---

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
        """Tell the session that asked last, if it can be told."""
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
    """The capabilities of a server that has tasks, at a revision that knows them.

    It `lists` tasks where it can tell whose they are.
    """
    types: Any = mcp_wire.types(profile.revision)
    tools = types.ToolTaskRequests(call={})
    requests = types.ServerTaskRequests(tools=tools)
    listing = dict[str, Any]() if lists else None
    tasks = types.ServerTasksCapability(list=listing, cancel={}, requests=requests)
    return replace(capabilities, tasks=tasks)


def with_support(tool: ServerTool, described: Any, revision: str) -> Any:
    """Add the task support of a tool to its description, at revisions that have a place for it."""
    if tool.task is None or mcp_wire.profile(revision).tasks != "core":
        return described
    types: Any = mcp_wire.types(revision)
    return replace(described, execution=types.ToolExecution(task_support=tool.task))


def result_at(task: StoredTask, profile: Profile) -> dict[str, Any]:
    """The result of a task that has one, as JSON of a revision."""
    result: dict[str, Any]
    written = mcp_wire.profile(task.revision)
    if written is profile or written.call_tool is None:
        result = msgspec.json.decode(task.result)
        return result
    restated = project(written.call_tool.decode_result(task.result), profile.revision).value
    result = msgspec.json.decode(mcp_wire.encode(restated))
    return result


def _status(task: StoredTask) -> str:
    # Here a tool that has failed makes its task one that has.
    return "failed" if task.is_error else task.status


def _cursor_to(task: StoredTask) -> str:
    return encode(_Place(task.created_at, task.id))


def _place_of(cursor: str) -> tuple[float, str]:
    place = decode(cursor, _Place)
    if place is None:
        raise InvalidParams(
            "task list: expected a cursor from this list's last page - at `$.cursor`"
        )
    return place.created_at, place.id
