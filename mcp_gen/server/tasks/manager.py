"""The tasks of a server: made, found, ended, forgotten."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Raw
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import InvalidParams, McpError, ProtocolError
from mcp_gen.core.projection.project import project
from mcp_gen.core.stores.tasks import MemoryTaskStore, StoredTask
from mcp_gen.core.text_encoding import long_text_field, pre_encode_texts
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.server.tasks.expiry import Expiry
from mcp_gen.server.tasks.running import RunningTask
from mcp_wire import encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping
    from contextlib import AbstractAsyncContextManager

    from mcp_gen.core.stores.tasks import TaskStore
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.tasks.options import Tasks
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.profile import Profile

__all__ = ["CLOSE_S", "MakeProtocol", "TaskManager"]

T = TypeVar("T")
MakeProtocol: TypeAlias = "Callable[[TaskManager, Profile], Any]"
"""Makes what speaks of tasks at a revision: of no common type, but for `call`."""

CLOSE_S = 5.0
"""How long handlers may take to end when the server does."""

_log = logging.getLogger("mcp_gen.server")


class TaskManager:
    """The tasks of a server: `server.tasks`."""

    def __init__(
        self,
        kernel: Kernel[Context],
        tools: ToolRegistry,
        needed: Callable[[], AbstractAsyncContextManager[None]],
        protocols: Mapping[str, MakeProtocol],
        options: Tasks,
    ) -> None:
        """Keep the tasks of a server.

        Args:
            tools: The server's own tools; those of a call are handed to `call`.
            needed: Holds the lifespan and the mounts of the server while a handler runs.
            protocols: What speaks of tasks, by `Profile.tasks`.
        """
        self.kernel = kernel
        self.tools = tools
        self.acquire_server = needed
        self.options = options
        # Not `or`: an empty store is false.
        store = options.store
        self.store: TaskStore = (
            MemoryTaskStore(max_tasks=options.max_tasks) if store is None else store
        )
        self.now: Callable[[], float] = options.clock or time.time
        self.running: dict[str, RunningTask] = {}
        """Those whose handlers run in this process."""
        self._make_protocol = protocols
        self._protocols: dict[str, Any] = {}
        self._busy: set[asyncio.Task[None]] = set()
        self._counts: Counter[str | None] = Counter()
        self.changed: Callable[[RunningTask], None] = _ignore
        """Called when a task stands elsewhere."""
        self.expiry = Expiry(self.now, self.expire)
        """When they are to be forgotten."""

    # --- what is spoken ---

    def call(self, ctx: Context, params: Any, tools: ToolRegistry) -> Awaitable[Any]:
        """What a call of a tool is answered with."""
        # Not async itself: tools that never run as tasks are not to pay for those that do.
        # The tools may be those of a mounted server, whose tasks are kept outside.
        tool = tools.listing.find(ctx, params.name)
        if tool is None or (tool.task is None and getattr(params, "task", None) is None):
            return run_with_rounds(ctx, params, tools.call)
        answer: Awaitable[Any] = self.protocol(ctx.profile).call(ctx, params, tool, tools)
        return answer

    def protocol(self, profile: Profile) -> Any:
        """How tasks are spoken of at a revision."""
        found = self._protocols.get(profile.revision)
        if found is None:
            found = self._protocols[profile.revision] = self._make_protocol[profile.tasks](
                self, profile
            )
        return found

    def spawn(self, call: Coroutine[Any, Any, None]) -> None:
        """Do something that nobody waits for."""
        task = asyncio.get_running_loop().create_task(call)
        self._busy.add(task)
        task.add_done_callback(self._publish)

    def _publish(self, task: asyncio.Task[None]) -> None:
        self._busy.discard(task)
        if not task.cancelled() and (error := task.exception()):
            _log.error("a notification could not be sent", exc_info=error)

    # --- making ---

    def new(self, ctx: Context, tool: ServerTool, wish_ms: int | None = None) -> RunningTask:
        """A task for a call of a tool, which nobody knows of yet.

        Raises:
            McpError: the client has too many that run.
        """
        owner = _owner(ctx)
        if self._counts[owner] >= self.options.max_running:
            raise McpError(ProtocolError.code, "too many tasks are running; wait until some end")
        now = self.now()
        session = ctx.session
        record = StoredTask(
            id=secrets.token_urlsafe(24),
            message=tool.immediate_message,
            created_at=now,
            updated_at=now,
            expires_at=now + self.options.ttl_for(wish_ms),
            revision=ctx.revision,
            principal=origin_of(ctx).principal,
            session=None if session is None else session.id,
        )
        task = RunningTask(self, record, session)
        task.on_change = lambda: self.changed(task)
        return task

    async def make(self, task: RunningTask) -> None:
        """Keep a task: from now on clients can know of it.

        Raises:
            McpError: there are too many.
        """
        record, begins_later = task.record, task.handler is None
        if begins_later:
            # While it is being kept, others are made too.
            self._count(record, 1)
        try:
            kept = await self.store.add(record, self.now())
        except BaseException:
            # It may have been kept, and nobody will ever ask for it.
            self.spawn(self.store.forget(record.id))
            raise
        finally:
            if begins_later:
                self._count(record, -1)
        if not kept:
            raise McpError(ProtocolError.code, "this server keeps no more tasks; try again later")
        task.made = True
        if record.expires_at is not None:
            self.expiry.add(record.expires_at, task.id)
            self._forget_replaced()
        if task.done:
            await task.finish()
        elif task.record is not record:
            await task.change()

    def _forget_replaced(self) -> None:
        """Expect no end of what a full store has replaced: its time may be days away."""
        store = self.store
        if isinstance(store, MemoryTaskStore):
            known = len(store) + len(self.running)
            if len(self.expiry) > 2 * known + 100:
                self.expiry.keep(lambda id: id in store or id in self.running)

    def start(self, task: RunningTask, work: Coroutine[Any, Any, Any]) -> None:
        """Run the handler of a task."""
        task.start(work)
        self.running[task.id] = task
        self._count(task.record, 1)

    def handler_ended(self, id: str) -> None:
        """Forget the handler of a task: it has ended."""
        task = self.running.pop(id, None)
        if task is not None:
            self._count(task.record, -1)

    def _count(self, record: StoredTask, more: int) -> None:
        owner = _owner_of(record)
        self._counts[owner] += more
        if not self._counts[owner]:
            del self._counts[owner]

    # --- finding ---

    async def find(self, ctx: Context, id: str) -> StoredTask:
        """The task of that id, if the client of this request may ask for it.

        Raises:
            InvalidParams: it may not, or there is none: a client cannot tell which.
        """
        found = await self.store.load(id)
        if found is not None and found.expires_at is not None and found.expires_at <= self.now():
            await self.expire(id)
            found = None
        if found is None or found.principal != origin_of(ctx).principal:
            raise InvalidParams("no such task: it is unknown, or its time is over - at `$.taskId`")
        here = self.running.get(id)
        if here is not None:
            if ctx.session is not None:
                here.session = ctx.session
            if found.over and not here.record.over:
                # Ended by another process.
                await self.run_on_task_loop(here, here.change())
        return found

    async def ended(self, ctx: Context, id: str) -> StoredTask:
        """Wait until a task is over. Raises what `find` raises."""
        task = await self.find(ctx, id)
        while not task.over:
            here = self.running.get(id)
            if here is not None:
                await self.run_on_task_loop(here, here.wait())
            else:
                await asyncio.sleep(self.options.poll_interval_s)
            task = await self.find(ctx, id)
        return task

    async def cancel(self, ctx: Context, id: str) -> tuple[StoredTask, bool]:
        """End a task; it as it is then, and whether it was not over before.

        Raises what `find` raises.
        """
        task = await self.find(ctx, id)
        here = self.running.get(id)
        if here is not None:
            kept = await self.run_on_task_loop(here, here.cancel())
        else:
            kept = await self.store.save(_cancelled(task, self.now()))
        return await self.find(ctx, id), kept

    async def run_on_task_loop(self, task: RunningTask, call: Coroutine[Any, Any, T]) -> T:
        """Await something on the event loop that a task runs on."""
        if task.loop is asyncio.get_running_loop():
            return await call
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, task.loop))

    # --- ending ---

    async def expire(self, id: str) -> None:
        """The time of a task is over: nothing stays of it."""
        here = self.running.get(id)
        try:
            await self.store.forget(id)
        finally:
            if here is not None:
                await self.run_on_task_loop(here, here.expire())

    async def sweep(self) -> None:
        """Forget the tasks of this process whose time is over. This happens by itself."""
        await self.expiry.sweep()

    async def aclose(self) -> None:
        """End what runs; handlers have a moment to clean up."""
        self.expiry.close()
        loop = asyncio.get_running_loop()
        handlers: list[asyncio.Task[None]] = []
        for task in list(self.running.values()):
            if task.loop is loop and task.handler is not None:
                task.stop()
                handlers.append(task.handler)
            elif not task.loop.is_closed():
                task.loop.call_soon_threadsafe(task.stop)
        if handlers:
            _, late = await asyncio.wait(handlers, timeout=CLOSE_S)
            if late:
                _log.warning("%d tasks did not end with their server", len(late))

    # --- results ---

    def written(self, result: Any, revision: str) -> tuple[Raw, bool]:
        """A result as JSON of a revision, and whether it says that the tool failed."""
        profile, raw = mcp_wire.profile(revision), getattr(result, "json", result)
        if isinstance(raw, Raw) and profile.call_tool is not None:
            # It has been written elsewhere, and stays as it is.
            return raw, bool(getattr(profile.call_tool.decode_result(raw), "is_error", None))
        result = project(result, revision).value
        is_error = bool(getattr(result, "is_error", None))
        field = long_text_field(result.__class__)
        if field:
            result = pre_encode_texts(result, field)
        return Raw(encode(result)), is_error


def _ignore(task: RunningTask) -> None:
    pass


def _owner(ctx: Context) -> str | None:
    if origin_of(ctx).principal is not None or ctx.session is None:
        return origin_of(ctx).principal
    return ctx.session.id


def _owner_of(task: StoredTask) -> str | None:
    return task.session if task.principal is None else task.principal


def _cancelled(task: StoredTask, now: float) -> StoredTask:
    return replace(task, status="cancelled", updated_at=now)
