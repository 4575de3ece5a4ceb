"""Event loop in a thread of its own, for tests that are no coroutines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeVar

__all__ = ["LoopThread"]

T = TypeVar("T")


class LoopThread:
    """Event loop that runs in a thread from the start to `close`."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mcp_gen tests")
        self._thread.start()
        self._held: list[tuple[asyncio.Event, asyncio.Future[None]]] = []

    def run(self, act: Callable[[], Awaitable[T]]) -> T:
        """Call a function in the loop, and return what it returns once that is awaited.

        Args:
            act: The function.

        Raises:
            Exception: what the function raises.
        """

        async def awaited() -> T:
            return await act()

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()

    def enter(self, manager: AbstractAsyncContextManager[T]) -> T:
        """Enter a context manager, and return its value; `close` leaves it in the same task.

        Args:
            manager: The context manager.

        Raises:
            Exception: what entering it raises.
        """

        async def begin() -> T:
            loop = asyncio.get_running_loop()
            opened: asyncio.Future[T] = loop.create_future()
            over = asyncio.Event()
            task = loop.create_task(_hold(manager, opened, over))
            value = await opened
            self._held.append((over, task))
            return value

        return self.run(begin)

    def close(self) -> None:
        """Leave every context manager, the last one first, and end the thread."""

        async def end() -> None:
            while self._held:
                over, task = self._held.pop()
                over.set()
                await task

        try:
            self.run(end)
        finally:
            self.run(self._loop.shutdown_asyncgens)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


async def _hold(
    manager: AbstractAsyncContextManager[T], opened: asyncio.Future[T], over: asyncio.Event
) -> None:
    try:
        async with manager as value:
            opened.set_result(value)
            await over.wait()
    except Exception as error:
        if opened.done():
            raise
        opened.set_exception(error)
