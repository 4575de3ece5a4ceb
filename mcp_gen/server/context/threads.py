"""Worker threads for blocking code, and the calls it makes back to the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError as Unblocked
from concurrent.futures import Future
from typing import Any, TypeVar

from mcp_gen.core.errors import UsageError

__all__ = ["ThreadBridge", "in_thread"]

T = TypeVar("T")

_LATE_S = 0.05
"""How much longer each call takes to fail, once the handler is to end and will not."""


class ThreadBridge:
    """A handler in its thread, and the loop that it asks."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._thread = threading.get_ident()
        self._over = False
        self._late = 0
        self._waiting: set[Future[Any]] = set()
        self._ended = False
        self._end: asyncio.Event | None = None

    def run(self, function: Callable[[], T]) -> T:
        """Run the handler; this is what its thread does."""
        try:
            return function()
        except StopIteration as error:
            # A future cannot carry it: whoever waits for that one would wait forever.
            raise RuntimeError(f"StopIteration: {error}") from error
        finally:
            self._ended = True
            if self._end is not None:
                # The loop may be gone by now.
                with contextlib.suppress(RuntimeError):
                    self.loop.call_soon_threadsafe(self._end.set)

    def wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Let the loop do something, and wait for it; from any thread but the loop's.

        Raises:
            CancelledError: the handler is to end: it has been cancelled, or its question goes out.
        """
        if threading.get_ident() == self._thread:
            call.close()
            raise UsageError("ctx.blocking is for threads: here, await the same call of ctx")
        if self._is_over():
            call.close()
            self._late += 1
            time.sleep(min(self._late * _LATE_S, 1.0))
            raise asyncio.CancelledError
        answer = asyncio.run_coroutine_threadsafe(call, self.loop)
        self._waiting.add(answer)
        if self._is_over():
            # Since just now: `release` may not have seen this one.
            answer.cancel()
        try:
            return answer.result()
        except Unblocked:
            # Its own class is an Exception, which handlers catch; this one they know to let pass.
            raise asyncio.CancelledError from None
        finally:
            self._waiting.discard(answer)

    def _is_over(self) -> bool:
        return self._over

    def release(self) -> None:
        """Unblock the thread: what it waits for is cancelled, and so is what it will wait for."""
        self._over = True
        for answer in list(self._waiting):
            answer.cancel()

    async def end(self) -> None:
        """Wait until the handler has ended."""
        self._end = asyncio.Event()
        if not self._ended:
            await self._end.wait()


async def in_thread(run: Callable[[], T]) -> T:
    """Run a function in a thread of the loop's executor. If the waiting ends, the thread goes on.

    Raises:
        Exception: what the function raises.
    """
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(None, _caught, context, run)


def _caught(context: contextvars.Context, run: Callable[[], T]) -> T:
    try:
        return context.run(run)
    except StopIteration as error:
        # A future cannot carry it: whoever waits for that one would wait forever.
        raise RuntimeError(f"StopIteration: {error}") from error
