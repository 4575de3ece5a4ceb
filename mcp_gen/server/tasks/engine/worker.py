"""TaskWorker: claims tasks that a job engine delivers, and runs them in this process."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.core.errors import McpGenError
from mcp_gen.core.stores.failures import StoreDown
from mcp_gen.core.stores.tasks import NOTHING
from mcp_gen.server.tasks.engine.stored_call import restore_call
from mcp_gen.server.tasks.running import RunningTask

if TYPE_CHECKING:
    from mcp_gen.core.stores.tasks import StoredTask
    from mcp_gen.server.tasks.engine.submitter import EngineSubmitter
    from mcp_gen.server.tasks.manager import TaskManager

__all__ = ["TaskWorker"]

RENEWALS_PER_LEASE = 3
"""Times that a claim is renewed before it would lapse."""

_log = logging.getLogger("mcp_gen.server")


class TaskWorker:
    """Runs the tasks that a job engine delivers.

    A task is claimed before it runs: the engine may deliver an id as often as it likes. An id whose
    task another worker has claimed is looked at again when that claim could have lapsed.

    Args:
        manager: Task manager of this node of the cluster.
        submitter: Submits tasks, and looks after those whose workers are lost.
    """

    def __init__(self, manager: TaskManager, submitter: EngineSubmitter) -> None:
        self._manager = manager
        self._submitter = submitter
        self._nodes = submitter.nodes
        self._engine = submitter.engine
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Take no further tasks; `work` returns when those that run have ended."""
        self._stop.set()

    async def work(self, *, max_running: int, drain_s: float) -> None:
        """Run tasks until `stop` is called.

        Args:
            max_running: Most tasks that run at the same time.
            drain_s: Seconds that running tasks have to end after `stop`. Then those that may be run
                again are handed back to the engine, and the others fail.
        """
        taking = asyncio.create_task(
            self._engine.work(self.run, self._stopped, max_running=max_running)
        )
        stopped = asyncio.create_task(self._stopped())
        await asyncio.wait({taking, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        self._stop.set()
        for looking in self._looking.values():
            looking.cancel()
        running = {*self._running.values()}
        if running:
            await asyncio.wait(running, timeout=drain_s)
        await self._give_up()
        await taking

    async def _stopped(self) -> None:
        await self._stop.wait()

    async def _give_up(self) -> None:
        """End the tasks that still run."""
        for id, running in [(id, self._manager.running.get(id)) for id in self._running]:
            if running is None:
                continue
            if running.record.retry:
                running.is_abandoned = True
            running.stop()
            _log.info("task %s did not end in time", id)
        left = {*self._running.values()}
        if left:
            await asyncio.wait(left, timeout=self._manager.options.lease_s)

    # --- one task ---

    async def run(self, id: str) -> None:
        """Claim a task and run it, unless it has ended or another worker runs it."""
        if self._stop.is_set():
            # The engine takes the delivery for done: another worker has to get it.
            await self._engine.submit(id)
            return
        task = None if id in self._running else await self._claim(id)
        if task is None:
            return
        running = self._running[id] = asyncio.create_task(self._run(task))
        running.add_done_callback(lambda _: self._running.pop(id, None))
        # An engine that gives up its delivery does not end the task: its claim is renewed.
        await asyncio.shield(running)

    async def _claim(self, id: str) -> StoredTask | None:
        manager = self._manager
        task = await self._submitter.store.load(id)
        if task is None or task.is_final or task.arguments == NOTHING:
            return None
        if task.claimed_until is None or task.attempt < manager.options.max_attempts:
            lease_s = manager.options.lease_s
            if await self._submitter.store.claim(id, self._nodes.node, lease_s, manager.now()):
                return await self._submitter.store.load(id)
        task = await self._submitter.check(task)
        if not task.is_final:
            self._look_later(task)
        return None

    def _look_later(self, task: StoredTask) -> None:
        """Look at a task again once the claim of its worker could have lapsed."""
        if task.id in self._looking:
            return
        left_s = (task.claimed_until or 0.0) - self._manager.now()

        async def look() -> None:
            await asyncio.sleep(max(left_s, 0.0) + self._manager.options.lease_s / 10)
            self._looking.pop(task.id, None)
            await self.run(task.id)

        looking = self._looking[task.id] = asyncio.create_task(look())
        looking.add_done_callback(_log_failure)

    async def _run(self, task: StoredTask) -> None:
        manager = self._manager
        running = RunningTask(manager, task, None)
        running.is_stored = True
        running.on_change = lambda: manager.changed(running.record, running.loop)
        if task.expires_at is not None:
            manager.expiry.add(task.expires_at, task.id)
        # Of an earlier attempt there may be questions; and those who wait learn where it runs.
        await running.change()
        manager.start(running, self._call(running))
        renewing = asyncio.create_task(self._renew(running))
        try:
            assert running.handler is not None
            await asyncio.wait({running.handler})
        finally:
            renewing.cancel()
        if running.is_abandoned and await self._submitter.store.release(task.id, task.node or ""):
            await self._engine.submit(task.id)

    async def _call(self, running: RunningTask) -> Any:
        """Call the tool, as its protocol does."""
        manager, record = self._manager, running.record
        kernel = manager.kernel
        ctx, params = restore_call(record, kernel, kernel.context)
        protocol = manager.protocol(mcp_wire.profile(record.revision))
        return await protocol.resume(ctx, running, params, manager.tools)

    async def _renew(self, running: RunningTask) -> None:
        """Renew the claim of a task until it is refused."""
        manager, store, node = self._manager, self._submitter.store, running.record.node or ""
        lease_s = manager.options.lease_s
        while True:
            await asyncio.sleep(lease_s / RENEWALS_PER_LEASE)
            try:
                renewed = await store.renew(running.id, node, lease_s, manager.now())
            except StoreDown as error:
                _log.warning("task %s: its claim was not renewed: %s", running.id, error)
                continue
            if not renewed:
                # It has ended, or another worker runs it: what comes of it here is refused.
                running.is_abandoned = True
                running.stop()
                return


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        expected = isinstance(error, McpGenError)
        _log.error("a task could not be looked at: %s", error, exc_info=None if expected else error)
