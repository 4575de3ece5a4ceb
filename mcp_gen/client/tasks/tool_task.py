"""A tool call that goes on as a task: where it stands, what comes of it, and calling it off."""

from __future__ import annotations

import asyncio
import random
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from mcp_gen.core.errors import McpError, McpGenError, RequestTimeout, TaskCancelled, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator

    from mcp_gen.client.tasks.protocol import TaskProtocol
    from mcp_gen.client.tasks.state import TaskSnapshot, TaskState, TaskStatus
    from mcp_gen.session.duplex.progress import DetachedProgress
    from mcp_wire import latest

__all__ = ["ToolTask"]

T = TypeVar("T")

MIN_POLL_S = 0.05
MAX_POLL_S = 60.0
"""The bounds of what servers may want: more often floods them, more seldom is as good as never."""
POLL_S = 0.5
"""How long is waited before the second question, where the server does not say: the next waits
are longer and longer, up to `SLOW_POLL_S`."""
SLOW_POLL_S = 5.0
JITTER = 0.1
"""Which part of a wait is added at most, so that many tasks do not poll at one moment."""


class TaskOwner(Protocol):
    """Interface of the session part that a task belongs to."""

    @property
    def protocol(self) -> TaskProtocol:
        """The requests of the server's task protocol."""
        ...

    @property
    def is_lost(self) -> bool:
        """True if the connection has ended; the next request opens another."""
        ...

    async def read(self, tool: str, result: Any, returns: type[Any]) -> Any:
        """Return a tool's result as a value of a type."""
        ...

    def follow(self, task: ToolTask) -> None:
        """Pass status notifications on to this task."""
        ...

    def unfollow(self, task: ToolTask) -> None:
        """Stop passing on what `follow` began."""
        ...


class ToolTask:
    """A tool call that may go on as a task: made by `ClientSession.start_tool`, `task`, `tasks`.

    What is known is what was last heard: `refresh` asks. While somebody awaits `result` or iterates
    over it, it is asked for as often as the server wants, and what the server asks for is answered
    as anywhere else. Where the server answered at once, there was no task: it is over, has a
    `result`, and no `id`.
    """

    def __init__(
        self,
        tasks: TaskOwner,
        id: str | None,
        *,
        tool: str | None = None,
        seen: TaskSnapshot | None = None,
        result: Any = None,
        timeout_s: float | None = None,
        reports: DetachedProgress | None = None,
    ) -> None:
        self.id = id
        """How the server names it: to be kept, and given to `ClientSession.task` later. None where
        the server answered at once."""
        self.tool = tool
        """The tool that was called, where that is known."""
        self.answers: dict[str, Any] = {}
        """What was answered to the server's questions, by key: nobody is asked twice."""
        self.told: set[str] = set()
        """The keys of the questions whose answers the server has."""
        self._tasks = tasks
        self._snapshot = seen
        self._result = result
        self._timeout_s = timeout_s
        self._reports = reports
        self._waiting = 0
        self._following: asyncio.Task[None] | None = None
        self._polling: asyncio.Task[Any] | None = None
        """A request that the server answers when it is done, and may use to ask."""
        self._error: Exception | None = None
        self._news: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        return f"<ToolTask {self.id} {self.status or 'not asked for yet'}>"

    # --- what is known ---

    @property
    def state(self) -> TaskState | None:
        """What was last heard of it; None where nothing has been heard, or there is no task."""
        return self._snapshot and self._snapshot.state

    @property
    def status(self) -> TaskStatus | None:
        """Where it stood when it was last heard of; None: `refresh` tells."""
        if self._snapshot is not None:
            return self._snapshot.state.status
        return None if self._result is None else "completed"

    @property
    def done(self) -> bool:
        """Whether it is known to be over: completed, failed or cancelled."""
        return self._result is not None or self._over

    # --- using it ---

    async def refresh(self) -> TaskState | None:
        """Ask the server where it stands.

        Raises:
            TaskGone: it does not know it, or not any more.
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
        """
        if self.id is not None and not self._over:
            self.update(await self._tasks.protocol.get(self.id, self._timeout_s))
        return self.state

    @overload
    async def result(
        self, returns: None = None, *, timeout_s: float | None = None
    ) -> latest.CallToolResult: ...

    @overload
    async def result(self, returns: type[T], *, timeout_s: float | None = None) -> T: ...

    async def result(self, returns: Any = None, *, timeout_s: float | None = None) -> Any:
        """What comes of it, once it is over; `returns` as for `ClientSession.call_tool`.

        It is waited for as long as it takes, or `timeout_s`. Neither that nor cancelling whoever
        waits calls the task off: `cancel` does.

        Raises:
            TaskCancelled: it was called off.
            TaskGone: the server does not know it, or not any more.
            RequestTimeout: it was not over in `timeout_s`, or the server did not answer.
            ToolError, InvalidParams: see `ClientSession.call_tool`.
            McpError, SessionLost: what came of it is an error; the server would not, or went away.
        """
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                result = await self._outcome()
        except TimeoutError:
            if not limit.expired():
                raise
            raise RequestTimeout(f"the task {self.id!r} was not over in {timeout_s:g} s") from None
        if returns is None:
            return result
        return await self._tasks.read(self.tool or self.id or "", result, returns)

    async def cancel(self) -> TaskState | None:
        """Call it off; one that is over stays as it is. Gives where it stands now.

        Where the server only says that it has heard, as at 2026-07-28, it may go on for a while.

        Raises:
            TaskGone: the server does not know it, or not any more.
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
        """
        if self.id is not None and not self.done:
            try:
                now = await self._tasks.protocol.cancel(self.id, self._timeout_s)
            except McpError:
                # It may have ended meanwhile.
                if not await self._is_over():
                    raise
            else:
                if now is None:
                    await self.refresh()
                else:
                    self.update(now)
        return self.state

    async def __aiter__(self) -> AsyncIterator[TaskState]:
        """Where it stands now, and each change until it is over.

        Raises:
            TaskGone: the server does not know it, or not any more.
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
        """
        if self.id is None:
            raise UsageError("the server answered at once: there is no task to follow")
        told: TaskState | None = None
        with self._followed():
            while True:
                if self.state is not None and self.state != told:
                    told = self.state
                    yield told
                elif told is not None and self.done:
                    return
                else:
                    await self._next_news()

    # --- what the session tells ---

    def update(self, seen: TaskSnapshot) -> None:
        """The server told where it stands. What is over stays so, whatever came late."""
        if not self._over:
            self._snapshot = seen
        self.wake()

    def wake(self) -> None:
        """There is something to look at, such as that the connection has ended."""
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    # --- waiting ---

    @property
    def _over(self) -> bool:
        return self._snapshot is not None and self._snapshot.state.finished

    async def _is_over(self) -> bool:
        await self.refresh()
        return self._over

    async def _outcome(self) -> Any:
        if self._result is None:
            if not self.done:
                with self._followed():
                    while not self.done:
                        await self._next_news()
            self._release()
            if self._result is None:
                self._result = await self._fetched()
        return self._result

    def _release(self) -> None:
        """There is no more progress to be told of."""
        if self._reports is not None:
            self._reports.release()

    async def _fetched(self) -> Any:
        assert self._snapshot is not None
        state = self._snapshot.state
        if state.status == "cancelled":
            why = f": {state.message}" if state.message else ""
            raise TaskCancelled(f"the task {self.id!r} was cancelled{why}")
        return await self._tasks.protocol.outcome(self._snapshot, self._timeout_s)

    @contextmanager
    def _followed(self) -> Generator[None]:
        """As long as somebody waits, the server is asked: by one task, however many wait."""
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
                self._unfollowed()

    def _unfollowed(self) -> None:
        following, self._following = self._following, None
        if following is not None and following is not asyncio.current_task():
            following.cancel()
        if self._polling is not None:
            self._polling.cancel()
            self._polling = None
        if self.done:
            self._release()
        self._tasks.unfollow(self)

    async def _next_news(self) -> None:
        """Wait until there is something new.

        Raises what the server could not be asked for.
        """
        if self._error is None:
            await asyncio.wait({self._woken()})
        error: Exception | None = self._error
        if error is not None and not self.done:
            raise error

    def _woken(self) -> asyncio.Future[None]:
        if self._news is None or self._news.done():
            self._news = asyncio.get_running_loop().create_future()
        return self._news

    async def _follow(self) -> None:
        this = asyncio.current_task()
        try:
            await self._keep_polling()
        except Exception as error:
            self._error = error
        if self._following is this:
            self._unfollowed()
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
            self._harvest()
            if self._snapshot is before and not self._over:
                await self._refresh_after_result()

    def _answer_input(self) -> None:
        """See to what the server asks for before it goes on."""
        assert self._snapshot is not None
        if self._polling is None:
            work = self._tasks.protocol.answer_input(self, self._snapshot)
            if work is not None:
                self._polling = asyncio.get_running_loop().create_task(work)
                self._polling.add_done_callback(self._polled)

    def _polled(self, asking: asyncio.Task[Any]) -> None:
        if not asking.cancelled():
            asking.exception()  # it is looked at elsewhere, if anybody still waits
        self.wake()

    def _harvest(self) -> None:
        """Take what came of seeing to it: what comes of the whole, where the server said so."""
        if self._polling is not None and self._polling.done():
            asked, self._polling = self._polling, None
            self._result = asked.result()

    async def _refresh_after_result(self) -> None:
        try:
            await self.refresh()
        except McpGenError:
            if self._result is None:
                raise

    async def _pause(self, poll_s: float) -> None:
        """Until it is time to ask again, or there is something to look at."""
        if not self._tasks.is_lost and (self._polling is None or not self._polling.done()):
            await asyncio.wait({self._woken()}, timeout=self._delay_s(poll_s))

    def _delay_s(self, poll_s: float) -> float:
        """How long to wait before the server is asked again."""
        assert self._snapshot is not None
        wanted_ms, ttl_ms = self._snapshot.state.poll_ms, self._snapshot.state.ttl_ms
        if wanted_ms is not None:
            poll_s = wanted_ms / 1000
        if ttl_ms is not None:
            # What comes of it must be fetched while it is kept.
            poll_s = min(poll_s, ttl_ms / 2000)
        poll_s = min(max(poll_s, MIN_POLL_S), MAX_POLL_S)
        return poll_s * (1 + JITTER * random.random())
