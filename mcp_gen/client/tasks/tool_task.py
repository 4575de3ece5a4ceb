"""ToolTask: a tool call that runs as a task, with status, result and cancel."""

from __future__ import annotations

import asyncio
import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from msgspec import UNSET

from mcp_gen.core.errors import McpError, McpGenError, RequestTimeout, TaskCancelled, UsageError
from mcp_gen.core.peer_values import seconds_within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator

    from typing_extensions import TypeForm

    from mcp_gen.client.tasks.protocol import TaskProtocol
    from mcp_gen.client.tasks.state import TaskSnapshot, TaskState, TaskStatus
    from mcp_gen.session.duplex.progress import DetachedProgress
    from mcp_wire import latest

__all__ = ["ToolTask"]

T = TypeVar("T")

MIN_POLL_S = 0.05
MAX_POLL_S = 60.0
"""Bounds of the poll interval in seconds, whatever the server wants."""
POLL_S = 0.5
"""First poll interval in seconds if the server names none; it grows up to `SLOW_POLL_S`."""
SLOW_POLL_S = 5.0
JITTER = 0.1
"""Maximum random extension of a poll interval, as a fraction, so that polls are spread."""


class TaskOwner(Protocol):
    """Interface of the session part that a task belongs to."""

    @property
    def protocol(self) -> TaskProtocol:
        """Task protocol of the connection."""
        ...

    @property
    def is_lost(self) -> bool:
        """True if the connection was lost; the next request opens another."""
        ...

    async def read(self, tool: str, result: Any, returns: Any) -> Any:
        """Return a tool's result as a value of a type."""
        ...

    def follow(self, task: ToolTask) -> None:
        """Pass status notifications on to this task."""
        ...

    def unfollow(self, task: ToolTask) -> None:
        """Stop passing status notifications on to this task."""
        ...


class ToolTask:
    """A tool call that may run as a task; from `ClientSession.start_tool`, `task` or `tasks`.

    `state` and `status` are the last known ones; `refresh` asks the server. While a program awaits
    `result` or iterates over the task, the server is polled at the interval it wants, and its input
    requests are answered by the client's callbacks. If the server answered the call directly, there
    is no task: `id` is None, and `result` is available at once.

    Args:
        tasks: The session part that owns the task.
        id: Task id; None if the server answered directly.
        tool: Name of the tool; None if unknown.
        snapshot: First known state.
        result: Result of a call that was answered directly.
        timeout_s: Seconds that each request about the task may take.
        detached_progress: Progress of the call.
    """

    def __init__(
        self,
        tasks: TaskOwner,
        id: str | None,
        *,
        tool: str | None = None,
        snapshot: TaskSnapshot | None = None,
        result: Any = None,
        timeout_s: float | None = None,
        detached_progress: DetachedProgress | None = None,
    ) -> None:
        self.id = id
        """Task id, to be stored for `ClientSession.task`; None if the server answered directly."""
        self.tool = tool
        """Name of the tool that was called; None if unknown."""
        self.answers: dict[str, Any] = {}
        """Answers to the task's input requests, by key: each is requested once."""
        self.told: set[str] = set()
        """Keys of the answers that the server has received."""
        self._tasks = tasks
        self._snapshot = snapshot
        self._result = result
        self._timeout_s = timeout_s
        self._detached_progress = detached_progress
        self._waiting = 0
        self._following: asyncio.Task[None] | None = None
        self._input_task: asyncio.Task[Any] | None = None
        """Request that the server answers when the task has finished, or that sends answers."""
        self._error: Exception | None = None
        self._change: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        return f"<ToolTask {self.id} {self.status or 'not asked for yet'}>"

    # --- last known state ---

    @property
    def state(self) -> TaskState | None:
        """The last known state; None if there is none, or no task."""
        return self._snapshot and self._snapshot.state

    @property
    def status(self) -> TaskStatus | None:
        """The last known status; None if unknown: `refresh` asks the server."""
        if self._snapshot is not None:
            return self._snapshot.state.status
        return None if self._result is None else "completed"

    @property
    def done(self) -> bool:
        """True if the task is known to have finished: completed, failed or cancelled."""
        return self._result is not None or self._finished

    # --- requests ---

    async def refresh(self) -> TaskState | None:
        """Ask the server for the state of the task (`tasks/get`).

        A finished task is not asked for again.

        Returns:
            The state; None if there is no task.

        Raises:
            TaskGone: The server does not know the task, or has deleted it.
            McpError: The server returned an error.
            RequestTimeout: The server did not answer in time.
            SessionLost: The server disconnected.
        """
        if self.id is not None and not self._finished:
            self.update(await self._tasks.protocol.get(self.id, self._timeout_s))
        return self.state

    @overload
    async def result(self, *, timeout_s: float | None = None) -> latest.CallToolResult: ...

    @overload
    async def result(self, returns: None, *, timeout_s: float | None = None) -> None: ...

    # Checkers without TypeForm understand classes.

    @overload
    async def result(self, returns: type[T], *, timeout_s: float | None = None) -> T: ...

    @overload
    async def result(self, returns: TypeForm[T], *, timeout_s: float | None = None) -> T: ...

    async def result(self, returns: Any = UNSET, *, timeout_s: float | None = None) -> Any:
        """Wait for the end of the task and return its result.

        A timeout, or cancelling the waiting coroutine, does not cancel the task; `cancel` does.

        Args:
            returns: Type of the result, or None for nothing; see `ClientSession.call_tool`. Not
                given: the plain result.
            timeout_s: Seconds to wait; None: without limit.

        Returns:
            The CallToolResult; with `returns`, a value of that type.

        Raises:
            TaskCancelled: The task was cancelled.
            TaskGone: The server does not know the task, or has deleted it.
            RequestTimeout: The task did not finish within `timeout_s`, or the server did not answer
                a request in time.
            ToolError: With `returns`: the tool failed.
            InvalidResult: With `returns`: the content does not fit the output schema or the type.
            McpError: The task failed with this error, or the server returned an error.
            SessionLost: The server disconnected.
        """
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                result = await self._outcome()
        except TimeoutError:
            if not limit.expired():
                raise
            raise RequestTimeout(f"the task {self.id!r} was not over in {timeout_s:g} s") from None
        if returns is UNSET:
            return result
        return await self._tasks.read(self.tool or self.id or "", result, returns)

    async def cancel(self) -> TaskState | None:
        """Cancel the task (`tasks/cancel`); a finished task stays as it is.

        At 2026-07-28 the server only acknowledges the request: the task may run on for a while.

        Returns:
            The state after the request; None if there is no task.

        Raises:
            TaskGone: The server does not know the task, or has deleted it.
            McpError: The server returned an error.
            RequestTimeout: The server did not answer in time.
            SessionLost: The server disconnected.
        """
        if self.id is not None and not self.done:
            try:
                snapshot = await self._tasks.protocol.cancel(self.id, self._timeout_s)
            except McpError:
                # The task may have finished in the meantime.
                if not await self._refresh_finished():
                    raise
            else:
                if snapshot is None:
                    await self.refresh()
                else:
                    self.update(snapshot)
        return self.state

    async def __aiter__(self) -> AsyncIterator[TaskState]:
        """Yield the current state, then each change, until the task has finished.

        Raises:
            UsageError: The server answered the call directly: there is no task.
            TaskGone: The server does not know the task, or has deleted it.
            McpError: The server returned an error.
            RequestTimeout: The server did not answer in time.
            SessionLost: The server disconnected.
        """
        if self.id is None:
            raise UsageError("the server answered at once: there is no task to follow")
        reported: TaskState | None = None
        with self._following_server():
            while True:
                if self.state is not None and self.state != reported:
                    reported = self.state
                    yield reported
                elif reported is not None and self.done:
                    return
                else:
                    await self._next_change()

    # --- called by the session ---

    def update(self, snapshot: TaskSnapshot) -> None:
        """Store a reported state; a final state is never replaced."""
        if not self._finished:
            self._snapshot = snapshot
        self.wake()

    def wake(self) -> None:
        """Wake up waiting coroutines, for instance because the connection was lost."""
        if self._change is not None and not self._change.done():
            self._change.set_result(None)

    # --- waiting ---

    @property
    def _finished(self) -> bool:
        return self._snapshot is not None and self._snapshot.state.finished

    async def _refresh_finished(self) -> bool:
        await self.refresh()
        return self._finished

    async def _outcome(self) -> Any:
        if self._result is None:
            if not self.done:
                with self._following_server():
                    while not self.done:
                        await self._next_change()
            self._release_progress()
            if self._result is None:
                self._result = await self._fetch_outcome()
        return self._result

    def _release_progress(self) -> None:
        """Stop passing on progress: the task has finished."""
        if self._detached_progress is not None:
            self._detached_progress.release()

    async def _fetch_outcome(self) -> Any:
        assert self._snapshot is not None
        state = self._snapshot.state
        if state.status == "cancelled":
            reason = f": {state.message}" if state.message else ""
            raise TaskCancelled(f"the task {self.id!r} was cancelled{reason}")
        return await self._tasks.protocol.outcome(self._snapshot, self._timeout_s)

    @contextmanager
    def _following_server(self) -> Generator[None]:
        """Poll the server while a coroutine waits; all waiting coroutines share one poll loop."""
        assert self.id is not None
        self._waiting += 1
        if self._following is None:
            self._error = None
            self._tasks.follow(self)
            self._following = asyncio.get_running_loop().create_task(self._follow())
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._stop_following()

    def _stop_following(self) -> None:
        following, self._following = self._following, None
        if following is not None and following is not asyncio.current_task():
            following.cancel()
        if self._input_task is not None:
            self._input_task.cancel()
            self._input_task = None
        if self.done:
            self._release_progress()
        self._tasks.unfollow(self)

    async def _next_change(self) -> None:
        """Wait for a change.

        Raises the error that ended polling.
        """
        if self._error is None:
            await asyncio.wait({self._change_future()})
        error: Exception | None = self._error
        if error is not None and not self.done:
            raise error

    def _change_future(self) -> asyncio.Future[None]:
        if self._change is None or self._change.done():
            self._change = asyncio.get_running_loop().create_future()
        return self._change

    async def _follow(self) -> None:
        this = asyncio.current_task()
        try:
            await self._keep_polling()
        except Exception as error:
            self._error = error
        if self._following is this:
            self._stop_following()
        self.wake()

    async def _keep_polling(self) -> None:
        poll_s = POLL_S
        if self._snapshot is None:
            await self.refresh()
        while not self.done:
            self._answer_input()
            before = self._snapshot
            await self._pause(poll_s)
            poll_s = min(poll_s * 1.5, SLOW_POLL_S)
            self._take_input_result()
            if self._snapshot is before and not self._finished:
                await self._refresh_after_result()

    def _answer_input(self) -> None:
        """Start handling the task's input requests, if there are any."""
        assert self._snapshot is not None
        if self._input_task is None:
            work = self._tasks.protocol.answer_input(self, self._snapshot)
            if work is not None:
                self._input_task = asyncio.get_running_loop().create_task(work)
                self._input_task.add_done_callback(self._on_input_done)

    def _on_input_done(self, input_task: asyncio.Task[Any]) -> None:
        if not input_task.cancelled():
            input_task.exception()  # marks it as retrieved; `_take_input_result` raises it
        self.wake()

    def _take_input_result(self) -> None:
        """Take the result of a finished `_input_task`; it may be the result of the whole task."""
        if self._input_task is not None and self._input_task.done():
            input_task, self._input_task = self._input_task, None
            self._result = input_task.result()

    async def _refresh_after_result(self) -> None:
        try:
            await self.refresh()
        except McpGenError:
            if self._result is None:
                raise

    async def _pause(self, poll_s: float) -> None:
        """Wait for the poll interval or a change."""
        if not self._tasks.is_lost and (self._input_task is None or not self._input_task.done()):
            await asyncio.wait({self._change_future()}, timeout=self._delay_s(poll_s))

    def _delay_s(self, poll_s: float) -> float:
        """Return the seconds until the next poll."""
        assert self._snapshot is not None
        interval_ms, ttl_ms = self._snapshot.state.poll_ms, self._snapshot.state.ttl_ms
        if interval_ms is not None:
            poll_s = seconds_within(interval_ms)
        if ttl_ms is not None:
            # The result must be fetched before the task expires.
            poll_s = min(poll_s, seconds_within(ttl_ms) / 2)
        poll_s = min(max(poll_s, MIN_POLL_S), MAX_POLL_S)
        return poll_s * (1 + JITTER * random.random())
