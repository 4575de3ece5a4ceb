"""Job engine in memory that delivers ids as often as a test likes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

__all__ = ["MemoryEngine"]


class MemoryEngine:
    """Engine whose ids all workers take from one list.

    Args:
        submitted: The list, which engines of several processes share.
    """

    def __init__(self, submitted: list[str] | None = None) -> None:
        self.submitted: list[str] = [] if submitted is None else submitted
        self.history: list[str] = []
        self.is_down = False
        self.time_out_s: float | None = None
        """Seconds after which a delivery is cancelled and made again."""
        self.deliveries = 0

    async def start(self) -> None:
        if self.is_down:
            raise ConnectionError("the broker is down")

    async def aclose(self) -> None:
        pass

    async def submit(self, id: str) -> None:
        await self.start()
        self.submitted.append(id)
        self.history.append(id)

    async def work(
        self,
        run: Callable[[str], Awaitable[None]],
        stopped: Callable[[], Awaitable[None]],
        *,
        max_running: int,
    ) -> None:
        stopping = asyncio.ensure_future(stopped())
        deliveries: set[asyncio.Task[None]] = set()
        while not stopping.done():
            if self.submitted and len(deliveries) < max_running:
                delivery = asyncio.ensure_future(self._deliver(run, self.submitted.pop(0)))
                deliveries.add(delivery)
                delivery.add_done_callback(deliveries.discard)
            await asyncio.sleep(0)
        if deliveries:
            await asyncio.wait(deliveries)

    async def _deliver(self, run: Callable[[str], Awaitable[None]], id: str) -> None:
        self.deliveries += 1
        try:
            async with asyncio.timeout(self.time_out_s):
                await run(id)
        except TimeoutError:
            self.submitted.append(id)
