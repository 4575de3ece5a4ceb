"""Submits tasks to a job engine, and looks after those whose workers are lost."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from mcp_gen.core.errors import McpError, ProtocolError
from mcp_gen.server.tasks.engine.stored_call import store_call

if TYPE_CHECKING:
    from mcp_gen.core.stores.tasks import SharedTaskStore, StoredTask
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.tasks.manager import TaskManager
    from mcp_gen.server.tasks.nodes.nodes import TaskNodes
    from mcp_gen.server.tasks.options import TaskEngine
    from mcp_gen.server.tasks.running import RunningTask
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.server.tools.tool import ServerTool

__all__ = ["WORKER_LOST", "EngineSubmitter"]

WORKER_LOST = "the worker that ran the task is lost; the tool may not be run again"
"""Message of a task whose worker is lost."""
MAX_SUBMITTED_AGAIN = 10_000
"""Most tasks whose last submission is remembered."""
_TOO_OFTEN = "the task has lost its worker {} times"

_log = logging.getLogger("mcp_gen.server")


class EngineSubmitter:
    """Starts tasks on the workers of a job engine.

    Args:
        manager: Task manager of this node.
        nodes: Nodes of the cluster.
        engine: The job engine.
    """

    def __init__(self, manager: TaskManager, nodes: TaskNodes, engine: TaskEngine) -> None:
        self._manager = manager
        self.nodes = nodes
        self.engine = engine
        self._starting: asyncio.Task[None] | None = None
        self._submitted_again: dict[str, tuple[float, float]] = {}
        """Time of the next submission and the wait after it, by task."""

    @property
    def store(self) -> SharedTaskStore:
        """Store of the tasks."""
        # Checked when the manager was connected.
        return cast("SharedTaskStore", self._manager.store)

    def takes(self, tool: ServerTool, tools: ToolRegistry) -> bool:
        """Return True if calls of a tool run on workers: tools of this server, not of mounts."""
        return tools is self._manager.tools and not tool.is_remote

    async def submit(self, ctx: Context, task: RunningTask, tool: ServerTool, params: Any) -> None:
        """Store a task with its call, and hand its id to the engine.

        Raises:
            McpError: The store is full, or the engine cannot be reached.
        """
        manager = self._manager
        task.record = replace(
            task.record,
            node=None,
            tool=tool.name,
            arguments=store_call(ctx, params),
            retry=tool.is_retryable,
        )
        await manager.store_task(task)
        manager.follow(task)
        try:
            await self._hand_over(task.id)
        except BaseException as error:
            await manager.expire(task.id)
            if not isinstance(error, Exception):
                raise
            _log.error("task %s could not be submitted", task.id, exc_info=error)
            raise McpError(
                ProtocolError.code, "no worker can be reached; try again later"
            ) from None

    async def _hand_over(self, id: str) -> None:
        if self._starting is None or (self._starting.done() and self._starting.exception()):
            self._starting = asyncio.get_running_loop().create_task(self.engine.start())
        await asyncio.shield(self._starting)
        try:
            await self.engine.submit(id)
        except Exception as error:
            # Its connection may have been idle for long. An id that is there twice runs once.
            _log.info("task %s is submitted once more: %s", id, error)
            await self.engine.submit(id)

    async def check(self, task: StoredTask) -> StoredTask:
        """Return a task of a worker; submit or fail it first if its worker is lost.

        Args:
            task: The task, not final.
        """
        now, options = self._manager.now(), self._manager.options
        if task.claimed_until is None:
            # No worker has taken it: the engine may have lost it, or its queue is long.
            if task.updated_at + options.resubmit_s <= now:
                await self._submit_again(task.id, now, options.resubmit_s)
        elif task.claimed_until <= now:
            if not task.retry:
                return await self.nodes.fail(task, WORKER_LOST, "worker_lost")
            if task.attempt >= options.max_attempts:
                message = _TOO_OFTEN.format(task.attempt)
                return await self.nodes.fail(task, message, "worker_lost")
            await self._submit_again(task.id, now, options.lease_s)
        return task

    async def _submit_again(self, id: str, now: float, wait_s: float) -> None:
        """Hand over the id of a task again, unless it was handed over lately."""
        due, wait_s = self._submitted_again.get(id, (0.0, wait_s))
        if due > now:
            return
        if len(self._submitted_again) >= MAX_SUBMITTED_AGAIN:
            del self._submitted_again[next(iter(self._submitted_again))]
        # Each time later: what a long queue lacks is not the id.
        self._submitted_again[id] = now + wait_s, 2 * wait_s
        try:
            await self._hand_over(id)
        except Exception:
            # The next look tries again.
            _log.exception("task %s could not be submitted again", id)

    async def aclose(self) -> None:
        """Disconnect from the engine."""
        if self._starting is not None:
            await asyncio.wait({self._starting})
            self._starting = None
            await self.engine.aclose()
