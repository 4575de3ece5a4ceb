"""Tasks that the client runs for a server: elicitation and sampling requests answered later.

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
from mcp_gen.core.peer_values import seconds_within
from mcp_gen.core.projection.project import restate
from mcp_gen.core.stores.tasks import NOTHING, MemoryTaskStore, StoredTask
from mcp_gen.session.kernel.errors import error_for_peer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from mcp_gen.client.session.session import ClientSession
    from mcp_wire import common
    from mcp_wire.profile import Profile

__all__ = ["ClientTasks"]

MAX_TASKS = 100
"""Maximum number of tasks kept per connection."""
TTL_S = 3600.0
MAX_TTL_S = 86_400.0
POLL_MS = 500

_SESSION = "here"
"""Session name in the store: a constant, because each connection has its own store."""


class ClientTasks:
    """Runs handlers as tasks and stores their results, for one connection.

    The tasks end with the connection: no other peer can ask for them.
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
        """Run `answer` in the background and return its CreateTaskResult at once.

        The task is kept for `ttl_ms` milliseconds: `TTL_S` if that is None or not positive, at most
        `MAX_TTL_S`.

        Raises:
            McpError: The limit of `MAX_TASKS` is reached.
        """
        now = time.time()
        ttl_s = TTL_S
        if ttl_ms is not None and ttl_ms > 0:
            ttl_s = seconds_within(ttl_ms, most_s=MAX_TTL_S)
        task = StoredTask(
            id=secrets.token_urlsafe(24),
            created_at=now,
            updated_at=now,
            expires_at=now + ttl_s,
            revision=self._profile.revision,
            session=_SESSION,
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
            await self._save_outcome(task, handler)
        self._forget_handler(task.id)
        await self._notify_status(session, task.id)

    async def _save_outcome(self, task: StoredTask, handler: asyncio.Future[Any]) -> None:
        changed = replace(task, updated_at=time.time())
        error = asyncio.CancelledError() if handler.cancelled() else handler.exception()
        if error is None:
            answer = mcp_wire.encode(restate(handler.result(), task.revision).value)
            changed = replace(changed, status="completed", result=Raw(answer))
        else:
            payload = error_for_peer(error, f"task {task.id}")
            error_json = Raw(mcp_wire.encode(payload))
            changed = replace(changed, status="failed", error=error_json, message=payload.message)
        await self._store.save(changed)

    def _forget_handler(self, id: str) -> None:
        self._running.pop(id, None)
        ended = self._ended.pop(id, None)
        if ended is not None:
            ended.set()

    async def _notify_status(self, session: ClientSession, id: str) -> None:
        task = await self._store.load(id)
        if task is not None and not session.is_lost:
            await session.notify_task_status(**self._fields(task))

    # --- tasks/get, tasks/result, tasks/list, tasks/cancel ---

    async def get(self, id: str) -> common.GetTaskResult:
        """Answer `tasks/get`.

        Raises:
            InvalidParams: The task is unknown or expired.
        """
        task = await self._find(id)
        payload: common.GetTaskResult = self._types.GetTaskResult(**self._fields(task))
        return payload

    async def outcome(self, id: str) -> dict[str, Any]:
        """Answer `tasks/result`: wait for the end of the task and return its result as plain JSON.

        Raises:
            InvalidParams: The task is unknown or expired.
            McpError: The task failed or was cancelled.
        """
        task = await self._find(id)
        while not task.is_final:
            await self._ended[id].wait()
            task = await self._find(id)
        if task.error != NOTHING:
            payload: dict[str, Any] = msgspec.json.decode(task.error)
            raise McpError(payload["code"], payload["message"], payload.get("data"))
        if task.result == NOTHING:
            raise McpError(InvalidParams.code, "the task was cancelled")
        result: dict[str, Any] = msgspec.json.decode(task.result)
        related = msgspec.to_builtins(self._types.RelatedTaskMetadata(task_id=id))
        key = self._profile.related_task_key or ""
        return {**result, "_meta": {**result.get("_meta", {}), key: related}}

    async def all(self, cursor: str | None) -> common.ListTasksResult:
        """Answer `tasks/list`; all tasks fit on one page.

        Raises:
            InvalidParams: A cursor was given.
        """
        if cursor is not None:
            raise InvalidParams("tasks: there is no such page - at `$.cursor`")
        now = time.time()
        found = await self._store.page(None, _SESSION, None, MAX_TASKS)
        tasks = [self._types.Task(**self._fields(one)) for one in found if not _expired(one, now)]
        page: common.ListTasksResult = self._types.ListTasksResult(tasks=tasks)
        return page

    async def cancel(self, id: str) -> common.CancelTaskResult:
        """Answer `tasks/cancel`: cancel the handler.

        Raises:
            InvalidParams: The task is unknown, expired or already finished.
        """
        task = await self._find(id)
        now = time.time()
        if not await self._store.save(replace(task, status="cancelled", updated_at=now)):
            raise InvalidParams(f"the task is over already: {task.status} - at `$.taskId`")
        handler = self._running.get(id)
        self._forget_handler(id)
        if handler is not None:
            handler.cancel()
        task = await self._find(id)
        payload: common.CancelTaskResult = self._types.CancelTaskResult(**self._fields(task))
        return payload

    async def _find(self, id: str) -> StoredTask:
        task = await self._store.load(id)
        if task is not None and _expired(task, time.time()):
            await self._store.forget(id)
            handler = self._running.get(id)
            self._forget_handler(id)
            if handler is not None:
                handler.cancel()
            task = None
        if task is None:
            raise InvalidParams("no such task: it is unknown, or its time is over - at `$.taskId`")
        return task

    def _fields(self, task: StoredTask) -> dict[str, Any]:
        ttl_s = (task.expires_at or task.created_at) - task.created_at
        return {
            "task_id": task.id,
            "status": task.status,
            "status_message": task.message,
            "created_at": _iso(task.created_at),
            "last_updated_at": _iso(task.updated_at),
            "ttl": max(1, round(ttl_s * 1000)),
            "poll_interval": POLL_MS,
        }


def _expired(task: StoredTask, now: float) -> bool:
    return task.expires_at is not None and task.expires_at <= now


def _iso(at: float) -> str:
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
