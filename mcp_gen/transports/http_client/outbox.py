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

ANSWERS_AT_ONCE = 16
"""Answers to requests of the server that are sent at the same time."""
MOST_ANSWERS = 1_000
"""Answers that may wait for those; a server that does not take them loses the others."""
ENOUGH_MESSAGES = 100
"""Number of queued messages from which further notifications wait."""

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
        self._answers: deque[bytes] = deque()
        self._answering = 0
        self._is_behind = False
        self._when_writable: Callable[[], None] | None = None
        self._sender: asyncio.Task[None] | None = None

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
        """Send the answer to a request of the server, without a fixed order.

        A server may ask as much as it likes: few answers are sent at the same time, so that other
        connections of this client are not held up.
        """
        if self._answering < ANSWERS_AT_ONCE:
            self._answering += 1
            self.begin(self._send_answers(message))
        elif len(self._answers) < MOST_ANSWERS:
            self._answers.append(message)
        elif not self._is_behind:
            self._is_behind = True
            _log.warning(
                "the server asks more than it takes answers: those beyond %d are lost", MOST_ANSWERS
            )

    async def drain(self) -> None:
        """Wait until all queued messages have arrived."""
        if self._sender is not None:
            await asyncio.wait([self._sender])

    async def end(self) -> None:
        """Cancel all tasks and wait for them."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _send_all(self) -> None:
        while self._queue:
            await self._send(*self._queue.popleft())
            act = self._when_writable
            if act is not None and len(self._queue) < ENOUGH_MESSAGES:
                self._when_writable = None
                act()

    async def _send_answers(self, message: bytes) -> None:
        try:
            await self._send(message, ())
            while self._answers:
                await self._send(self._answers.popleft(), ())
            self._is_behind = False
        finally:
            self._answering -= 1

    async def _send(self, message: bytes, headers: Lines) -> None:
        try:
            async with asyncio.timeout(TELL_TIMEOUT_S):
                await self._post(message, headers)
        except TimeoutError:
            _log.warning("a notification was not taken in %g s", TELL_TIMEOUT_S)
        except Exception as error:
            _log.warning("a notification was lost: %s", error)
