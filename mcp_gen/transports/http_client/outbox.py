"""What is on its way to an HTTP server: requests, and in their order what gets no answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Lines

__all__ = ["Outbox"]

TELL_TIMEOUT_S = 30.0

Post: TypeAlias = "Callable[[bytes, Lines], Awaitable[None]]"
"""POSTs a message that gets no answer; raises what is to be logged."""

_log = logging.getLogger("mcp_gen.client")


class Outbox:
    """The tasks of one transport. All have ended once `end` has."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: list[tuple[bytes, Lines]] = []
        self._teller: asyncio.Task[None] | None = None

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something in a task of its own."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def add(self, message: bytes, headers: Lines) -> None:
        """Post a message behind those before it."""
        self._told.append((message, headers))
        if self._teller is None or self._teller.done():
            self._teller = self.begin(self._send_all())

    def send(self, message: bytes) -> None:
        """Post a message at once."""
        self.begin(self._send(message, ()))

    async def drain(self) -> None:
        """Wait until what was told has arrived."""
        if self._teller is not None:
            await asyncio.wait([self._teller])

    async def end(self) -> None:
        """Give up what has not been done."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _send_all(self) -> None:
        while self._told:
            await self._send(*self._told.pop(0))

    async def _send(self, message: bytes, headers: Lines) -> None:
        try:
            async with asyncio.timeout(TELL_TIMEOUT_S):
                await self._post(message, headers)
        except TimeoutError:
            _log.warning("a notification was not taken in %g s", TELL_TIMEOUT_S)
        except Exception as error:
            _log.warning("a notification was lost: %s", error)
