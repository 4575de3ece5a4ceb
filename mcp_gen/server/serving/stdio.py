"""A process that is a server on its stdin and stdout: how it begins, and how it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

from mcp_gen.transports.lines import DEFAULT_MAX_MESSAGE_BYTES
from mcp_gen.transports.stdio import StdioTransport

if TYPE_CHECKING:
    from mcp_gen.server.serving.servable import Servable

__all__ = ["run_stdio"]

_log = logging.getLogger("mcp_gen.server")

THREADS_WAIT_S = 5.0
"""How long threads may still run in a process that was told to stop."""
LAST_TURNS = 5
"""How many turns of the loop it takes at most until what is called for a signal has run."""


def run_stdio(server: Servable) -> None:
    """Serve stdin and stdout until the client hangs up, or SIGTERM comes."""
    process = _Process(server)
    with contextlib.suppress(KeyboardInterrupt):
        try:
            asyncio.run(process.serve())
        except asyncio.CancelledError:
            if not process.stopped:
                raise
        finally:
            process.is_done()


class _Process:
    def __init__(self, server: Servable) -> None:
        self._server = server
        self._task: asyncio.Task[Any] | None = None
        self._patience: threading.Timer | None = None
        self.stopped = False
        """Whether the process was told to stop."""

    async def serve(self) -> None:
        limit = self._server.max_message_bytes or DEFAULT_MAX_MESSAGE_BYTES
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        # Elsewhere than in a main thread on Unix there are no signals to be had.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(signal.SIGTERM, self._stop, loop)
        # What is there now stays: the collector need not look at it again.
        gc.freeze()
        try:
            await self._server.serve(StdioTransport(max_message_bytes=limit))
            await self._server.end_tasks()
        finally:
            # From here on SIGTERM is meant for a process that does not end: it is not held back.
            self._task = None
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            # One that came just before is heard of by the loop in one of its next turns.
            for _ in range(LAST_TURNS):
                await asyncio.sleep(0)
            _forget_signal(loop)
            if self.stopped:
                self._wait_for_threads()

    def _stop(self, loop: asyncio.AbstractEventLoop) -> None:
        self.stopped = True
        _forget_signal(loop)
        if not self._server.end_sessions() and self._task:
            self._task.cancel()

    def _wait_for_threads(self) -> None:
        # The end of a loop waits for its threads, and nothing can stop a thread that does not end.
        self._patience = threading.Timer(THREADS_WAIT_S, _leave)
        self._patience.daemon = True
        self._patience.start()

    def is_done(self) -> None:
        if self._patience:
            self._patience.cancel()


def _forget_signal(loop: asyncio.AbstractEventLoop) -> None:
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        loop.remove_signal_handler(signal.SIGTERM)


def _leave() -> None:
    _log.warning("a thread was still at work when the server was told to stop")
    os._exit(0)
