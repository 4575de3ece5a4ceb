"""Worker threads for sync handlers, and their calls back to the event loop."""

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
"""Seconds that each further call of a handler that ignores its cancellation is delayed."""


class ThreadBridge:
    """Runs a sync handler in its thread and passes its calls to the event loop.

    Args:
        loop: Event loop that answers the request.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._thread = threading.get_ident()
        self._released = False
        self._late_calls = 0
        self._waiting: set[Future[Any]] = set()
        self._ended = False
        self._end: asyncio.Event | None = None

    def run(self, function: Callable[[], T]) -> T:
        """Run the handler; called in the worker thread."""
        try:
            return function()
        except StopIteration as error:
            # A future cannot carry a StopIteration: its waiter would wait forever.
            raise RuntimeError(f"StopIteration: {error}") from error
        finally:
            self._ended = True
            if self._end is not None:
                # The loop may be closed by now.
                with contextlib.suppress(RuntimeError):
                    self.loop.call_soon_threadsafe(self._end.set)

    def wait(self, call: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the event loop and block until it is done.

        Call it in any thread but that of the loop.

        Raises:
            UsageError: called in the thread of the loop.
            CancelledError: the handler must end: it was cancelled, or its input request ends the
                request.
        """
        if threading.get_ident() == self._thread:
            call.close()
            raise UsageError("ctx.blocking is for threads: here, await the same call of ctx")
        if self._is_released():
            call.close()
            self._late_calls += 1
            # A handler that catches everything and calls again must not spin: it runs in a thread.
            time.sleep(min(self._late_calls * _LATE_S, 1.0))
            raise asyncio.CancelledError
        future = asyncio.run_coroutine_threadsafe(call, self.loop)
        self._waiting.add(future)
        if self._is_released():
            # `release` ran in between and may have missed this call.
            future.cancel()
        try:
            return future.result()
        except Unblocked:
            # `Unblocked` is an Exception, which handlers catch; asyncio.CancelledError is not.
            raise asyncio.CancelledError from None
        finally:
            self._waiting.discard(future)

    def _is_released(self) -> bool:
        return self._released

    def release(self) -> None:
        """Cancel the calls that the thread waits for, and all later ones."""
        self._released = True
        for future in list(self._waiting):
            future.cancel()

    async def end(self) -> None:
        """Wait until the handler has ended."""
        self._end = asyncio.Event()
        if not self._ended:
            await self._end.wait()


async def in_thread(run: Callable[[], T]) -> T:
    """Run a function in a thread of the executor of the loop.

    If the caller is cancelled, the thread runs on.

    Raises:
        Exception: the error of the function.
    """
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(None, _run_in_context, context, run)


def _run_in_context(context: contextvars.Context, run: Callable[[], T]) -> T:
    try:
        return context.run(run)
    except StopIteration as error:
        # A future cannot carry a StopIteration: its waiter would wait forever.
        raise RuntimeError(f"StopIteration: {error}") from error
