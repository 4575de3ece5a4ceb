"""Task calls of a session: starts tool calls as tasks and waits for them.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
Source: https://github.com/modelcontextprotocol/ext-tasks
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_gen.client.tasks.protocol import NoTasks, TaskProtocol
from mcp_gen.client.tasks.state import snapshot_of
from mcp_gen.client.tasks.tool_task import ToolTask
from mcp_gen.client.tools.result_content import text_of
from mcp_gen.core.errors import (
    McpError,
    McpGenError,
    MethodNotFound,
    ProtocolError,
    RequestTimeout,
    SessionLost,
    TaskGone,
)
from mcp_gen.session.duplex.progress import DetachedProgress

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from msgspec import Raw

    from mcp_gen.client.requests.sender import ClientRequestSender
    from mcp_gen.client.requests.session_calls import SessionCalls
    from mcp_gen.client.requests.settings import ClientSettings
    from mcp_gen.client.tasks.state import TaskSnapshot
    from mcp_gen.client.tools.typed_results import TypedResults
    from mcp_wire.peer_calls import OnProgress

__all__ = ["TaskCalls"]

CallOutcome: TypeAlias = "tuple[Any, bool]"
"""First answer to a tool call, and True if it is a task."""

MAX_EARLY_SNAPSHOTS = 1000
"""Maximum number of stored notifications about tasks whose ids are not yet known."""

_log = logging.getLogger("mcp_gen.client")


class TaskCalls:
    """Starts tasks and waits for them; one per session, across its connections."""

    def __init__(
        self,
        calls: SessionCalls,
        settings: ClientSettings,
        returns: TypedResults,
        *,
        declared: bool,
    ) -> None:
        self._calls = calls
        self._typed_results = returns
        self._declared = declared
        self._settings = settings
        self._protocol: TaskProtocol | None = None
        self._followed: dict[str, set[ToolTask]] = {}
        self._starting = 0
        self._abandoned: set[asyncio.Task[CallOutcome]] = set()
        """Pending calls whose caller has stopped waiting."""
        self._early_snapshots: dict[str, TaskSnapshot] = {}
        """States notified before the answer that announces the task, by task id."""
        self.task_only: set[str] = set()
        """Tools known to run only as tasks."""

    def connection_changed(self) -> None:
        """Select the task protocol anew: the connection, and maybe the revision, has changed."""
        self._protocol = None
        self.forget()

    def watch_lists(self, sender: ClientRequestSender) -> None:
        """Note from now on which of the listed tools run only as tasks."""
        # The protocol is loaded only for servers that have tasks.
        if getattr(self._calls.session.opening.capabilities, "tasks", None) is None:
            return
        if self.protocol.listed_type is not None:
            sender.watch_results(self.protocol.listed_type, self._on_tools_listed)

    def _on_tools_listed(self, raw: Raw) -> None:
        for tool, support in self.protocol.note_listed(raw).items():
            (self.task_only.add if support == "required" else self.task_only.discard)(tool)

    def forget(self) -> None:
        """Drop cached facts about tools: the tool list has changed."""
        self.task_only.clear()
        if self._protocol is not None:
            self._protocol.forget()

    @property
    def protocol(self) -> TaskProtocol:
        """Task protocol of the connection."""
        if self._protocol is None:
            self._protocol = self._choose_protocol()
        return self._protocol

    def _choose_protocol(self) -> TaskProtocol:
        profile = self._calls.session.profile
        if profile.tasks == "core":
            # Loaded only at revisions with this task protocol.
            from mcp_gen.client.tasks.core_protocol import CoreTaskProtocol

            return CoreTaskProtocol(self._calls, self._settings.max_pages)
        if profile.tasks == "extension":
            if not self._declared:
                return NoTasks("make the client with `tasks=True`, so that servers may begin tasks")
            # Loaded only at revisions with this task protocol.
            from mcp_gen.client.tasks.extension_protocol import ExtensionTaskProtocol

            return ExtensionTaskProtocol(self._calls)
        return NoTasks(f"{profile.revision} has no tasks")

    # --- starting ---

    async def start(
        self,
        fields: dict[str, Any],
        task_request: Any,
        *,
        meta: dict[str, Any] | None,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> ToolTask:
        """Call a tool as a task where that is possible.

        A direct answer is returned as a finished task.
        """
        name: str = fields["name"]
        task = await self.protocol.task_params(name, task_request)
        detached_progress: DetachedProgress | None = None
        if task is not None and progress is not None:
            progress = detached_progress = DetachedProgress(progress)
        call = partial(
            self._calls.start_call, {**fields, "task": task}, meta=meta, progress=progress
        )
        created: ToolTask | None = None
        self._starting += 1
        try:
            if task is None:
                result, is_task = await call(timeout_s=timeout_s)
            else:
                result, is_task = await self._detached(call, timeout_s, detached_progress)
            if is_task:
                created = self.task_from_result(result, name, timeout_s, detached_progress)
        finally:
            self._starting -= 1
            if not self._starting:
                self._early_snapshots.clear()
            if created is None and detached_progress is not None:
                detached_progress.release()
        return created or ToolTask(self, None, tool=name, result=result)

    async def _detached(
        self,
        call: Callable[..., Coroutine[Any, Any, CallOutcome]],
        timeout_s: float | None,
        detached_progress: DetachedProgress | None,
    ) -> CallOutcome:
        """Await a call that requests a task; if the caller stops waiting, cancel its task.

        The request itself must not be cancelled:
        https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements
        """
        if timeout_s is None:
            timeout_s = self._calls.session.default_timeout_s
        loop = asyncio.get_running_loop()
        limit_s = max(self._settings.max_timeout_s, timeout_s)
        ends_at = loop.time() + limit_s
        call_task = loop.create_task(call(timeout_s=limit_s))
        last_report = -1
        try:
            while not call_task.done() and last_report != (
                last_report := detached_progress.report if detached_progress else 0
            ):
                left_s = min(timeout_s, ends_at - loop.time())
                await asyncio.wait({call_task}, timeout=left_s)
            if not call_task.done():
                raise RequestTimeout(f"no answer in {timeout_s:g} s to a call that asks for a task")
        except (asyncio.CancelledError, RequestTimeout):
            self._abandoned.add(call_task)
            call_task.add_done_callback(partial(self._on_late_call, detached_progress))
            raise
        return call_task.result()

    def _on_late_call(
        self, detached_progress: DetachedProgress | None, call_task: asyncio.Task[CallOutcome]
    ) -> None:
        self._abandoned.discard(call_task)
        if detached_progress is not None:
            detached_progress.release()
        if call_task.cancelled() or call_task.exception() is not None:
            return
        result, is_task = call_task.result()
        if is_task:
            self.cancel_abandoned(result)

    def cancel_abandoned(self, created: Any) -> None:
        """Cancel a task that was created after its caller had stopped waiting."""
        task = self.task_from_result(created, "", None)
        if not task.done and self.protocol.can_cancel:
            self._calls.run(self._send_cancel(task))

    def task_from_result(
        self,
        result: Any,
        tool: str,
        timeout_s: float | None,
        detached_progress: DetachedProgress | None = None,
    ) -> ToolTask:
        """Return the task that a call was answered with."""
        snapshot = snapshot_of(getattr(result, "task", result))
        snapshot = self._early_snapshots.pop(snapshot.state.id, snapshot)
        if timeout_s is None:
            timeout_s = self._calls.session.default_timeout_s
        return ToolTask(
            self,
            snapshot.state.id,
            tool=tool,
            snapshot=snapshot,
            timeout_s=timeout_s,
            detached_progress=detached_progress,
        )

    def task(self, id: str, tool: str | None) -> ToolTask:
        """Return a task that was created elsewhere."""
        return ToolTask(self, id, tool=tool, timeout_s=self._calls.session.default_timeout_s)

    async def all(self) -> AsyncIterator[ToolTask]:
        """Yield the tasks that the server lists."""
        timeout_s = self._calls.session.default_timeout_s
        async for snapshot in self.protocol.list_tasks():
            yield ToolTask(self, snapshot.state.id, snapshot=snapshot, timeout_s=timeout_s)

    async def must_run_as_task(self, tool: str, error: McpError) -> bool:
        """Return True, and remember the tool, if a call was rejected as not task-augmented."""
        if not await self.protocol.requires_task(tool, error):
            return False
        self.task_only.add(tool)
        return True

    async def result_requires_task(self, tool: str, result: Any) -> bool:
        """Return True if a failed result means the same: many servers turn errors into results."""
        code = MethodNotFound.code
        if str(code) not in text_of(result):
            return False
        return await self.must_run_as_task(tool, McpError(code, "in a result"))

    # --- waiting ---

    async def call(
        self,
        fields: dict[str, Any],
        task_request: Any,
        *,
        meta: dict[str, Any] | None,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> Any:
        """Call a tool as a task where that is possible, and return its result.

        Like any call, it is repeated if it fails until the user has completed a URL elicitation.
        """
        for _ in range(self._settings.max_rounds + 1):
            task = await self.start(
                fields, task_request, meta=meta, timeout_s=timeout_s, progress=progress
            )
            try:
                return await self.await_task(task, timeout_s)
            except McpError as error:
                await self._calls.complete_url_elicitation(error)
        max_rounds = self._settings.max_rounds
        raise ProtocolError(f"{fields['name']}: the user was sent to pages {max_rounds} times")

    async def await_task_call(self, tool: str, created: Any, timeout_s: float | None) -> Any:
        """Wait for the result of the task that a call was answered with."""
        return await self.await_task(self.task_from_result(created, tool, timeout_s), timeout_s)

    async def await_task(self, task: ToolTask, timeout_s: float | None = None) -> Any:
        """Wait for the result of a task with a single owner; cancel it if the caller stops waiting.

        `timeout_s` limits each request; the client's `max_timeout_s` limits the whole.
        """
        limit_s = max(self._settings.max_timeout_s, timeout_s or 0)
        try:
            return await task.result(timeout_s=limit_s)
        except (TaskGone, SessionLost):
            raise
        except BaseException:
            await self._cancel_task(task)
            raise

    async def _cancel_task(self, task: ToolTask) -> None:
        """Cancel a task in the background: the caller does not wait for the answer."""
        if task.id is not None and not task.done and self.protocol.can_cancel:
            self._calls.run(self._send_cancel(task))
            await asyncio.sleep(0)  # lets the request be sent

    async def _send_cancel(self, task: ToolTask) -> None:
        try:
            await self.protocol.cancel(task.id or "", self._calls.session.default_timeout_s)
        except McpGenError as error:
            _log.debug("calling off the task %s: %s", task.id, error)

    @property
    def is_lost(self) -> bool:
        """True if the connection was lost; the next request opens another."""
        return self._calls.session.is_lost

    async def read(self, tool: str, result: Any, returns: Any) -> Any:
        """Return a tool's result as a value of a type."""
        return await self._typed_results.read(tool, result, returns)

    # --- notifications ---

    def follow(self, task: ToolTask) -> None:
        """Pass status notifications on to this task."""
        self._followed.setdefault(task.id or "", set()).add(task)

    def unfollow(self, task: ToolTask) -> None:
        """Stop passing status notifications on to this task."""
        others = self._followed.get(task.id or "", set())
        others.discard(task)
        if not others:
            self._followed.pop(task.id or "", None)

    def on_notification(self, params: Any) -> None:
        """Handle a task status notification."""
        snapshot, id = snapshot_of(params), params.task_id
        for task in list(self._followed.get(id, ())):
            task.update(snapshot)
        if (
            self._starting
            and id not in self._followed
            and len(self._early_snapshots) < MAX_EARLY_SNAPSHOTS
        ):
            self._early_snapshots[id] = snapshot

    def on_disconnect(self) -> None:
        """Wake up waiting coroutines: they raise, or continue on the next connection."""
        for tasks in list(self._followed.values()):
            for task in list(tasks):
                task.wake()
