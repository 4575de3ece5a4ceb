"""TaskManager: creates, finds, expires and closes the tasks of a server."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from msgspec import Raw
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import InvalidParams, InvalidRequest, McpError, ProtocolError
from mcp_gen.core.projection.project import restate
from mcp_gen.core.stores.tasks import NOTHING, MemoryTaskStore, StoredTask
from mcp_gen.core.text_encoding import Piece, join_pieces, long_field, take_long_values
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.input_requests.run import run_with_rounds
from mcp_gen.server.listing.scopes import require_scopes
from mcp_gen.server.tasks.expiry import Expiry
from mcp_gen.server.tasks.options import CreationRates
from mcp_gen.server.tasks.running import RunningTask
from mcp_gen.session.kernel.errors import log_background_error
from mcp_wire import encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from mcp_gen.core.stores.tasks import TaskStore
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.tasks.host import OtherNodes
    from mcp_gen.server.tasks.options import Tasks
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.server.tools.tool import ServerTool
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.profile import Profile

__all__ = ["CLOSE_S", "MakeProtocol", "TaskManager", "TaskSubmitter"]

T = TypeVar("T")
MakeProtocol: TypeAlias = "Callable[[TaskManager, Profile], Any]"
"""Creates the task protocol of a revision. The protocols share only `call`."""

CLOSE_S = 5.0
"""Seconds that cancelled handlers have to end when the server closes."""

CANCEL_TRIES = 3
"""Tries to cancel a task that changes meanwhile."""

_log = logging.getLogger("mcp_gen.server")


class TaskSubmitter(Protocol):
    """Starts tasks on the workers of a job engine."""

    def takes(self, tool: ServerTool, tools: ToolRegistry) -> bool:
        """Return True if calls of a tool run on workers."""
        ...

    async def submit(self, ctx: Context, task: RunningTask, tool: ServerTool, params: Any) -> None:
        """Store a task with its call, and hand its id to the engine.

        Raises:
            McpError: The store is full, or the engine cannot be reached.
        """
        ...

    async def check(self, task: StoredTask) -> StoredTask:
        """Return a task of a worker; submit or fail it first if its worker is lost."""
        ...

    async def aclose(self) -> None:
        """Disconnect from the engine."""
        ...


class TaskManager:
    """Registry of the tasks of a server: `server.tasks`.

    Attributes:
        running: Tasks whose handlers run in this process, by id.
        changed: Called with a stored task and its event loop after each change of its status.
        is_watched: Returns True if `changed` has listeners for the id of a task.
        followed: Tasks that this process created and that run on workers, by id.
        nodes: Other nodes of the cluster; None without one.
        submitter: Starts tasks on workers; None runs them in this process.
        expiry: Timer that removes expired tasks.

    Args:
        kernel: The kernel of the server.
        tools: The server's own tools; those of a call are handed to `call`.
        acquire_server: Holds the lifespan and the mounts of the server while a handler runs.
        protocols: Factories of task protocols, by `Profile.tasks`.
        options: Times and limits.
    """

    def __init__(
        self,
        kernel: Kernel[Context],
        tools: ToolRegistry,
        acquire_server: Callable[[], AbstractAsyncContextManager[None]],
        protocols: Mapping[str, MakeProtocol],
        options: Tasks,
    ) -> None:
        self.kernel = kernel
        self.tools = tools
        self.acquire_server = acquire_server
        self.options = options
        # Not `or`, because an empty store is falsy.
        store = options.store
        self.store: TaskStore = (
            MemoryTaskStore(max_tasks=options.max_tasks) if store is None else store
        )
        self.now: Callable[[], float] = options.clock or time.time
        self.running: dict[str, RunningTask] = {}
        self._make_protocol = protocols
        self._protocols: dict[str, Any] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._counts: Counter[str | None] = Counter()
        self._rates = CreationRates(options.max_created_per_s, kernel.limits.peer.anonymous_clients)
        self.changed: Callable[[StoredTask, asyncio.AbstractEventLoop], None] = _ignore
        self.is_watched: Callable[[str], bool] = _never
        self.followed: dict[str, RunningTask] = {}
        self.nodes: OtherNodes | None = None
        self.submitter: TaskSubmitter | None = None
        self.expiry = Expiry(self.now, self.expire)

    @property
    def mask_errors(self) -> bool:
        """True sends nothing of a failure but the id under which it is logged."""
        return self.kernel.mask_errors

    # --- calls ---

    def call(self, ctx: Context, params: Any, tools: ToolRegistry) -> Awaitable[Any]:
        """Answer `tools/call` with the task protocol of the request's revision.

        Args:
            ctx: The request.
            params: Params of the call.
            tools: The tools to call from, which may be those of a mounted server.

        Returns:
            An awaitable of the result, or of a CreateTaskResult.

        Raises:
            InsufficientScope: The token of the request lacks scopes of the tool.
        """
        # Not async: a coroutine less for tools that never run as tasks.
        # The tasks of a mounted server are kept by the outer one.
        tool = tools.listing.find(ctx, params.name)
        if tool is None or (tool.task is None and getattr(params, "task", None) is None):
            return run_with_rounds(ctx, params, tools.call)
        if tool.scopes:
            # Before there is a task: the request itself is refused.
            require_scopes(ctx, tool.scopes)
        response: Awaitable[Any] = self.protocol(ctx.profile).call(ctx, params, tool, tools)
        return response

    def protocol(self, profile: Profile) -> Any:
        """Return the task protocol of a revision, created on first use."""
        found = self._protocols.get(profile.revision)
        if found is None:
            found = self._protocols[profile.revision] = self._make_protocol[profile.tasks](
                self, profile
            )
        return found

    def spawn(self, call: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background; its error is logged."""
        task = asyncio.get_running_loop().create_task(call)
        self._background.add(task)
        task.add_done_callback(self._on_background_done)

    def _on_background_done(self, task: asyncio.Task[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log_background_error("a notification could not be sent", error)

    # --- creation ---

    def new(
        self, ctx: Context, tool: ServerTool, requested_ttl_ms: int | None = None
    ) -> RunningTask:
        """Create a task for a tool call; clients cannot see it before `make`.

        Args:
            ctx: The request of the call.
            tool: The tool.
            requested_ttl_ms: Time to live that the client asks for, in milliseconds.

        Raises:
            InvalidRequest: The client has `max_running` tasks already.
        """
        owner = _owner(ctx)
        if self._counts[owner] >= self.options.max_running:
            raise InvalidRequest("too many tasks are running; wait until some end")
        now = self.now()
        session = ctx.session
        record = StoredTask(
            id=secrets.token_urlsafe(24),
            message=tool.immediate_message,
            created_at=now,
            updated_at=now,
            expires_at=now + self.options.ttl_for(requested_ttl_ms),
            revision=ctx.revision,
            principal=origin_of(ctx).principal,
            scopes=tuple(sorted(origin_of(ctx).required_scopes)),
            session=None if session is None else session.id,
            node=None if self.nodes is None else self.nodes.node,
        )
        task = RunningTask(self, record, session)
        task.on_change = lambda: self.changed(task.record, task.loop)
        return task

    async def store_task(self, task: RunningTask) -> None:
        """Add a task to the store, which makes it visible to clients.

        Raises:
            InvalidRequest: The client creates tasks too fast.
            McpError: The store is full.
        """
        self._rates.check(_owner_of(task.record))
        record, starts_later = task.record, task.handler is None
        if starts_later:
            # Other tasks may be created while the store is awaited.
            self._count_running(record, 1)
        try:
            saved = await self.store.add(record, self.now())
        except BaseException:
            # The store may have added it, but no client has its id.
            self.spawn(self.store.forget(record.id))
            raise
        finally:
            if starts_later:
                self._count_running(record, -1)
        if not saved:
            raise McpError(ProtocolError.code, "this server keeps no more tasks; try again later")
        task.is_stored = True
        if record.expires_at is not None:
            self.expiry.add(record.expires_at, task.id)
            self._forget_replaced()
        if task.done:
            await task.finish()
        elif task.record is not record:
            await task.change()

    def _forget_replaced(self) -> None:
        """Drop expiry timers of tasks that a full store has replaced: they may be days away."""
        store = self.store
        if isinstance(store, MemoryTaskStore):
            known = len(store) + len(self.running)
            if len(self.expiry) > 2 * known + 100:
                self.expiry.keep(lambda id: id in store or id in self.running)

    def start(self, task: RunningTask, work: Coroutine[Any, Any, Any]) -> None:
        """Start the handler of a task."""
        task.start(work)
        self.running[task.id] = task
        self._count_running(task.record, 1)

    def handler_ended(self, id: str) -> None:
        """Forget a task whose handler has ended."""
        self._count_running(self.running.pop(id).record, -1)

    def follow(self, task: RunningTask) -> None:
        """Follow a task that runs on a worker: its session is told, and it counts as running."""
        self.followed[task.id] = task
        self._count_running(task.record, 1)

    def unfollow(self, id: str) -> None:
        """Follow a task no more."""
        followed = self.followed.pop(id, None)
        if followed is not None:
            self._count_running(followed.record, -1)

    def heard(self, task: StoredTask) -> None:
        """Tell the clients of this process of a change that did not happen here."""
        followed = self.followed.get(task.id)
        if followed is None:
            self.changed(task, asyncio.get_running_loop())
            return
        followed.record = task
        if task.is_final:
            self.unfollow(task.id)
        followed.on_change()

    def _count_running(self, record: StoredTask, change: int) -> None:
        owner = _owner_of(record)
        self._counts[owner] += change
        if not self._counts[owner]:
            del self._counts[owner]

    # --- lookup ---

    async def find(self, ctx: Context, id: str) -> StoredTask:
        """Return the task with an id, if it belongs to the principal of the request.

        Raises:
            InvalidParams: It does not, it has expired, or there is none. The error is the same for
                all of them.
            InsufficientScope: The token of the request lacks scopes that its call needed.
        """
        found = await self.store.load(id)
        if found is not None and found.expires_at is not None and found.expires_at <= self.now():
            await self.expire(id)
            found = None
        if found is None or found.principal != origin_of(ctx).principal:
            raise InvalidParams("no such task: it is unknown, or its time is over - at `$.taskId`")
        if found.scopes:
            # Another client of the same user may have a narrower token.
            require_scopes(ctx, frozenset(found.scopes))
        running = self.running.get(id)
        if running is not None:
            if ctx.session is not None:
                running.session = ctx.session
            if found.is_final and not running.record.is_final:
                # Another process has ended it.
                await self.run_on_task_loop(running, running.change())
            return found
        followed = self.followed.get(id)
        if followed is not None and ctx.session is not None:
            followed.session = ctx.session
        if found.arguments != NOTHING and self.submitter is not None and not found.is_final:
            return await self.submitter.check(found)
        if self.nodes is not None and not found.is_final:
            return await self.nodes.check(found)
        return found

    async def ended(
        self, ctx: Context, id: str, follow: Callable[[StoredTask], Awaitable[None]] | None = None
    ) -> StoredTask:
        """Wait until a task has ended, and return it.

        Args:
            ctx: The request.
            id: Id of the task.
            follow: Awaited with the task after each change, while it has not ended.

        Raises:
            InvalidParams: See `find`.
        """
        if self.nodes is None:
            return await self._ended(ctx, id, asyncio.sleep, None)
        with self.nodes.watch(id) as wait_for_change:
            return await self._ended(ctx, id, wait_for_change, follow)

    async def _ended(
        self,
        ctx: Context,
        id: str,
        wait_for_change: Callable[[float], Awaitable[None]],
        follow: Callable[[StoredTask], Awaitable[None]] | None,
    ) -> StoredTask:
        task = await self.find(ctx, id)
        while not task.is_final:
            running = self.running.get(id)
            if running is not None:
                await self.run_on_task_loop(running, running.wait())
            else:
                if follow is not None:
                    await follow(task)
                await wait_for_change(self.options.poll_interval_s)
            task = await self.find(ctx, id)
        return task

    async def cancel(self, ctx: Context, id: str) -> tuple[StoredTask, bool]:
        """Cancel a task.

        Returns:
            The task, and False if it had ended before.

        Raises:
            InvalidParams: See `find`.
        """
        task = await self.find(ctx, id)
        running = self.running.get(id)
        if running is not None:
            saved = await self.run_on_task_loop(running, running.cancel())
            return await self.find(ctx, id), saved
        saved = False
        # A task that a worker takes meanwhile is refused once.
        for _ in range(CANCEL_TRIES):
            if saved or task.is_final:
                break
            task = _cancelled(task, self.now())
            saved = await self.store.save(task)
            if saved and self.nodes is not None:
                self.nodes.publish(task)
                self.heard(task)
            task = await self.find(ctx, id)
        return task, saved

    async def run_on_task_loop(self, task: RunningTask, call: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine on the event loop of a task."""
        if task.loop is asyncio.get_running_loop():
            return await call
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, task.loop))

    # --- end ---

    async def expire(self, id: str) -> None:
        """Remove an expired task from the store, and cancel its handler."""
        running = self.running.get(id)
        self.unfollow(id)
        try:
            await self.store.forget(id)
        finally:
            if running is not None:
                await self.run_on_task_loop(running, running.expire())

    async def sweep(self) -> None:
        """Remove the expired tasks of this process now; a timer does so anyway."""
        await self.expiry.sweep()

    async def aclose(self) -> None:
        """Cancel all running handlers and wait up to 5 seconds for them to end."""
        if self.submitter is not None:
            await self.submitter.aclose()
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
            _, unfinished = await asyncio.wait(handlers, timeout=CLOSE_S)
            if unfinished:
                _log.warning("%d tasks did not end with their server", len(unfinished))

    # --- results ---

    def encode_result(self, result: Any, revision: str) -> tuple[Raw, bool]:
        """Encode a result at a revision; the flag is its `isError`."""
        profile, raw = mcp_wire.profile(revision), getattr(result, "json", result)
        if isinstance(raw, Raw) and profile.call_tool is not None:
            # A result that is encoded already is stored unchanged.
            return raw, bool(getattr(profile.call_tool.decode_result(raw), "is_error", None))
        result = restate(result, revision).value
        is_error = bool(getattr(result, "is_error", None))
        pieces: Sequence[Piece] = ()
        field = long_field(result.__class__)
        if field:
            result, pieces = take_long_values(result, field)
        json = encode(result)
        return Raw(join_pieces(json, pieces) if pieces else json), is_error


def _ignore(task: StoredTask, loop: asyncio.AbstractEventLoop) -> None:
    pass


def _never(id: str) -> bool:
    return False


def _owner(ctx: Context) -> str | None:
    if origin_of(ctx).principal is not None or ctx.session is None:
        return origin_of(ctx).principal
    return ctx.session.id


def _owner_of(task: StoredTask) -> str | None:
    return task.session if task.principal is None else task.principal


def _cancelled(task: StoredTask, now: float) -> StoredTask:
    return replace(task, status="cancelled", updated_at=now, questions={})
