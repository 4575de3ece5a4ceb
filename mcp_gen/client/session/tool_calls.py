"""Calling tools: what comes back at once, or from a task that the server makes of it."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, overload

from mcp_gen.core.errors import McpError, SessionLost, TaskGone
from mcp_gen.session.messages.sender import RevisionAdapter, is_plain
from mcp_wire.callers import ServerCaller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from mcp_gen.client.tasks.tasks import TaskCalls
    from mcp_gen.client.tasks.tool_task import ToolTask
    from mcp_gen.client.tools.typed_results import TypedResults
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_wire import common, latest
    from mcp_wire.callers import OnProgress

__all__ = ["CallOptions", "ToolCalls"]

T = TypeVar("T")


class CallOptions(TypedDict, total=False):
    """Options of `call_tool` that do not change the type of its result."""

    meta: dict[str, Any] | None
    """More keys for the `_meta` of the request."""
    timeout_s: float | None
    """Seconds that the answer may take; None: the default of the session."""
    progress: OnProgress | None
    """Called with each progress report."""
    retry: bool
    """Call again if the server went away and the tool says that it is idempotent."""


class ToolCalls(RevisionAdapter, ServerCaller):
    """The part of a session that calls tools."""

    _link: ClientConnection
    _returns: TypedResults
    _tasks: TaskCalls

    @property
    @abstractmethod
    def connect_again(self) -> Callable[[], Awaitable[Any]] | None:
        """What starts the server anew and leads this session to it; None if nothing can."""

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        task: bool | common.TaskMetadata | None = None,
        input_responses: latest.InputResponses | None = None,
        request_state: str | None = None,
        *,
        returns: None = None,
        **options: Unpack[CallOptions],
    ) -> latest.CallToolResult: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        task: bool | common.TaskMetadata | None = None,
        input_responses: latest.InputResponses | None = None,
        request_state: str | None = None,
        *,
        returns: type[T],
        **options: Unpack[CallOptions],
    ) -> T: ...

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        task: bool | common.TaskMetadata | None = None,
        input_responses: latest.InputResponses | None = None,
        request_state: str | None = None,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
        returns: Any = None,
        retry: bool = False,
    ) -> Any:
        """Call a tool. The result comes back as it is, also where the tool failed.

        With `returns`, a type that msgspec reads or a pydantic model, comes the tool's structured
        content as a value of that type: compared with the tool's output schema first, which is
        listed once; and read from the text, as JSON, where the server has no structured content.

        With `task`, True or with how long it is to be kept, it goes on as a task where the server
        and the tool allow that; a tool that runs as a task only is called so anyway. Either way
        this waits for what comes of it: see `start_tool` for more. `timeout_s` is then for each
        request that is made about it, and nobody waiting any more calls it off.

        With `retry` the call is made again if the server went away and the tool says that it is
        idempotent (`idempotentHint`).

        Raises:
            ToolError: with `returns`, the tool failed.
            InvalidParams: with `returns`, it gave something else than its schema or the type says.
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
            TaskCancelled, TaskGone: it was a task, and nothing came of it.
        """
        unusual = (
            returns is not None
            or retry
            or task is not None
            or name in self._tasks.only
            or input_responses is not None
            or request_state is not None
            or self._link.is_lost
        )
        if not unusual and name and is_plain(arguments):
            # As every revision takes it: nothing to look up, nothing to restate.
            try:
                result = await self._calls.call_tool(
                    name,
                    arguments=arguments,
                    meta=self._meta if meta is None else self._with_identity(meta),
                    timeout_s=self.default_timeout_s if timeout_s is None else timeout_s,
                    progress=progress,
                )
            except McpError as error:
                if not await self._tasks.required(name, error):
                    raise
            else:
                # What extensions answer calls with has no such field.
                failed = getattr(result, "is_error", None)
                if not failed or not await self._tasks.refused(name, result):
                    return result
        fields: dict[str, Any] = {
            "name": name,
            "arguments": arguments,
            "input_responses": input_responses,
            "request_state": request_state,
        }
        ask = partial(self._call, fields, task, meta=meta, timeout_s=timeout_s, progress=progress)
        try:
            result = await ask()
        except (SessionLost, TaskGone):
            if not retry or self.connect_again is None or not await self._is_idempotent(name):
                raise
            result = await ask()
        return result if returns is None else await self._returns.read(name, result, returns)

    async def _call(
        self,
        fields: dict[str, Any],
        task: bool | common.TaskMetadata | None,
        **options: Any,
    ) -> Any:
        """Call a tool, as a task where that is asked for or has to be."""
        name: str = fields["name"]
        if not task and name not in self._tasks.only:
            try:
                result = await self._request(ServerCaller.call_tool.__name__, fields, **options)
            except McpError as error:
                if not await self._tasks.required(name, error):
                    raise
            else:
                failed = getattr(result, "is_error", None)
                if not failed or not await self._tasks.refused(name, result):
                    return result
        return await self._tasks.call(fields, task or True, **options)

    async def _is_idempotent(self, name: str) -> bool:
        """Whether a tool says that calling it twice does no more than calling it once."""
        self._returns.forget()
        annotations = getattr(await self._returns.tool(name), "annotations", None)
        return annotations is not None and annotations.idempotent_hint is True

    # --- tasks ---

    async def start_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        ttl_s: float | None = None,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> ToolTask:
        """Call a tool and let it go on: the server's task, to be awaited, followed or called off.

        It is asked for as a task where the server and the tool allow that, to be kept for `ttl_s`
        after its beginning; at 2026-07-28 servers decide on both. Where there is no task, as at
        revisions that have none, this waits for the result, and the task is one that is over.
        `progress` is told as long as it runs, `timeout_s` is for each request about it.

        Raises:
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
        """
        asked_for = True if ttl_s is None else round(ttl_s * 1000)
        return await self._tasks.start(
            {"name": name, "arguments": arguments},
            asked_for,
            meta=meta,
            timeout_s=timeout_s,
            progress=progress,
        )

    def task(self, id: str, *, tool: str | None = None) -> ToolTask:
        """The task of this id, begun by this client or by an earlier one; nothing is asked yet.

        With the name of its `tool` its `result` is compared with what that tool promises.
        """
        return self._tasks.task(id, tool)

    def tasks(self) -> AsyncIterator[ToolTask]:
        """All tasks that the server has for this client, page after page.

        Raises:
            UsageError: the revision has no list of tasks.
            McpError: the server has none.
        """
        return self._tasks.all()
