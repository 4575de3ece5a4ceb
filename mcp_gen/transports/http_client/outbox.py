"""Queue of outgoing messages to an HTTP server, and the tasks that send them."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from mcp_gen.core.transport.protocols import Lines

__all__ = ["Outbox"]

TELL_TIMEOUT_S = 30.0
"""Seconds that the server gets to accept a message that has no response."""

ENOUGH_MESSAGES = 100
"""Number of queued messages from which further notifications wait."""
MAX_AT_ONCE = 16
"""Number of messages that are sent at the same time, each over a connection of its own."""

Post: TypeAlias = "Callable[[bytes, Lines], Awaitable[None]]"
"""POSTs a message that has no response; its errors are logged."""

_log = logging.getLogger("mcp_gen.client")


class Outbox:
    """Outgoing messages of one transport. No task is left after `end`.

    Args:
        post: POSTs one message.
    """

    def __init__(self, post: Post) -> None:
        self._post = post
        self._tasks: set[asyncio.Task[None]] = set()
        self._queue: deque[tuple[bytes, Lines]] = deque()
        self._when_writable: Callable[[], None] | None = None
        self._sender: asyncio.Task[None] | None = None
        self._unsent: deque[bytes] = deque()
        """Messages that wait to be sent, beside the queue."""
        self._senders: set[asyncio.Task[None]] = set()
        """Tasks that send them."""
        self._room = asyncio.Event()

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine in a task of its own."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def add(self, message: bytes, headers: Lines) -> None:
        """Queue a message. Queued messages are sent in order."""
        self._queue.append((message, headers))
        if self._sender is None or self._sender.done():
            self._sender = self.begin(self._send_all())

    @property
    def full(self) -> bool:
        """True if the server accepts messages so slowly that no more should be queued."""
        return len(self._queue) >= ENOUGH_MESSAGES

    def call_when_writable(self, act: Callable[[], None]) -> None:
        """Call a function once, when more can be queued."""
        self._when_writable = act

    def send(self, message: bytes) -> None:
        """Send a message at once; it waits while `MAX_AT_ONCE` others are being sent."""
        self._unsent.append(message)
        if len(self._senders) < MAX_AT_ONCE:
            sender = self.begin(self._send_unsent())
            self._senders.add(sender)
            sender.add_done_callback(self._senders.discard)

    def drop_unsent(self) -> int:
        """Drop the messages of `send` that are not sent yet, and return their number."""
        count = len(self._unsent)
        self._unsent.clear()
        self._room.set()
        return count

    async def wait_for_room(self) -> None:
        """Wait while many messages wait: nothing more should be read that has to be answered."""
        while len(self._unsent) >= ENOUGH_MESSAGES:
            self._room.clear()
            await self._room.wait()

    async def drain(self) -> None:
        """Wait until all queued messages have arrived."""
        if self._sender is not None:
            await asyncio.wait([self._sender])

    async def finish(self) -> None:
        """Wait until all messages have arrived, queued or not: no more of them come."""
        await self.drain()
        if self._senders:
            await asyncio.wait(self._senders)

    async def end(self) -> None:
        """Cancel all tasks and wait for them."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _send_unsent(self) -> None:
        while self._unsent:
            message = self._unsent.popleft()
            if len(self._unsent) < ENOUGH_MESSAGES:
                self._room.set()
            await self._send(message, ())

    async def _send_all(self) -> None:
        while self._queue:
            await self._send(*self._queue.popleft())
            act = self._when_writable
            if act is not None and len(self._queue) < ENOUGH_MESSAGES:
                self._when_writable = None
                act()

    async def _send(self, message: bytes, headers: Lines) -> None:
        try:
            async with asyncio.timeout(TELL_TIMEOUT_S):
                await self._post(message, headers)
        except TimeoutError:
            _log.warning("a notification was not taken in %g s", TELL_TIMEOUT_S)
        except Exception as error:
            _log.warning("a notification was lost: %s", error)
