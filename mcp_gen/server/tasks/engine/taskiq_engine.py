"""TaskiqEngine: workers over a broker of taskiq (Redis, RabbitMQ, NATS and others)."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["TaskiqBroker", "TaskiqEngine"]


MIN_WAIT_S, MAX_WAIT_S = 0.1, 5.0
"""Bounds of the wait before a failed broker is listened to again, in seconds."""

ACKNOWLEDGE_S = 1.0
"""Seconds that the last deliveries have to be acknowledged in when the worker stops."""
STOP_S = (0.1, 0.2, 0.5, 1.0)
"""Seconds between the cancellations of a receiver that does not stop."""

_log = logging.getLogger("mcp_gen.server")


class TaskiqBroker(Protocol):
    """Broker of taskiq, `taskiq.AsyncBroker`: what the engine uses of it."""

    is_worker_process: bool

    def register_task(self, func: Any, task_name: str | None = None) -> Any:
        """Make a job of a function."""
        ...

    async def startup(self) -> None:
        """Connect."""
        ...

    async def shutdown(self) -> None:
        """Disconnect."""
        ...


class TaskiqEngine:
    """Job engine over a broker of taskiq: `Tasks(engine=TaskiqEngine(broker))`.

        broker = RedisStreamBroker("redis://127.0.0.1:6379", idle_timeout=60_000)
        server = Server("press", tasks=Tasks(engine=TaskiqEngine(broker)))

    A message on the broker has the id of a task and nothing else. Results are not stored: the task
    store has them.

    Args:
        broker: The broker. Its messages must be JSON, which is taskiq's default.
        job: Name of the job on the broker, so that other jobs can share the broker.
    """

    def __init__(self, broker: TaskiqBroker, *, job: str = "mcp_gen.task") -> None:
        self._broker = broker
        self._run: Callable[[str], Awaitable[None]] | None = None

        self._deliveries = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()

        # A function: taskiq writes to it.
        async def run_task(id: str) -> None:
            if self._run is None:
                return
            self._deliveries += 1
            self._is_idle.clear()
            try:
                await self._run(id)
            finally:
                self._deliveries -= 1
                if not self._deliveries:
                    self._is_idle.set()

        self._job: Any = broker.register_task(run_task, task_name=job)

    async def start(self) -> None:
        """Connect to the broker."""
        await self._broker.startup()

    async def aclose(self) -> None:
        """Disconnect from the broker."""
        await self._broker.shutdown()

    async def submit(self, id: str) -> None:
        """Put the id of a task on the broker.

        Args:
            id: Id of the task.
        """
        await self._job.kiq(id)

    async def work(
        self,
        run: Callable[[str], Awaitable[None]],
        stopped: Callable[[], Awaitable[None]],
        *,
        max_running: int,
    ) -> None:
        """Take ids from the broker until the worker stops; see `TaskEngine.work`.

        Args:
            run: Runs the task of an id.
            stopped: Returns once the worker shall take no further ids.
            max_running: Most ids that are run at the same time.

        Raises:
            UsageError: The broker cannot be reached at the start.
        """
        self._run = run
        finish = asyncio.Event()

        async def stop() -> None:
            await stopped()
            finish.set()

        self._broker.is_worker_process = True
        try:
            await self.start()
        except Exception as error:
            raise UsageError(f"TaskiqEngine: the broker cannot be reached: {error}") from error
        stopping = asyncio.create_task(stop())
        listening = asyncio.create_task(self._listen(max_running, finish))
        try:
            await asyncio.wait({stopping, listening}, return_when=asyncio.FIRST_COMPLETED)
            await self._is_idle.wait()
            # Redis' client can lose the cancellation of a read: then it would listen for ever.
            for wait_s in (ACKNOWLEDGE_S, *STOP_S):
                if (await asyncio.wait({listening}, timeout=wait_s))[0]:
                    break
                listening.cancel()
        finally:
            stopping.cancel()
            await self.aclose()

    async def _listen(self, max_running: int, finish: asyncio.Event) -> None:
        """Take ids, and go on after the broker has failed."""
        # Loaded by workers alone.
        receiver: Any = import_module("taskiq.receiver").Receiver
        wait_s = MIN_WAIT_S
        while not finish.is_set():
            began = time.monotonic()
            try:
                taking = receiver(self._broker, max_async_tasks=max_running, run_startup=False)
                # Nobody looks at the end of what it starts for a delivery.
                taking.callback = _logged(taking.callback)
                await taking.listen(finish)
            except Exception as error:
                wait_s = MIN_WAIT_S if time.monotonic() - began > MAX_WAIT_S else 2 * wait_s
                wait_s = min(wait_s, MAX_WAIT_S)
                _log.warning("the broker of the tasks failed, again in %g s: %s", wait_s, error)
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await finish.wait()


def _logged(handle: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """Return a handler of deliveries that logs a failure: the broker delivers again."""

    async def handle_and_log(*args: Any, **kwargs: Any) -> None:
        try:
            await handle(*args, **kwargs)
        except Exception as error:
            _log.warning(
                "the broker delivers a task again, as it was not told of its end: %s", error
            )

    return handle_and_log
