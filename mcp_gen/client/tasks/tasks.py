"""The tool calls of a session that go on as tasks.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks and
https://github.com/modelcontextprotocol/ext-tasks
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

    from mcp_gen.client.requests.session_calls import SessionCalls
    from mcp_gen.client.requests.settings import ClientSettings
    from mcp_gen.client.tasks.state import TaskSnapshot
    from mcp_gen.client.tools.typed_results import TypedResults
    from mcp_wire.callers import OnProgress

__all__ = ["TaskCalls"]

Begun: TypeAlias = "tuple[Any, bool]"
"""What a call was answered with, and whether that is a task."""

MAX_EARLY = 1000
"""How many tasks may be told of before it is known whose they are."""

_log = logging.getLogger("mcp_gen.client")


class TaskCalls:
    """Begins tasks, and waits for them. One for each session, whatever connections it has."""

    def __init__(
        self,
        calls: SessionCalls,
        settings: ClientSettings,
        returns: TypedResults,
        *,
        declared: bool,
    ) -> None:
        self._calls = calls
        self._returns = returns
        self._declared = declared
        self._settings = settings
        self._way: TaskProtocol | None = None
        self._followed: dict[str, set[ToolTask]] = {}
        self._starting = 0
        self._left: set[asyncio.Task[Begun]] = set()
        """The calls that nobody waits for any more."""
        self._early: dict[str, TaskSnapshot] = {}
        """What was told of tasks whose ids are not known yet: they are on their way."""
        self.only: set[str] = set()
        """The tools that are known to run as tasks only."""

    def bound(self) -> None:
        """There is another connection now, and maybe another revision."""
        self._way = None
        self.forget()

    def forget(self) -> None:
        """There are other tools now."""
        self.only.clear()
        if self._way is not None:
            self._way.forget()

    @property
    def protocol(self) -> TaskProtocol:
        """How the server is asked about tasks."""
        if self._way is None:
            self._way = self._chosen()
        return self._way

    def _chosen(self) -> TaskProtocol:
        profile = self._calls.session.profile
        if profile.tasks == "core":
            # Only the protocol that is spoken is loaded.
            from mcp_gen.client.tasks.core_protocol import CoreTaskProtocol

            return CoreTaskProtocol(self._calls, self._settings.max_pages)
        if profile.tasks == "extension":
            if not self._declared:
                return NoTasks("make the client with `tasks=True`, so that servers may begin tasks")
            # Only the protocol that is spoken is loaded.
            from mcp_gen.client.tasks.extension_protocol import ExtensionTaskProtocol

            return ExtensionTaskProtocol(self._calls)
        return NoTasks(f"{profile.revision} has no tasks")

    # --- beginning ---

    async def start(
        self,
        fields: dict[str, Any],
        asked_for: Any,
        *,
        meta: dict[str, Any] | None,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> ToolTask:
        """Call a tool so that it may go on as a task, and give that, or what came of it at once."""
        name: str = fields["name"]
        task = await self.protocol.task_params(name, asked_for)
        reports: DetachedProgress | None = None
        if task is not None and progress is not None:
            progress = reports = DetachedProgress(progress)
        call = partial(
            self._calls.start_call, {**fields, "task": task}, meta=meta, progress=progress
        )
        begun: ToolTask | None = None
        self._starting += 1
        try:
            if task is None:
                result, is_task = await call(timeout_s=timeout_s)
            else:
                result, is_task = await self._detached(call, timeout_s, reports)
            if is_task:
                begun = self.begun(result, name, timeout_s, reports)
        finally:
            self._starting -= 1
            if not self._starting:
                self._early.clear()
            if begun is None and reports is not None:
                reports.release()
        return begun or ToolTask(self, None, tool=name, result=result)

    async def _detached(
        self,
        call: Callable[..., Coroutine[Any, Any, Begun]],
        timeout_s: float | None,
        reports: DetachedProgress | None,
    ) -> Begun:
        """Await a call that asks for a task. If nobody waits any more, its task is called off.

        Such a request may not be cancelled itself:
        https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#behavior-requirements
        """
        if timeout_s is None:
            timeout_s = self._calls.session.default_timeout_s
        loop = asyncio.get_running_loop()
        limit_s = max(self._settings.max_timeout_s, timeout_s)
        ends = loop.time() + limit_s
        calling = loop.create_task(call(timeout_s=limit_s))
        heard = -1
        try:
            while not calling.done() and heard != (heard := reports.report if reports else 0):
                left_s = min(timeout_s, ends - loop.time())
                await asyncio.wait({calling}, timeout=left_s)
            if not calling.done():
                raise RequestTimeout(f"no answer in {timeout_s:g} s to a call that asks for a task")
        except (asyncio.CancelledError, RequestTimeout):
            self._left.add(calling)
            calling.add_done_callback(self._came_late)
            raise
        return calling.result()

    def _came_late(self, calling: asyncio.Task[Begun]) -> None:
        self._left.discard(calling)
        if calling.cancelled() or calling.exception() is not None:
            return
        result, is_task = calling.result()
        if is_task:
            self.leave(result)

    def leave(self, begun: Any) -> None:
        """Call off a task that began when nobody waited for it any more."""
        task = self.begun(begun, "", None)
        if not task.done and self.protocol.can_cancel:
            self._calls.run(self._call_off(task))

    def begun(
        self,
        result: Any,
        tool: str,
        timeout_s: float | None,
        reports: DetachedProgress | None = None,
    ) -> ToolTask:
        """The task that a call was answered with."""
        state = snapshot_of(getattr(result, "task", result))
        state = self._early.pop(state.state.id, state)
        if timeout_s is None:
            timeout_s = self._calls.session.default_timeout_s
        return ToolTask(
            self, state.state.id, tool=tool, seen=state, timeout_s=timeout_s, reports=reports
        )

    def task(self, id: str, tool: str | None) -> ToolTask:
        """A task that was begun elsewhere."""
        return ToolTask(self, id, tool=tool, timeout_s=self._calls.session.default_timeout_s)

    async def all(self) -> AsyncIterator[ToolTask]:
        """What the server lists."""
        timeout_s = self._calls.session.default_timeout_s
        async for state in self.protocol.list_tasks():
            yield ToolTask(self, state.state.id, seen=state, timeout_s=timeout_s)

    async def required(self, tool: str, error: McpError) -> bool:
        """Whether a call was refused because this tool runs as a task only; then it is known."""
        if not await self.protocol.requires_task(tool, error):
            return False
        self.only.add(tool)
        return True

    async def refused(self, tool: str, result: Any) -> bool:
        """The same, of a result that says so: many servers make one of each error of a call."""
        code = MethodNotFound.code
        if str(code) not in text_of(result):
            return False
        return await self.required(tool, McpError(code, "in a result"))

    # --- waiting ---

    async def call(
        self,
        fields: dict[str, Any],
        asked_for: Any,
        *,
        meta: dict[str, Any] | None,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> Any:
        """What comes of a call that may go on as a task.

        As any call it is made again if it fails until the user has been on some pages.
        """
        for _ in range(self._settings.max_rounds + 1):
            task = await self.start(
                fields, asked_for, meta=meta, timeout_s=timeout_s, progress=progress
            )
            try:
                return await self.finished(task, timeout_s)
            except McpError as error:
                await self._calls.complete_url_elicitation(error)
        times = self._settings.max_rounds
        raise ProtocolError(f"{fields['name']}: the user was sent to pages {times} times")

    async def await_task_call(self, tool: str, begun: Any, timeout_s: float | None) -> Any:
        """Wait for what comes of the task that a call was answered with."""
        return await self.finished(self.begun(begun, tool, timeout_s), timeout_s)

    async def finished(self, task: ToolTask, timeout_s: float | None = None) -> Any:
        """What comes of a task that nobody else knows of: it is called off if nobody waits.

        `timeout_s` is for each of the requests; in all it may take `max_timeout_s` of the client.
        """
        limit_s = max(self._settings.max_timeout_s, timeout_s or 0)
        try:
            return await task.result(timeout_s=limit_s)
        except (TaskGone, SessionLost):
            raise
        except BaseException:
            await self._leave(task)
            raise

    async def _leave(self, task: ToolTask) -> None:
        """Call a task off; the answer is not waited for: the caller wants to be rid of it."""
        if task.id is not None and not task.done and self.protocol.can_cancel:
            self._calls.run(self._call_off(task))
            await asyncio.sleep(0)  # in which it is sent

    async def _call_off(self, task: ToolTask) -> None:
        try:
            await self.protocol.cancel(task.id or "", self._calls.session.default_timeout_s)
        except McpGenError as error:
            _log.debug("calling off the task %s: %s", task.id, error)

    @property
    def is_lost(self) -> bool:
        """Whether the connection has ended: what is asked next finds out, or begins another."""
        return self._calls.session.is_lost

    async def read(self, tool: str, result: Any, returns: type[Any]) -> Any:
        """What a tool returned, as a value of that type."""
        return await self._returns.read(tool, result, returns)

    # --- hearing ---

    def follow(self, task: ToolTask) -> None:
        """Tell this task what the server tells."""
        self._followed.setdefault(task.id or "", set()).add(task)

    def unfollow(self, task: ToolTask) -> None:
        """Nobody waits for it any more."""
        others = self._followed.get(task.id or "", set())
        others.discard(task)
        if not others:
            self._followed.pop(task.id or "", None)

    def on_notification(self, params: Any) -> None:
        """The server told where a task stands."""
        told, id = snapshot_of(params), params.task_id
        for task in list(self._followed.get(id, ())):
            task.update(told)
        if self._starting and id not in self._followed and len(self._early) < MAX_EARLY:
            self._early[id] = told

    def on_disconnect(self) -> None:
        """The connection has ended: whoever waits is to find out, or to go on with the next."""
        for tasks in list(self._followed.values()):
            for task in list(tasks):
                task.wake()
