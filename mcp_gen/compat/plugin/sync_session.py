"""Session with the server under test, for tests that are no coroutines."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.compat.plugin.loop_thread import LoopThread

__all__ = ["SyncSession"]

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
