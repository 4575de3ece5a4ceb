"""Sessions for tests that are no coroutines, and the thread in which they run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from mcp_gen.client.session.session import ClientSession

__all__ = ["LoopThread", "SyncSession"]

T = TypeVar("T")


class SyncSession:
    """Session that a plain `def` test uses: the value of the fixture `mcp_sync_session`.

        def test_it_adds(mcp_sync_session: SyncSession) -> None:
            added = mcp_sync_session.run(lambda mcp: mcp.call_tool("add", {"a": 1}, returns=int))
            tools = mcp_sync_session.collect(lambda mcp: mcp.tools())

    Args:
        session: The session.
        thread: The thread of its event loop.
    """

    def __init__(self, session: ClientSession, thread: LoopThread) -> None:
        self._session = session
        self._thread = thread

    @property
    def revision(self) -> str:
        """Revision that the session speaks."""
        return self._session.revision

    def run(self, act: Callable[[ClientSession], Awaitable[T]]) -> T:
        """Call a function with the session, and return its result once that is awaited.

        Args:
            act: A lambda with one call, or an `async def` function with a whole conversation.

        Raises:
            Exception: what the function raises.
        """
        return self._thread.run(lambda: act(self._session))

    def collect(self, act: Callable[[ClientSession], AsyncIterable[T]]) -> list[T]:
        """Call a function with the session, and return the items that its result yields.

        Args:
            act: A function such as `lambda mcp: mcp.tools()`.

        Raises:
            Exception: what the function raises.
        """

        async def every() -> list[T]:
            return [item async for item in act(self._session)]

        return self._thread.run(every)


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
