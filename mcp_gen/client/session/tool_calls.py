"""Tool calls of a session: `tools/call`, awaited directly or as a task."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, cast, overload

from msgspec import UNSET

from mcp_gen.client.requests.argument_values import as_tool_arguments
from mcp_gen.client.session.custom_calls import CustomCalls
from mcp_gen.core.errors import McpError, SessionLost, TaskGone
from mcp_gen.core.mistakes.checks import check_call_options, check_progress, check_seconds
from mcp_gen.session.messages.sender import is_plain
from mcp_wire.peer_calls import ServerCaller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from typing_extensions import TypeForm

    from mcp_gen.client.requests.argument_values import Arguments
    from mcp_gen.client.tasks.tasks import TaskCalls
    from mcp_gen.client.tasks.tool_task import ToolTask
    from mcp_gen.client.tools.typed_results import TypedResults
    from mcp_wire import common, latest
    from mcp_wire.peer_calls import OnProgress

__all__ = ["OPTIONS", "CallOptions", "ToolCalls"]

T = TypeVar("T")


class CallOptions(TypedDict, total=False):
    """Options of `call_tool` that do not affect its result type."""

    meta: dict[str, Any] | None
    """More keys for the `_meta` of the request."""
    timeout_s: float | None
    """Seconds that the answer may take; None: the default of the session."""
    progress: OnProgress | None
    """Called with each progress notification."""
    retry: bool
    """Repeat the call after a lost connection if the tool declares itself idempotent."""


OPTIONS = (
    "arguments",
    "input_responses",
    "name",
    "request_state",
    "returns",
    "task",
    *CallOptions.__annotations__,
)
"""Names of the arguments of `call_tool`."""


class ToolCalls(CustomCalls, ServerCaller):
    """Base of `ClientSession` that calls tools."""

    _typed_results: TypedResults
    _tasks: TaskCalls

    @property
    @abstractmethod
    def connect_again(self) -> Callable[[], Awaitable[Any]] | None:
        """Function that reconnects this session to the server; None if that is impossible."""

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Arguments | None = None,
        task: bool | common.TaskMetadata | None = None,
        input_responses: latest.InputResponses | None = None,
        request_state: str | None = None,
        **options: Unpack[CallOptions],
    ) -> latest.CallToolResult: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Arguments | None = None,
        task: bool | common.TaskMetadata | None = None,
        input_responses: latest.InputResponses | None = None,
        request_state: str | None = None,
        *,
        returns: None,
        **options: Unpack[CallOptions],
    ) -> None: ...

    # Checkers without TypeForm understand classes.

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

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        task: bool | common.TaskMetadata | None = None,
        input_responses: latest.InputResponses | None = None,
        request_state: str | None = None,
        *,
        returns: TypeForm[T],
        **options: Unpack[CallOptions],
    ) -> T: ...

    async def call_tool(
        self,
        name: str,
        arguments: Arguments | None = None,
        task: bool | common.TaskMetadata | None = None,
        input_responses: latest.InputResponses | None = None,
        request_state: str | None = None,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
        returns: Any = UNSET,
        retry: bool = False,
        **unknown: Any,
    ) -> Any:
        """Call a tool (`tools/call`) and return its result.

        A result with `is_error` is returned like any other, unless `returns` is given. A tool that
        runs only as a task is called as one automatically.

        Args:
            name: Name of the tool.
            arguments: Arguments by name, or an object with fields: a pydantic model, a Struct, a
                dataclass or an attrs class. So may the values be, and dates, enums and paths.
            task: Request a task: True, or TaskMetadata with its `ttl`. It applies where the server
                and the tool support tasks; the call still waits for the result. `timeout_s` then
                limits each request about the task, and the task is cancelled if the caller stops
                waiting. For more control, see `start_tool`.
            input_responses: Responses to input requests, for a multi round-trip request
                (`input_required`) that the program continues itself.
            request_state: The `requestState` of that multi round-trip request.
            meta: More keys for the `_meta` of the request.
            timeout_s: Seconds that the answer may take, restarted by each progress notification;
                None: the default of the session.
            progress: Called with each progress notification.
            returns: Type of the result, as one writes it in an annotation: `Point`, `list[int]`,
                `str | None`; None for a tool that gives nothing. It means the same at every
                revision. The structured content is validated against the tool's output schema (the
                tools are listed once for it) and converted. Without structured content, the text is
                decoded as JSON; for `str`, it is the text itself. Not given: the plain result.
            retry: True repeats the call after a lost connection if the tool declares itself
                idempotent (`idempotentHint`).

        Returns:
            The CallToolResult; with `returns`, a value of that type.

        Raises:
            UsageError: An option that there is not, or arguments that JSON has nothing for.
            ToolError: With `returns`: the tool failed.
            InvalidResult: With `returns`: the content does not fit the output schema or the type.
            UncheckedResult: With `returns`: checking by the output schema takes too long; see
                `Client(schema_timeout_s=)`.
            McpError: The server returned an error.
            RequestTimeout: The server did not answer in time.
            SessionLost: The server disconnected.
            TaskCancelled: The call ran as a task, and the task was cancelled.
            TaskGone: The call ran as a task that the server no longer knows.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/server/tools
        """
        if unknown:
            check_call_options(name, unknown, OPTIONS)
        if progress is not None:
            check_progress(progress)
        if timeout_s is not None:
            check_seconds("call_tool: timeout_s", timeout_s)
        if arguments is not None and not (arguments.__class__ is dict and is_plain(arguments)):
            arguments = as_tool_arguments(name, arguments, self.revision)
        needs_full_path = (
            returns is not UNSET
            or retry
            or task is not None
            or name in self._tasks.task_only
            or input_responses is not None
            or request_state is not None
            or self._connection.is_lost
        )
        if not needs_full_path and name:
            # Fast path: these arguments are the same at every revision.
            try:
                result = await self._calls.call_tool(
                    name,
                    arguments=cast("dict[str, Any] | None", arguments),
                    meta=self._meta if meta is None else self._with_identity(meta),
                    timeout_s=self.default_timeout_s if timeout_s is None else timeout_s,
                    progress=progress,
                )
            except McpError as error:
                if not await self._tasks.must_run_as_task(name, error):
                    raise
            else:
                # Results of extensions may have no `is_error`.
                failed = getattr(result, "is_error", None)
                if not failed or not await self._tasks.result_requires_task(name, result):
                    return result
        fields: dict[str, Any] = {
            "name": name,
            "arguments": arguments,
            "input_responses": input_responses,
            "request_state": request_state,
        }
        call = partial(self._call, fields, task, meta=meta, timeout_s=timeout_s, progress=progress)
        try:
            result = await call()
        except (SessionLost, TaskGone):
            if not retry or self.connect_again is None or not await self._is_idempotent(name):
                raise
            result = await call()
        if returns is UNSET:
            return result
        return await self._typed_results.read(name, result, returns)

    async def _call(
        self,
        fields: dict[str, Any],
        task: bool | common.TaskMetadata | None,
        **options: Any,
    ) -> Any:
        """Call a tool, as a task if that is requested or required."""
        name: str = fields["name"]
        if not task and name not in self._tasks.task_only:
            try:
                result = await self._request(ServerCaller.call_tool.__name__, fields, **options)
            except McpError as error:
                if not await self._tasks.must_run_as_task(name, error):
                    raise
            else:
                failed = getattr(result, "is_error", None)
                if not failed or not await self._tasks.result_requires_task(name, result):
                    return result
        return await self._tasks.call(fields, task or True, **options)

    async def _is_idempotent(self, name: str) -> bool:
        """Return True if the tool, listed anew, has the idempotent hint."""
        self._typed_results.forget()
        annotations = getattr(await self._typed_results.tool(name), "annotations", None)
        return annotations is not None and annotations.idempotent_hint is True

    # --- tasks ---

    async def start_tool(
        self,
        name: str,
        arguments: Arguments | None = None,
        *,
        ttl_s: float | None = None,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> ToolTask:
        """Call a tool (`tools/call`) as a task and return the task without waiting for its result.

        At 2025-11-25 the client asks for a task where the server and the tool support it. At
        2026-07-28 the server decides. Where no task is created, this waits for the result and
        returns a finished ToolTask with that result.

        Args:
            name: Name of the tool.
            arguments: Arguments by name, or an object with fields: a pydantic model, a Struct, a
                dataclass or an attrs class. So may the values be, and dates, enums and paths.
            ttl_s: Seconds to keep the task after its creation; None: the server decides. Ignored at
                2026-07-28.
            meta: More keys for the `_meta` of the request.
            timeout_s: Seconds that each request about the task may take; None: the default of the
                session.
            progress: Called with each progress notification while the task runs.

        Returns:
            The task, to be awaited, followed or cancelled.

        Raises:
            McpError: The server returned an error.
            RequestTimeout: The server did not answer in time.
            SessionLost: The server disconnected.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
        """
        if arguments is not None and not (arguments.__class__ is dict and is_plain(arguments)):
            arguments = as_tool_arguments(name, arguments, self.revision)
        task_request = True if ttl_s is None else round(ttl_s * 1000)
        return await self._tasks.start(
            {"name": name, "arguments": arguments},
            task_request,
            meta=meta,
            timeout_s=timeout_s,
            progress=progress,
        )

    def task(self, id: str, *, tool: str | None = None) -> ToolTask:
        """Return the task with this id, created by this client or an earlier one; send no request.

        Args:
            id: The task id.
            tool: Name of the tool that was called; with it, `result` validates the content against
                the tool's output schema.

        Returns:
            The task; its `state` is None until `refresh`.
        """
        return self._tasks.task(id, tool)

    def tasks(self) -> AsyncIterator[ToolTask]:
        """Yield all tasks that the server has for this client (`tasks/list`), page by page.

        Raises:
            UsageError: The revision has no `tasks/list`.
            McpError: The server does not support it.
        """
        return self._tasks.all()
