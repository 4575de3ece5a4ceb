"""Serves stdin and stdout in this process: signals, shutdown and exit."""

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
"""Seconds that threads may still run in a process that was told to stop."""
LAST_TURNS = 5
"""Most turns of the event loop until the handler of a signal has run."""


def run_stdio(server: Servable) -> None:
    """Serve stdin and stdout until the client disconnects or SIGTERM arrives."""
    process = _Process(server)
    with contextlib.suppress(KeyboardInterrupt):
        try:
            asyncio.run(process.serve())
        except asyncio.CancelledError:
            if not process.stopped:
                raise
        finally:
            process.finish()


class _Process:
    def __init__(self, server: Servable) -> None:
        self._server = server
        self._task: asyncio.Task[Any] | None = None
        self._exit_timer: threading.Timer | None = None
        self.stopped = False
        """True once SIGTERM has arrived."""

    async def serve(self) -> None:
        limit = self._server.max_message_bytes or DEFAULT_MAX_MESSAGE_BYTES
        self._task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        # Signal handlers work only in the main thread, on Unix.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(signal.SIGTERM, self._stop, loop)
        # Objects of the start-up live as long as the process: keep them out of collections.
        gc.freeze()
        try:
            await self._server.serve(StdioTransport(max_message_bytes=limit))
            await self._server.end_tasks()
        finally:
            # From here on SIGTERM ends the process at once: it no longer shuts down in order.
            self._task = None
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            # A signal that arrived just before is handled in one of the next turns of the loop.
            for _ in range(LAST_TURNS):
                await asyncio.sleep(0)
            _remove_signal_handler(loop)
            if self.stopped:
                self._wait_for_threads()

    def _stop(self, loop: asyncio.AbstractEventLoop) -> None:
        self.stopped = True
        _remove_signal_handler(loop)
        if not self._server.end_sessions() and self._task:
            self._task.cancel()

    def _wait_for_threads(self) -> None:
        # asyncio.run waits for worker threads, and nothing can stop a thread that does not end.
        self._exit_timer = threading.Timer(THREADS_WAIT_S, _exit)
        self._exit_timer.daemon = True
        self._exit_timer.start()

    def finish(self) -> None:
        if self._exit_timer:
            self._exit_timer.cancel()


def _remove_signal_handler(loop: asyncio.AbstractEventLoop) -> None:
    with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
        loop.remove_signal_handler(signal.SIGTERM)


def _exit() -> None:
    _log.warning("a thread was still at work when the server was told to stop")
    os._exit(0)
