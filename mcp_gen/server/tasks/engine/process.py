"""Runs this process as a worker: the tasks of a server that a job engine delivers."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.core.errors import UsageError
from mcp_gen.server.tasks.engine.submitter import EngineSubmitter
from mcp_gen.server.tasks.engine.worker import TaskWorker

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.core.stores.cluster import Cluster

__all__ = ["Workable", "serve_worker"]


class Workable(Protocol):
    """A server, as a worker uses it."""

    name: str

    @property
    def runtime(self) -> Any:
        """Parts of the server."""
        ...


async def serve_worker(
    server: Workable,
    cluster: Cluster,
    *,
    max_running: int,
    drain_s: float,
    ready: Callable[[str], None],
) -> None:
    """Run tasks of a server until SIGTERM or SIGINT; those that run then may still end.

    Args:
        server: A server with `Tasks(engine=...)` and with tools that run as tasks.
        cluster: The cluster of the web nodes; this process becomes a node of it.
        max_running: Most tasks that run at the same time.
        drain_s: Seconds that running tasks have to end after the signal.
        ready: Called with a line that says what the worker does, once it is about to take tasks.

    Raises:
        UsageError: The server runs no tasks on an engine, or the cluster or the engine cannot be
            reached.
    """
    name, manager = server.name, server.runtime.tasks.manager
    if manager is None:
        raise UsageError(
            f'server {name!r} has no tool that runs as a task: give one task="optional"'
        )
    if manager.options.engine is None:
        raise UsageError(
            f"server {name!r} has no engine: give it tasks=Tasks(engine=TaskiqEngine(broker))"
        )
    await cluster.start()
    try:
        server.runtime.use_cluster(cluster)
        assert isinstance(manager.submitter, EngineSubmitter)
        worker = TaskWorker(manager, manager.submitter)
        async with server.runtime.runner.served():
            _stop_at_signals(worker)
            ready(f"{name}: worker {cluster.node}, up to {max_running} tasks at a time")
            await worker.work(max_running=max_running, drain_s=drain_s)
            await server.runtime.runner.end_tasks()
    finally:
        await cluster.aclose()


def _stop_at_signals(worker: TaskWorker) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Only the main thread of POSIX can: elsewhere the signal ends the process.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, worker.stop)
