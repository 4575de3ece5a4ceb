"""The tasks that a client runs for a server: questions to its user or model, answered later.

Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
"""

from __future__ import annotations

import asyncio
import secrets
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw
from msgspec.structs import replace

import mcp_wire
from mcp_gen.core.errors import InvalidParams, McpError, ProtocolError
from mcp_gen.core.projection.project import project
from mcp_gen.core.stores.tasks import NOTHING, MemoryTaskStore, StoredTask
from mcp_gen.session.kernel.errors import error_for_peer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from mcp_gen.client.session.session import ClientSession
    from mcp_wire import common
    from mcp_wire.profile import Profile

__all__ = ["ClientTasks"]

MAX_TASKS = 100
"""How many a client keeps for one server."""
TTL_S = 3600.0
MAX_TTL_S = 86_400.0
POLL_MS = 500

_HERE = "here"
"""There is one session, so that all tasks are of it."""


class ClientTasks:
    """Runs handlers as tasks, and keeps what comes of them, in one connection.

    They end with the connection: nobody else could ask for them.
    """

    def __init__(self, profile: Profile, run: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        self._profile = profile
        self._run_in_background = run
        self._types: Any = mcp_wire.types(profile.revision)
        self._store = MemoryTaskStore(max_tasks=MAX_TASKS)
        self._running: dict[str, asyncio.Task[Any] | None] = {}
        self._ended: dict[str, asyncio.Event] = {}

    async def start(
        self, session: ClientSession, ttl_ms: int | None, answer: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Let it be answered later; gives the task at once.

        Raises:
            McpError: there are too many.
        """
        now = time.time()
        kept_s = TTL_S if ttl_ms is None or ttl_ms <= 0 else min(ttl_ms / 1000, MAX_TTL_S)
        task = StoredTask(
            id=secrets.token_urlsafe(24),
            created_at=now,
            updated_at=now,
            expires_at=now + kept_s,
            revision=self._profile.revision,
            session=_HERE,
        )
        if not await self._store.add(task, now):
            raise McpError(ProtocolError.code, "too many tasks; wait until some end")
        self._running[task.id] = None
        self._ended[task.id] = asyncio.Event()
        self._run_in_background(self._run(session, task, answer))
        return self._types.CreateTaskResult(task=self._types.Task(**self._fields(task)))

    async def _run(
        self, session: ClientSession, task: StoredTask, answer: Callable[[], Awaitable[Any]]
    ) -> None:
        handler = asyncio.ensure_future(answer())
        if task.id in self._running:
            self._running[task.id] = handler
        else:
            handler.cancel()
        try:
            await asyncio.wait({handler})
        except asyncio.CancelledError:
            handler.cancel()
            await asyncio.wait({handler})
            raise
        if task.id in self._running:
            await self._keep(task, handler)
        self._over(task.id)
        await self._notify_status(session, task.id)

    async def _keep(self, task: StoredTask, handler: asyncio.Future[Any]) -> None:
        changed = replace(task, updated_at=time.time())
        error = asyncio.CancelledError() if handler.cancelled() else handler.exception()
        if error is None:
            answer = mcp_wire.encode(project(handler.result(), task.revision).value)
            changed = replace(changed, status="completed", result=Raw(answer))
        else:
            told = error_for_peer(error, f"task {task.id}")
            error_json = Raw(mcp_wire.encode(told))
            changed = replace(changed, status="failed", error=error_json, message=told.message)
        await self._store.save(changed)

    def _over(self, id: str) -> None:
        self._running.pop(id, None)
        ended = self._ended.pop(id, None)
        if ended is not None:
            ended.set()

    async def _notify_status(self, session: ClientSession, id: str) -> None:
        task = await self._store.load(id)
        if task is not None and not session.is_lost:
            await session.notify_task_status(**self._fields(task))

    # --- what has become of it ---

    async def get(self, id: str) -> common.GetTaskResult:
        """Where it stands. Raises InvalidParams if there is none."""
        task = await self._find(id)
        told: common.GetTaskResult = self._types.GetTaskResult(**self._fields(task))
        return told

    async def outcome(self, id: str) -> dict[str, Any]:
        """What the request is answered with, once there is something; raises its error."""
        task = await self._find(id)
        while not task.over:
            await self._ended[id].wait()
            task = await self._find(id)
        if task.error != NOTHING:
            told: dict[str, Any] = msgspec.json.decode(task.error)
            raise McpError(told["code"], told["message"], told.get("data"))
        if task.result == NOTHING:
            raise McpError(ProtocolError.code, "the task was cancelled")
        result: dict[str, Any] = msgspec.json.decode(task.result)
        related = msgspec.to_builtins(self._types.RelatedTaskMetadata(task_id=id))
        key = self._profile.related_task_key or ""
        return {**result, "_meta": {**result.get("_meta", {}), key: related}}

    async def all(self, cursor: str | None) -> common.ListTasksResult:
        """Those that are kept: never more than one page. Raises InvalidParams for another page."""
        if cursor is not None:
            raise InvalidParams("tasks: there is no such page - at `$.cursor`")
        now = time.time()
        found = await self._store.page(None, _HERE, None, MAX_TASKS)
        tasks = [self._types.Task(**self._fields(one)) for one in found if not _expired(one, now)]
        page: common.ListTasksResult = self._types.ListTasksResult(tasks=tasks)
        return page

    async def cancel(self, id: str) -> common.CancelTaskResult:
        """End it. Raises InvalidParams if there is none, or it has ended."""
        task = await self._find(id)
        now = time.time()
        if not await self._store.save(replace(task, status="cancelled", updated_at=now)):
            raise InvalidParams(f"the task is over already: {task.status} - at `$.taskId`")
        handler = self._running.get(id)
        self._over(id)
        if handler is not None:
            handler.cancel()
        task = await self._find(id)
        told: common.CancelTaskResult = self._types.CancelTaskResult(**self._fields(task))
        return told

    async def _find(self, id: str) -> StoredTask:
        task = await self._store.load(id)
        if task is not None and _expired(task, time.time()):
            await self._store.forget(id)
            handler = self._running.get(id)
            self._over(id)
            if handler is not None:
                handler.cancel()
            task = None
        if task is None:
            raise InvalidParams("no such task: it is unknown, or its time is over - at `$.taskId`")
        return task

    def _fields(self, task: StoredTask) -> dict[str, Any]:
        kept_s = (task.expires_at or task.created_at) - task.created_at
        return {
            "task_id": task.id,
            "status": task.status,
            "status_message": task.message,
            "created_at": _iso(task.created_at),
            "last_updated_at": _iso(task.updated_at),
            "ttl": max(1, round(kept_s * 1000)),
            "poll_interval": POLL_MS,
        }


def _expired(task: StoredTask, now: float) -> bool:
    return task.expires_at is not None and task.expires_at <= now


def _iso(at: float) -> str:
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
